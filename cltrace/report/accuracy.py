"""Accuracy of models on a set of launches: scores, families, launches that could not be counted."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cltrace.predict.accuracy import (
    SHORT_NS,
    ErrorSummary,
    Evaluation,
    summarise_ablation,
    summarise_cold_errors,
    summarise_errors,
)
from cltrace.predict.measurements import Measurements
from cltrace.profile import DeviceProfile
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.profile_caveats import caveat_facts


def accuracy_report(
    measurements: Measurements, profile: DeviceProfile, evaluated: Evaluation
) -> Document:
    """Return the scores of all models, by set and by family."""
    count = len(evaluated.measured_ns)
    return Document(
        title=f"accuracy on {measurements.device.name}: {measurements.set_name}",
        facts=[
            Fact("launches", "launches", f"{count:,}, seed {measurements.seed}", count),
            Fact("measured", "measured", measurements.date, measurements.date),
            Fact(
                "profile",
                "profile",
                f"{profile.device.name}, {profile.provenance.date}",
                profile.device.name,
            ),
            *caveat_facts(profile, profile.device.differences_from(measurements.device)),
            Fact("refused", "not counted", f"{len(evaluated.refused):,}", len(evaluated.refused)),
        ],
        tables=list(_tables(evaluated)),
    )


def _tables(evaluated: Evaluation) -> Iterator[Table]:
    yield score_table(
        "scores",
        "Predicted by measured",
        summarise_errors(evaluated),
        f"launches of {SHORT_NS / 1e3:.0f} µs or more; short ones: median error of the others; "
        "distance: median of the larger divided by the smaller; inside: share within the predicted "
        "interval; measured again: the best that a model can reach",
    )
    yield score_table("cold", "With emptied caches", summarise_cold_errors(evaluated), "")
    yield score_table(
        "ablation",
        "The default model, part by part",
        summarise_ablation(evaluated),
        "each row adds to the row before it; nothing is fitted again",
    )
    yield _families(evaluated)
    yield _refused(evaluated)


def score_table(
    name: str,
    title: str,
    model_scores: Sequence[ErrorSummary],
    note: str,
    *,
    first: str = "model",
    subject: str = "launches",
) -> Table:
    """Return the table of errors by `first`, the summaries' names. `subject` is what they are of."""
    return Table(
        key=name,
        title=title,
        columns=(
            Column(first, first),
            Column(subject, subject, Unit.COUNT, 42),
            Column("mean", "mean", Unit.PLAIN, 100),
            Column("mean_interval", "95 %", keep=50),
            Column("sd", "sd", Unit.PLAIN, 99),
            Column("sd_interval", "95 %", keep=45),
            Column("standard_error", "se", Unit.PLAIN, 40),
            Column("median", "median", Unit.PLAIN, 60),
            Column("median_distance", "distance", Unit.PLAIN, 98),
            Column("geometric", "geometric", Unit.SHARE, 55),
            Column("mape", "MAPE", Unit.SHARE, 97),
            Column("p90", "p90", Unit.PLAIN, 70),
            Column("p99", "p99", Unit.PLAIN, 96),
            Column("within", "± 25 %", Unit.SHARE, 80),
            Column("beyond", "beyond 2", Unit.SHARE, 77),
            Column("coverage", "inside", Unit.SHARE, 75),
            Column("short_error_ns", "short ones", Unit.NS, 65),
        ),
        rows=[_row(score) for score in model_scores],
        note=note,
    )


def _row(score: ErrorSummary) -> tuple[Value, ...]:
    if not score.launches:
        return (score.name, 0, *[None] * 14, score.short_error_ns)
    return (
        score.name,
        score.launches,
        _round(score.mean.value),
        f"{score.mean.low:.3g} to {score.mean.high:.3g}",
        _round(score.deviation.value),
        f"{score.deviation.low:.3g} to {score.deviation.high:.3g}",
        _round(score.standard_error),
        _round(score.median),
        _round(score.median_distance),
        score.geometric,
        score.mape,
        _round(score.p90),
        _round(score.p99),
        score.within,
        score.beyond,
        score.coverage,
        score.short_error_ns,
    )


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def _mean_of_numbers(quotients: NDArray[np.float64]) -> float:
    """Return the mean, NaN for launches of which none was counted."""
    numbers = quotients[~np.isnan(quotients)]
    return _round(float(numbers.mean())) if len(numbers) else math.nan


def _families(evaluated: Evaluation) -> Table:
    """Return the mean quotient of each model by family, or no rows for more than 64 families."""
    names = sorted(set(evaluated.families))
    models = list(evaluated.predicted_ns)
    rows: list[tuple[Value, ...]] = []
    if len(names) <= 64:
        families = np.asarray(evaluated.families)
        for name in names:
            is_member = (families == name) & evaluated.is_long
            if is_member.any():
                measured_ns = evaluated.measured_ns[is_member]
                means = (
                    _mean_of_numbers(evaluated.predicted_ns[model][is_member] / measured_ns)
                    for model in models
                )
                rows.append((name, int(is_member.sum()), *means))
    return Table(
        key="families",
        title="By family",
        columns=(
            Column("family", "family"),
            Column("launches", "launches", Unit.COUNT, 60),
            *(Column(f"mean_{model}", model, Unit.PLAIN, 90) for model in models),
        ),
        rows=rows,
        note="mean of predicted by measured, without short launches",
    )


def _refused(evaluated: Evaluation) -> Table:
    return Table(
        key="refused",
        title="Not counted",
        columns=(Column("launch", "launch"), Column("why", "why", Unit.PROSE)),
        rows=list(evaluated.refused.items()),
    )
