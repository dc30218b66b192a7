"""Energy in a report: measured, attributed to kernels and transfers, and the balance of the rest."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from cltrace.power.energy import EnergySource, TraceEnergy
from cltrace.power.load_classes import LoadKind
from cltrace.power.results import EnergyLine, Tier
from cltrace.report.activity import transfer_name
from cltrace.report.document import Column, Fact, Table, Unit, Value
from cltrace.report.quantities import more_note, value_text

_COMPONENTS: Final = ("GPU", "CPU")
_DISAGREE: Final = 0.02
_UNATTRIBUTED: Final = 0.02
_COVERED: Final = 0.95
_ROUNDING: Final = 1e-9


def energy_facts(trace_energy: TraceEnergy) -> Iterator[Fact]:
    """Yield the energy of the run from its sensors: `E_total = E_CPU + E_GPU + E_transfer`."""
    covered = max((source.covered_s for source in trace_energy.sources), default=0.0)
    if not covered:
        samples = sum(source.sample_count for source in trace_energy.all_sources)
        if samples:
            text = f"unresolved: no energy follows from {samples} readings"
            yield Fact("energy", "energy", "; ".join((text, *trace_energy.failures)))
            return
        why = "; ".join(trace_energy.failures) or "its sensors gave no reading"
        yield Fact("energy", "energy", f"no reader was available, because {why}")
        return
    parts = [_component(trace_energy, name) for name in _COMPONENTS]
    others = [
        source
        for source in trace_energy.sources
        if source.component not in _COMPONENTS and source.covered_s
    ]
    parts += [
        f"{source.channel.label} {value_text(source.energy_j, Unit.JOULES)}" for source in others
    ]
    text = f"{', '.join(parts)}, in {covered:.1f} s of readings"
    yield Fact("energy_j", "energy", text, trace_energy.total_j)
    yield from _board_facts(trace_energy)


def _board_facts(trace_energy: TraceEnergy) -> Iterator[Fact]:
    """Yield the energy of each board, where the program used several."""
    boards = [source for source in trace_energy.sources if source.channel.device]
    if len({(source.channel.host, source.channel.device) for source in boards}) < 2:
        return
    for source in boards:
        if source.covered_s:
            mean_w = value_text(source.energy_j / source.covered_s, Unit.WATTS)
            energy = value_text(source.energy_j, Unit.JOULES)
            text = f"{source.channel.label}: {energy}, {mean_w} on average{_counter_text(source)}"
            yield Fact("board_energy_j", "board energy", text, source.energy_j)


def _counter_text(source: EnergySource) -> str:
    """Return the energy of a board's own counter relative to that of its channel, if it has both."""
    for check in source.checks:
        if check.other.quantity == "energy" and check.main_j:
            return f"; its own counter shows {check.ratio:.3f} times that"
    return ""


def _component(trace_energy: TraceEnergy, name: str) -> str:
    """Return the energy of a component, and how much of it transfers took."""
    sources = [
        source
        for source in trace_energy.all_sources
        if source.component == name and source.covered_s
    ]
    if not sources:
        return f"{name} unresolved (no sensor)"
    text = f"{name} {value_text(sum(source.energy_j for source in sources), Unit.JOULES)}"
    balances = [source.attribution.balance for source in sources if source.attribution is not None]
    moved = sum(balance.transfers_j for balance in balances)
    within = math.hypot(*(balance.transfers_within_j for balance in balances))
    if not moved:
        return text
    transfers = f"{value_text(moved, Unit.JOULES)} ± {value_text(within, Unit.JOULES)}"
    return f"{text} (transfers {transfers} of it)"


def energy_table(trace_energy: TraceEnergy, top: int | None) -> Table:
    """Return kernels and transfers by energy."""
    lines = trace_energy.lines
    whole = trace_energy.total_j
    devices = {line.load.device for line in lines}
    labels = trace_energy.device_labels if len(devices) > 1 else {}
    rows = [_row(line, whole) for line in lines]
    if labels:
        names = [labels.get(line.load.device, "several") for line in lines]
        rows = [(name, *row) for name, row in zip(names, rows, strict=True)]
    return Table(
        key="energy",
        title="Energy of kernels and transfers",
        columns=(
            *([Column("device", "device", keep=99)] if labels else []),
            Column("name", "what"),
            Column("global_size", "global size", keep=42),
            Column("calls", "calls", Unit.COUNT, 60),
            Column("energy_j", "energy", Unit.JOULES, 100),
            Column("within_j", "±", Unit.JOULES, 98),
            Column("share", "share", Unit.SHARE, 65),
            Column("dynamic_j", "dynamic", Unit.JOULES, 80),
            Column("dynamic_within_j", "± dyn.", Unit.JOULES, 30),
            Column("per_call_j", "per call", Unit.JOULES, 85),
            Column("power_w", "power", Unit.WATTS, 90),
            Column("tier", "tier", keep=95),
            Column("coverage", "covered", Unit.SHARE, 28),
            Column("updates", "readings", Unit.COUNT, 32),
        ),
        rows=rows[:top],
        note="; ".join(filter(None, (more_note(len(rows), top), _unresolved_note(lines)))),
        why_empty="",
    )


