"""Accuracy of models on launches that ran beside others."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from cltrace.predict.measurements import Measurements
from cltrace.predict.neighbours.evaluation import NeighbourError, TogetherEvaluation, errors_by
from cltrace.predict.neighbours.records import Beside
from cltrace.profile import DeviceProfile
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.profile_caveats import caveat_facts
from cltrace.report.quantities import round_significant

_ERRORS_NOTE: Final = (
    "predicted by measured durations: mean, standard deviation, mean relative error; increase: mean "
    "relative error of how much longer than alone; bias: mean error by the duration alone; measured "
    "again: the best that a model can reach"
)


def together_report(
    measurements: Measurements, profile: DeviceProfile, evaluated: TogetherEvaluation
) -> Document:
    """Return the errors of all models: of all launches, by launches at once, and by kind."""
    count = len(evaluated.launches)
    faster = np.mean([launch.increase_ns < 0 for launch in evaluated.launches])
    return Document(
        title=f"accuracy on {measurements.device.name}: {measurements.set_name}",
        facts=[
            Fact("launches", "launches", f"{count:,} beside others", count),
            Fact("faster", "faster", f"{faster:.0%} beside others than alone", float(faster)),
            Fact("measured", "measured", measurements.date, measurements.date),
            Fact(
                "profile",
                "profile",
                f"{profile.device.name}, {profile.provenance.date}",
                profile.device.name,
            ),
            *caveat_facts(profile, profile.device.differences_from(measurements.device)),
            Fact(
                "without_overlap",
                "not at once",
                f"{evaluated.without_overlap:,} cases, whose queues did not overlap",
                evaluated.without_overlap,
            ),
        ],
        tables=list(_tables(evaluated)),
    )


def _tables(evaluated: TogetherEvaluation) -> Iterator[Table]:
    yield _error_table("together", "Launches beside others", evaluated, lambda _: "all")
    yield _error_table("together_threads", "By launches at once", evaluated, _threads_text)
    yield _error_table("together_kinds", "By kind", evaluated, lambda launch: launch.kinds[0])
    yield _error_table("together_memory", "By memory", evaluated, _memory_text)
    yield _increase_table(evaluated.launches)
    yield _constant_table(evaluated)


def _threads_text(launch: Beside) -> str:
    units = "own units" if launch.has_own_units else "same units"
    return f"{launch.threads}, {units}"


def _memory_text(launch: Beside) -> str:
    return "same buffers" if launch.is_memory_shared else "own buffers"


def _error_table(
    key: str, title: str, evaluated: TogetherEvaluation, group_of: Callable[[Beside], str]
) -> Table:
    """Return the errors of models by groups of launches, the groups one after another."""
    errors = sorted(errors_by(evaluated, group_of), key=lambda error: error.group)
    return Table(
        key=key,
        title=title,
        columns=(
            Column("group", "launches", keep=98),
            Column("model", "model"),
            Column("reading", "reading", keep=94),
            Column("count", "count", Unit.COUNT, 60),
            Column("mean", "mean", Unit.PLAIN, 96),
            Column("sd", "sd", Unit.PLAIN, 95),
            Column("mape", "MAPE", Unit.SHARE, 97),
            Column("increase_mape", "increase", Unit.SHARE, 70),
            Column("bias", "bias", Unit.SHARE, 65),
        ),
        rows=[_row(error) for error in errors],
        note=_ERRORS_NOTE,
    )


def _row(error: NeighbourError) -> tuple[Value, ...]:
    return (
        error.group,
        *_model_words(error.model),
        error.launches,
        round_significant(error.mean),
        round_significant(error.deviation),
        error.mape,
        error.increase_mape,
        error.bias,
    )


def _model_words(name: str) -> tuple[str, str | None]:
    """Return a model's name, and what it counts as an access."""
    model, _, reading = name.partition(", ")
    return model, reading or None


def _increase_table(launches: Sequence[Beside]) -> Table:
    """Return how much longer launches took than alone: what the study's figures 5.1, 5.2, A.3 show."""
    rows: list[tuple[Value, ...]] = []
    groups = sorted({(launch.kinds[0], launch.threads) for launch in launches})
    for kind, threads in groups:
        increases = np.asarray(
            [
                launch.increase_ns / launch.alone_ns
                for launch in launches
                if (launch.kinds[0], launch.threads) == (kind, threads)
            ]
        )
        low, high = float(increases.min()), float(increases.max())
        median = float(np.median(increases))
        rows.append((kind, threads, len(increases), low, median, high))
    return Table(
        key="together_increases",
        title="Increases of the duration",
        columns=(
            Column("kind", "kind"),
            Column("threads", "at once", Unit.COUNT, 99),
            Column("launches", "launches", Unit.COUNT, 60),
            Column("least", "min", Unit.SHARE, 70),
            Column("median", "median", Unit.SHARE, 98),
            Column("most", "max", Unit.SHARE, 71),
        ),
        rows=rows,
        note="by the duration alone; below 0, launches were faster beside others",
    )


def _constant_table(evaluated: TogetherEvaluation) -> Table:
    rows: list[tuple[Value, ...]] = [
        (*_model_words(model), name, round_significant(value))
        for model, constants in evaluated.constants.items()
        for name, value in constants.items()
    ]
    return Table(
        key="together_constants",
        title="Constants",
        columns=(
            Column("model", "model"),
            Column("reading", "reading"),
            Column("constant", "constant", keep=99),
            Column("value", "value", Unit.PLAIN, 98),
        ),
        rows=rows,
        note="trained on sets of three launches of other kernels; of share: what a part supplies to "
        "several launches, by what it supplies to one",
    )
