"""What an energy model says: its table, and its predictions beside what was measured."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cltrace.power.model import GROUPS, EnergyModel, group_of
from cltrace.power.model.evaluation import Judged
from cltrace.power.model.rows import UNIT
from cltrace.power.model.terms import CPU, GPU, TOTAL, TRANSFER, Term
from cltrace.power.model.traces import ModelledLine, ModelledTrace
from cltrace.power.results import Tier
from cltrace.profile import DeviceProfile
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.quantities import more_note, shown

_MOST_PARTS: Final = 2


def model_table(model: EnergyModel) -> Table:
    """Energies by class, in the rows of the 2014 thesis's table 6.1."""
    names = sorted(
        (name for name in model.energies_j if name != UNIT),
        key=lambda name: (GROUPS.index(group_of(name)), -model.energies_j[name]),
    )
    return Table(
        "energies",
        "Energies (of a warp of 32, of a sector of 32 B)",
        (
            Column("row", "row"),
            Column("class", "class"),
            Column("energy_j", "energy", Unit.JOULES, 100),
            Column("error_j", "±", Unit.JOULES, 80),
        ),
        [
            (group_of(name), name, model.energies_j[name], 2 * model.errors_j.get(name, 0.0))
            for name in names
        ],
    )


def judged_report(
    profile: DeviceProfile,
    model: EnergyModel,
    sets: Mapping[str, Sequence[Judged]],
    top: int | None,
) -> Document:
    """A model held against measured works, set by set: of each the `top` that are furthest off."""
    facts = _device_facts(profile, model)
    for name, judged in sets.items():
        facts.append(Fact(f"error_{name}", name, _errors_text(judged)))
    tables = [_judged_table(name, judged, top) for name, judged in sets.items()]
    return Document("energy model", facts, [*tables, model_table(model)])


def _device_facts(profile: DeviceProfile, model: EnergyModel) -> list[Fact]:
    rest = f"{shown(model.idle_w, Unit.WATTS)} with a context"
    return [
        Fact("device", "device", f"{profile.device.name}, driver {profile.device.driver}"),
        Fact("idle_w", "at rest", rest, model.idle_w),
    ]


def modelled_report(profile: DeviceProfile, found: ModelledTrace, top: int | None) -> Document:
    """A model held against a trace."""
    lines = found.lines
    rows = [_modelled_row(line) for line in lines]
    known = [one for one in lines if one.quotient is not None]
    facts = _device_facts(profile, found.model)
    if known:
        facts.append(Fact("mape", "error", _line_errors(known)))
    table = Table(
        "predicted_energy",
        "Measured and predicted energy",
        (
            Column("kernel", "kernel"),
            Column("global_size", "global size", keep=35),
            Column("calls", "calls", Unit.COUNT, 50),
            Column("measured_j", "measured", Unit.JOULES, 100),
            Column("within_j", "±", Unit.JOULES, 60),
            Column("tier", "tier", keep=55),
            Column("predicted_j", "predicted", Unit.JOULES, 99),
            Column("quotient", "quotient", Unit.PLAIN, 98),
            Column("measured_w", "power", Unit.WATTS, 70),
            Column("predicted_w", "pred. power", Unit.WATTS, 72),
            Column("dynamic_quotient", "dyn. quot.", Unit.PLAIN, 75),
            Column("parts", "most of it", Unit.PROSE, 65),
        ),
        rows[:top],
        note=more_note(len(rows), top),
        why_empty=f"no kernel was launched on {profile.device.name}",
    )
    notes = [f"note: {one.line.load.name} is not predicted: {one.why}" for one in lines if one.why]
    tables = [_terms_table(found.terms), table, _breakdown(lines)]
    return Document("predicted energy", facts, tables, notes)


