"""Energy models in a report: their parameters, and their predictions beside measured energy."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cltrace.power.model import GROUPS, EnergyModel, group_of
from cltrace.power.model.energy_classes import Resource
from cltrace.power.model.evaluation import EvaluatedExample
from cltrace.power.model.terms import CPU, GPU, TOTAL, TRANSFER, Term
from cltrace.power.model.traces import ModelledLine, ModelledTrace
from cltrace.power.results import Tier
from cltrace.profile import DeviceProfile
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.profile_caveats import caveat_facts
from cltrace.report.quantities import more_note, value_text

_MAX_PARTS: Final = 2


def model_table(model: EnergyModel) -> Table:
    """Return energies by class, in the rows of table 6.1 of the 2014 thesis."""
    names = sorted(
        (name for name in model.energies_j if name is not Resource.ACTIVE_UNIT),
        key=lambda name: (GROUPS.index(group_of(name)), -model.energies_j[name]),
    )
    return Table(
        key="energies",
        title="Energies (per warp of 32, per sector of 32 B)",
        columns=(
            Column("row", "row"),
            Column("class", "class"),
            Column("energy_j", "energy", Unit.JOULES, 100),
            Column("error_j", "±", Unit.JOULES, 80),
        ),
        rows=[
            (group_of(name), str(name), model.energies_j[name], 2 * model.errors_j.get(name, 0.0))
            for name in names
        ],
    )


def evaluation_report(
    profile: DeviceProfile,
    model: EnergyModel,
    sets: Mapping[str, Sequence[EvaluatedExample]],
    top: int | None,
) -> Document:
    """Return predictions beside measured power, set by set: of each the `top` that are furthest off."""
    facts = _device_facts(profile, model)
    for name, examples in sets.items():
        facts.append(Fact(f"error_{name}", name, _errors_text(examples)))
    tables = [_evaluation_table(name, examples, top) for name, examples in sets.items()]
    return Document("energy model", facts, [*tables, model_table(model)])


def _device_facts(profile: DeviceProfile, model: EnergyModel) -> list[Fact]:
    rest = f"{value_text(model.idle_w, Unit.WATTS)} with a context"
    return [
        Fact("device", "device", f"{profile.device.name}, driver {profile.device.driver}"),
        Fact("idle_w", "at rest", rest, model.idle_w),
        *caveat_facts(profile),
    ]


def modelled_report(profile: DeviceProfile, modelled: ModelledTrace, top: int | None) -> Document:
    """Return predictions beside the measured energy of a trace."""
    lines = modelled.lines
    rows = [_modelled_row(line) for line in lines]
    compared = [line for line in lines if line.quotient is not None]
    facts = _device_facts(profile, modelled.model)
    if compared:
        facts.append(Fact("mape", "error", _line_errors(compared)))
    table = Table(
        key="predicted_energy",
        title="Measured and predicted energy",
        columns=(
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
            Column("parts", "largest parts", Unit.PROSE, 65),
        ),
        rows=rows[:top],
        note=more_note(len(rows), top),
        why_empty=f"no kernel was launched on {profile.device.name}",
    )
    notes = [
        f"note: {line.line.load.name} is not predicted: {line.why}" for line in lines if line.why
    ]
    tables = [_terms_table(modelled.terms), table, _breakdown(lines)]
    return Document("predicted energy", facts, tables, notes)


def _terms_table(terms: Sequence[Term]) -> Table:
    return Table(
        key="terms",
        title=f"{TOTAL} = {CPU} + {GPU} + {TRANSFER}",
        columns=(
            Column("term", "term"),
            Column("measured_j", "measured", Unit.JOULES, 100),
            Column("within_j", "±", Unit.JOULES, 60),
            Column("predicted_j", "predicted", Unit.JOULES, 99),
            Column("quotient", "quotient", Unit.PLAIN, 98),
            Column("why", "unresolved", Unit.PROSE),
        ),
        rows=[
            (
                term.name,
                term.measured_j,
                term.within_j,
                term.predicted_j,
                _round(term.quotient),
                term.why or None,
            )
            for term in terms
        ],
    )


def _modelled_row(modelled: ModelledLine) -> tuple[Value, ...]:
    measured, load = modelled.line, modelled.line.load
    seconds = load.seconds
    return (
        load.name,
        load.size.strip("[]").replace(", ", "×") or None,
        len(load),
        measured.energy_j,
        measured.within_j,
        str(
            Tier.MODELLED
            if measured.energy_j is None and modelled.energy_j is not None
            else measured.tier
        ),
        modelled.energy_j,
        _round(modelled.quotient),
        measured.power_w,
        modelled.energy_j / seconds if modelled.energy_j is not None and seconds else None,
        _round(modelled.dynamic_quotient),
        ", ".join(_largest_parts(modelled.parts_j)) or None,
    )


def _largest_parts(parts: Mapping[str, float]) -> Iterator[str]:
    whole = sum(parts.values())
    for name, energy in sorted(parts.items(), key=lambda item: -item[1])[:_MAX_PARTS]:
        yield f"{name} {100 * energy / whole:.0f} %"


def _breakdown(lines: Sequence[ModelledLine]) -> Table:
    """Return the energy of all launches above rest, by the rows of the model."""
    energies_j: dict[str, float] = {}
    for line in lines:
        for name, energy in line.parts_j.items():
            energies_j[name] = energies_j.get(name, 0.0) + energy
    whole = sum(energies_j.values())
    return Table(
        key="energy_classes",
        title="Predicted above rest, by class",
        columns=(
            Column("row", "class"),
            Column("energy_j", "energy", Unit.JOULES, 100),
            Column("share", "share", Unit.SHARE, 90),
        ),
        rows=[
            (name, energies_j[name], energies_j[name] / whole)
            for name in GROUPS
            if energies_j.get(name)
        ],
    )


def _evaluation_table(name: str, examples: Sequence[EvaluatedExample], top: int | None) -> Table:
    worst = sorted(examples, key=lambda example: -abs(example.error))
    return Table(
        key=name,
        title=name,
        columns=(
            Column("work", "workload"),
            Column("measured_w", "measured", Unit.WATTS, 100),
            Column("predicted_w", "predicted", Unit.WATTS, 99),
            Column("error", "error", Unit.SHARE, 98),
            Column("dynamic_error", "of dynamic", Unit.SHARE, 90),
            Column("parts", "largest parts", Unit.PROSE, 65),
        ),
        rows=[
            (
                example.example.name,
                example.example.power_w,
                example.predicted_w,
                example.error,
                example.dynamic_error,
                ", ".join(_largest_parts(example.parts_j)) or None,
            )
            for example in worst[:top]
        ],
        note=more_note(len(worst), top),
    )


def _errors_text(examples: Sequence[EvaluatedExample]) -> str:
    if not examples:
        return "none of its workloads could be counted"
    total = statistics.fmean(abs(example.error) for example in examples)
    dynamic_errors = [
        example.dynamic_error for example in examples if not math.isnan(example.dynamic_error)
    ]
    dynamic = statistics.fmean(map(abs, dynamic_errors)) if dynamic_errors else 0.0
    measured = sum(
        (example.example.power_w - example.idle_w) * example.example.run_s for example in examples
    )
    predicted = sum(
        (example.predicted_w - example.idle_w) * example.example.run_s for example in examples
    )
    return (
        f"{len(examples)} workloads: MAPE {total:.1%} in total, {dynamic:.1%} of the dynamic part; "
        f"one run of each: {predicted / measured - 1:+.1%} of the dynamic energy"
    )


def _line_errors(lines: Sequence[ModelledLine]) -> str:
    total = statistics.fmean(abs(line.quotient - 1) for line in lines if line.quotient is not None)
    dynamic = [
        abs(line.dynamic_quotient - 1) for line in lines if line.dynamic_quotient is not None
    ]
    text = f"MAPE {total:.1%} in total"
    return text + (f", {statistics.fmean(dynamic):.1%} of the dynamic part" if dynamic else "")


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
