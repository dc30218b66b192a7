"""How well models predict a set of launches: scores, families, what could not be counted."""

from collections.abc import Iterator, Sequence

import numpy as np

from cltrace.predict.accuracy import SHORT_NS, Evaluated, Score, ablation, cold_scores, scores
from cltrace.predict.measurements import Measurements
from cltrace.profile import DeviceProfile
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value


def accuracy_report(
    measurements: Measurements, profile: DeviceProfile, found: Evaluated
) -> Document:
    """The scores of all models, by set and by family."""
    count = len(found.measured_ns)
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
            Fact("refused", "not counted", f"{len(found.refused):,}", len(found.refused)),
        ],
        tables=[table for table in _tables(found) if table.rows],
    )


def _tables(found: Evaluated) -> Iterator[Table]:
    yield _scores(
        "scores",
        "Predicted by measured",
        scores(found),
        f"launches of {SHORT_NS / 1e3:.0f} µs and more; short ones: median error of the others; "
        "distance: median of the larger by the smaller; inside: within the interval that is stated; "
        "measured again: what no model is better than",
    )
    yield _scores("cold", "With emptied caches", cold_scores(found), "")
    yield _scores(
        "ablation",
        "The default model, part by part",
        ablation(found),
        "each with what those before it have, and nothing fitted anew",
    )
    yield _families(found)
    yield _refused(found)


def _scores(name: str, title: str, found: Sequence[Score], note: str) -> Table:
    return Table(
        name,
        title,
        (
            Column("model", "model"),
            Column("launches", "launches", Unit.COUNT, 42),
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
            Column("coverage", "inside", Unit.SHARE, 75),
            Column("short_error_ns", "short ones", Unit.NS, 65),
        ),
        [_row(score) for score in found],
        note=note,
    )


def _row(score: Score) -> tuple[Value, ...]:
    return (
        score.name,
        score.launches,
        _short(score.mean.value),
        f"{score.mean.low:.3g} to {score.mean.high:.3g}",
        _short(score.deviation.value),
        f"{score.deviation.low:.3g} to {score.deviation.high:.3g}",
        _short(score.standard_error),
        _short(score.median),
        _short(score.median_distance),
        score.geometric,
        score.mape,
        _short(score.p90),
        _short(score.p99),
        score.within,
        score.coverage,
        score.short_error_ns,
    )


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _families(found: Evaluated) -> Table:
    """The mean quotient of each model by family, where there are not too many."""
    names = sorted(set(found.families))
    models = list(found.predicted_ns)
    rows: list[tuple[Value, ...]] = []
    if len(names) <= 64:
        owner = np.asarray(found.families)
        for name in names:
            mine = (owner == name) & found.is_long
            if mine.any():
                means = (
                    _short(
                        float(np.nanmean(found.predicted_ns[model][mine] / found.measured_ns[mine]))
                    )
                    for model in models
                )
                rows.append((name, int(mine.sum()), *means))
    return Table(
        "families",
        "By family",
        (
            Column("family", "family"),
            Column("launches", "launches", Unit.COUNT, 60),
            *(Column(f"mean_{model}", model, Unit.PLAIN, 90) for model in models),
        ),
        rows,
        note="the mean quotient of launches that are not short",
    )


def _refused(found: Evaluated) -> Table:
    return Table(
        "refused",
        "Not counted",
        (Column("launch", "launch"), Column("why", "why", Unit.PROSE)),
        list(found.refused.items()),
    )