def _terms_table(terms: Sequence[Term]) -> Table:
    return Table(
        "terms",
        f"{TOTAL} = {CPU} + {GPU} + {TRANSFER}",
        (
            Column("term", "term"),
            Column("measured_j", "measured", Unit.JOULES, 100),
            Column("within_j", "±", Unit.JOULES, 60),
            Column("predicted_j", "predicted", Unit.JOULES, 99),
            Column("quotient", "quotient", Unit.PLAIN, 98),
            Column("why", "unresolved", Unit.PROSE),
        ),
        [
            (
                one.name,
                one.measured_j,
                one.within_j,
                one.predicted_j,
                _short(one.quotient),
                one.why or None,
            )
            for one in terms
        ],
    )


def _modelled_row(one: ModelledLine) -> tuple[Value, ...]:
    line, load = one.line, one.line.load
    seconds = load.seconds
    return (
        load.name,
        load.size.strip("[]").replace(", ", "×") or None,
        len(load),
        line.energy_j,
        line.within_j,
        str(Tier.MODELLED if line.energy_j is None and one.energy_j is not None else line.tier),
        one.energy_j,
        _short(one.quotient),
        line.power_w,
        one.energy_j / seconds if one.energy_j is not None and seconds else None,
        _short(one.dynamic_quotient),
        ", ".join(_most(one.parts_j)) or None,
    )


def _most(parts: Mapping[str, float]) -> Iterator[str]:
    whole = sum(parts.values())
    for name, energy in sorted(parts.items(), key=lambda item: -item[1])[:_MOST_PARTS]:
        yield f"{name} {100 * energy / whole:.0f} %"


def _breakdown(lines: Sequence[ModelledLine]) -> Table:
    """What all launches add to rest, by the rows of the model."""
    found: dict[str, float] = {}
    for one in lines:
        for name, energy in one.parts_j.items():
            found[name] = found.get(name, 0.0) + energy
    whole = sum(found.values())
    return Table(
        "energy_classes",
        "Predicted above rest, by class",
        (
            Column("row", "class"),
            Column("energy_j", "energy", Unit.JOULES, 100),
            Column("share", "share", Unit.SHARE, 90),
        ),
        [(name, found[name], found[name] / whole) for name in GROUPS if found.get(name)],
    )


def _judged_table(name: str, judged: Sequence[Judged], top: int | None) -> Table:
    worst = sorted(judged, key=lambda one: -abs(one.error))
    return Table(
        name,
        name,
        (
            Column("work", "work"),
            Column("measured_w", "measured", Unit.WATTS, 100),
            Column("predicted_w", "predicted", Unit.WATTS, 99),
            Column("error", "error", Unit.SHARE, 98),
            Column("dynamic_error", "of dynamic", Unit.SHARE, 90),
            Column("parts", "most of it", Unit.PROSE, 65),
        ),
        [
            (
                one.example.name,
                one.example.power_w,
                one.predicted_w,
                one.error,
                one.dynamic_error,
                ", ".join(_most(one.parts_j)) or None,
            )
            for one in worst[:top]
        ],
        note=more_note(len(worst), top),
    )


def _errors_text(judged: Sequence[Judged]) -> str:
    if not judged:
        return "no work of it could be counted"
    total = statistics.fmean(abs(one.error) for one in judged)
    above = [one.dynamic_error for one in judged if not math.isnan(one.dynamic_error)]
    dynamic = statistics.fmean(map(abs, above)) if above else 0.0
    measured = sum((one.example.power_w - one.idle_w) * one.example.run_s for one in judged)
    predicted = sum((one.predicted_w - one.idle_w) * one.example.run_s for one in judged)
    return (
        f"{len(judged)} works: MAPE {total:.1%} in total, {dynamic:.1%} of the dynamic part; "
        f"one run of each: {predicted / measured - 1:+.1%} of the dynamic energy"
    )


def _line_errors(known: Sequence[ModelledLine]) -> str:
    total = statistics.fmean(abs(one.quotient - 1) for one in known if one.quotient is not None)
    dynamic = [abs(one.dynamic_quotient - 1) for one in known if one.dynamic_quotient is not None]
    text = f"MAPE {total:.1%} in total"
    return text + (f", {statistics.fmean(dynamic):.1%} of the dynamic part" if dynamic else "")


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