def balance_table(trace_energy: TraceEnergy) -> Table:
    """Return the balance of each sensor: the parts add up to the measured energy."""
    return Table(
        key="energy_balance",
        title="Where the energy went",
        columns=(
            Column("sensor", "sensor"),
            Column("measured_j", "measured", Unit.JOULES, 100),
            Column("kernels_j", "kernels", Unit.JOULES, 98),
            Column("transfers_j", "transfers", Unit.JOULES, 96),
            Column("unresolved_j", "unresolved", Unit.JOULES, 94),
            Column("tail_j", "tail", Unit.JOULES, 60),
            Column("idle_j", "idle", Unit.JOULES, 95),
            Column("unattributed_j", "unattributed", Unit.JOULES, 97),
            Column("idle_w", "idle power", Unit.WATTS, 50),
            Column("context_w", "+ context", Unit.WATTS, 35),
            Column("delay_s", "delay (s)", Unit.PLAIN, 20),
            Column("lag_s", "lag (s)", Unit.PLAIN, 18),
            Column("period_s", "period (s)", Unit.PLAIN, 22),
        ),
        rows=[_balance_row(source) for source in trace_energy.sources],
    )


def energy_notes(trace_energy: TraceEnergy) -> Iterator[str]:
    """Yield warnings and notes on these numbers."""
    for text in trace_energy.failures:
        yield f"warning: power: {text}"
    for source in trace_energy.all_sources:
        yield from _source_notes(source)
    for source in trace_energy.unused:
        if source.covered_s:
            energy = value_text(source.energy_j, Unit.JOULES)
            yield (
                f"note: power: {source.channel.label}: {energy} in no sum, because the program used no "
                "device on that board"
            )
    if any(source.channel.is_estimated for source in trace_energy.sources):
        yield "note: power: an estimate or a simulation is among the channels, which is no measurement"


def _source_notes(source: EnergySource) -> Iterator[str]:
    label = source.channel.label
    if not source.covered_s:
        yield f"warning: power: {label}: {source.sample_count} readings, from which no energy follows"
    for check in source.checks:
        loaded = check.loaded_ratio if check.loaded_ratio is not None else check.ratio
        if abs(loaded - 1) > _DISAGREE:
            yield (
                f"warning: power: {check.other.label} reads {loaded:.3f} times as much as {label}"
                f"{' under load' if check.loaded_ratio is not None else ''}: one of the two is wrong"
            )
    attribution = source.attribution
    if attribution is None:
        return
    covered_s = sum(line.coverage * line.load.seconds for line in attribution.lines)
    busy_s = sum(line.load.seconds for line in attribution.lines)
    if covered_s < _COVERED * busy_s:
        yield (
            f"warning: power: {label} has readings of {value_text(covered_s / busy_s, Unit.SHARE)} of "
            "the time in which commands ran: the energies of kernels cover all of it"
        )
    balance = attribution.balance
    off = balance.unattributed_j / balance.measured_j if balance.measured_j else 0.0
    if abs(off) > _UNATTRIBUTED:
        yield f"warning: power: {value_text(off, Unit.SHARE)} of what {label} measured is unattributed"
    if source.channel.gain_error:
        yield (
            f"note: power: the scale of {label} itself may be off by {source.channel.gain_error:.0%}, "
            "which is not in the uncertainties"
        )


def _row(line: EnergyLine, whole: float) -> tuple[Value, ...]:
    load = line.load
    name = load.name if load.kind is LoadKind.KERNEL else _load_name(load.name)
    return (
        name or "(not known)",
        load.size.strip("[]").replace(", ", "×") or None,
        len(load),
        line.energy_j,
        line.within_j,
        line.energy_j / whole if line.energy_j is not None and whole else None,
        line.dynamic_j,
        line.dynamic_within_j,
        line.energy_j / len(load) if line.energy_j is not None and len(load) else None,
        line.power_w,
        str(line.tier),
        line.coverage,
        line.updates,
    )


def _load_name(name: str) -> str:
    try:
        return transfer_name(name)
    except KeyError:
        return name


def _unresolved_note(lines: Sequence[EnergyLine]) -> str:
    reasons = {line.why for line in lines if line.tier is Tier.UNRESOLVED and line.why}
    return "unresolved: " + "; ".join(sorted(reasons)) if reasons else ""


def _clear_rounding(part_j: float, of_j: float) -> float:
    """Return a part of a sum, or 0 where it is a rounding error."""
    return part_j if abs(part_j) > _ROUNDING * of_j else 0.0


def _balance_row(source: EnergySource) -> tuple[Value, ...]:
    attribution = source.attribution
    if attribution is None:
        absent = (None,) * 11
        return (source.channel.label, source.energy_j if source.covered_s else None, *absent)
    balance = attribution.balance
    return (
        source.channel.label,
        balance.measured_j,
        balance.kernels_j,
        balance.transfers_j,
        _clear_rounding(balance.unresolved_j, balance.measured_j),
        balance.tail_j,
        balance.idle_j,
        _clear_rounding(balance.unattributed_j, balance.measured_j),
        balance.idle_w,
        balance.context_w or None,
        round(attribution.alignment.response.delay_s, 5)
        if attribution.alignment.is_measured
        else None,
        round(attribution.alignment.response.lag_s, 5)
        if attribution.alignment.is_measured
        else None,
        round(attribution.period_s, 4),
    )
