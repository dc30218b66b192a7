"""Energy in a report: what was measured, of which kernels and transfers, and where the rest went."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from cltrace.power.energy import Source, TraceEnergy
from cltrace.power.load_classes import LoadKind
from cltrace.power.results import EnergyLine, Tier
from cltrace.report.activity import transfer_name
from cltrace.report.document import Column, Fact, Table, Unit, Value
from cltrace.report.quantities import more_note, shown

_COMPONENTS: Final = ("GPU", "CPU")
_DISAGREE: Final = 0.02
_UNATTRIBUTED: Final = 0.02
_COVERED: Final = 0.95
_ROUNDING: Final = 1e-9


def energy_facts(found: TraceEnergy) -> Iterator[Fact]:
    """The energy of the run, as far as there are sensors: `E_total = E_CPU + E_GPU + E_transfer`."""
    covered = max((one.covered_s for one in found.sources), default=0.0)
    if not covered:
        samples = sum(one.samples for one in found.told)
        if samples:
            text = f"unresolved: no energy follows from {samples} readings"
            yield Fact("energy", "energy", "; ".join((text, *found.failures)))
            return
        why = "; ".join(found.failures) or "its sensors gave no reading"
        yield Fact("energy", "energy", f"no reader was available, because {why}")
        return
    parts = [_component(found, name) for name in _COMPONENTS]
    others = [one for one in found.sources if one.component not in _COMPONENTS and one.covered_s]
    parts += [f"{one.channel.label} {shown(one.energy_j, Unit.JOULES)}" for one in others]
    text = f"{', '.join(parts)}, in {covered:.1f} s of readings"
    yield Fact("energy_j", "energy", text, found.total_j)


def _component(found: TraceEnergy, name: str) -> str:
    """What a component drew, and how much of that transfers did."""
    mine = [one for one in found.told if one.component == name and one.covered_s]
    if not mine:
        return f"{name} unresolved (no sensor)"
    text = f"{name} {shown(sum(one.energy_j for one in mine), Unit.JOULES)}"
    balances = [one.attribution.balance for one in mine if one.attribution is not None]
    moved = sum(one.transfers_j for one in balances)
    within = math.hypot(*(one.transfers_within_j for one in balances))
    if not moved:
        return text
    return f"{text} (transfers {shown(moved, Unit.JOULES)} ± {shown(within, Unit.JOULES)} of it)"


def energy_table(found: TraceEnergy, top: int | None) -> Table:
    """Kernels and transfers by energy."""
    lines = found.lines
    whole = found.total_j
    rows = [_row(line, whole) for line in lines]
    return Table(
        "energy",
        "Energy of kernels and transfers",
        (
            Column("name", "what"),
            Column("global_size", "global size", keep=42),
            Column("calls", "calls", Unit.COUNT, 60),
            Column("energy_j", "energy", Unit.JOULES, 100),
            Column("within_j", "±", Unit.JOULES, 98),
            Column("share", "share", Unit.SHARE, 65),
            Column("dynamic_j", "dynamic", Unit.JOULES, 80),
            Column("dynamic_within_j", "± dyn.", Unit.JOULES, 30),
            Column("per_call_j", "a call", Unit.JOULES, 85),
            Column("power_w", "power", Unit.WATTS, 90),
            Column("tier", "tier", keep=95),
            Column("coverage", "covered", Unit.SHARE, 28),
            Column("updates", "readings", Unit.COUNT, 32),
        ),
        rows[:top],
        note="; ".join(filter(None, (more_note(len(rows), top), _unresolved_note(lines)))),
        why_empty="",
    )


def balance_table(found: TraceEnergy) -> Table:
    """Where the energy went, by sensor: the parts add up to what was measured."""
    return Table(
        "energy_balance",
        "Where the energy went",
        (
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
        [_balance_row(one) for one in found.sources],
    )


def energy_notes(found: TraceEnergy) -> Iterator[str]:
    """What is to be known of these numbers."""
    for text in found.failures:
        yield f"warning: power: {text}"
    for source in found.told:
        yield from _source_notes(source)
    if any(one.channel.is_estimated for one in found.sources):
        yield "note: power: an estimate or a simulation is among the channels, which is no measurement"


def _source_notes(source: Source) -> Iterator[str]:
    label = source.channel.label
    if not source.covered_s:
        yield f"warning: power: {label}: {source.samples} readings, from which no energy follows"
    for check in source.checks:
        loaded = check.loaded if check.loaded is not None else check.ratio
        if abs(loaded - 1) > _DISAGREE:
            yield (
                f"warning: power: {check.other.label} tells {loaded:.3f} times what {label} tells"
                f"{' under load' if check.loaded is not None else ''}: one of the two is wrong"
            )
    found = source.attribution
    if found is None:
        return
    there_s = sum(line.coverage * line.load.seconds for line in found.lines)
    busy_s = sum(line.load.seconds for line in found.lines)
    if there_s < _COVERED * busy_s:
        yield (
            f"warning: power: {label} has readings of {shown(there_s / busy_s, Unit.SHARE)} of the time "
            "in which commands ran: the energies of kernels are of all of it"
        )
    balance = found.balance
    off = balance.unattributed_j / balance.measured_j if balance.measured_j else 0.0
    if abs(off) > _UNATTRIBUTED:
        yield f"warning: power: {shown(off, Unit.SHARE)} of what {label} measured is unattributed"
    if source.channel.gain_error:
        yield (
            f"note: power: the scale of {label} itself may be off by {source.channel.gain_error:.0%}, "
            "which is not in the uncertainties"
        )


def _row(line: EnergyLine, whole: float) -> tuple[Value, ...]:
    load = line.load
    name = load.name if load.kind is LoadKind.KERNEL else _transfer(load.name)
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


def _transfer(name: str) -> str:
    try:
        return transfer_name(name)
    except KeyError:
        return name


def _unresolved_note(lines: Sequence[EnergyLine]) -> str:
    reasons = {line.why for line in lines if line.tier is Tier.UNRESOLVED and line.why}
    return "unresolved: " + "; ".join(sorted(reasons)) if reasons else ""


def _whole(part_j: float, of_j: float) -> float:
    """A part of a sum; 0 where it is what rounding leaves."""
    return part_j if abs(part_j) > _ROUNDING * of_j else 0.0


def _balance_row(source: Source) -> tuple[Value, ...]:
    found = source.attribution
    if found is None:
        nothing = (None,) * 11
        return (source.channel.label, source.energy_j if source.covered_s else None, *nothing)
    balance = found.balance
    return (
        source.channel.label,
        balance.measured_j,
        balance.kernels_j,
        balance.transfers_j,
        _whole(balance.unresolved_j, balance.measured_j),
        balance.tail_j,
        balance.idle_j,
        _whole(balance.unattributed_j, balance.measured_j),
        balance.idle_w,
        balance.context_w or None,
        round(found.alignment.response.delay_s, 5) if found.alignment.is_found else None,
        round(found.alignment.response.lag_s, 5) if found.alignment.is_found else None,
        round(found.period_s, 4),
    )
