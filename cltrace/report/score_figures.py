"""Figures of scores: classes of several devices beside each other."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from cltrace.regress.score import ScoreFile, compute_score
from cltrace.report.figures import encode_figure, plain_text
from cltrace.report.formats.plain_page import Picture
from cltrace.report.quantities import three_digit_text
from cltrace.report.score import distinct_labels

if TYPE_CHECKING:  # slow to load
    from matplotlib.axes import Axes

_ROW: Final = 0.26
"""Height of the row of a score, in inches."""
_MAX_LABEL: Final = 100


def score_picture(files: Sequence[ScoreFile], reference: ScoreFile) -> Picture:
    """Draw the scores of classes by the mean of runs, and over all, as points on a logarithmic axis."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415 - slow to load

    scores = [compute_score(file, reference) for file in files]
    kinds = list(dict.fromkeys(kind for result in scores for kind in result.kinds))
    rows = [
        [result.overall for result in scores],
        *([result.kinds.get(kind) for result in scores] for kind in kinds),
    ]
    height = 1.1 + _ROW * len(files) + _ROW * len(rows) * (len(files) + 1)
    figure = Figure(figsize=(8.5, height), layout="constrained")
    axis = figure.subplots()
    labels = [
        _dated(label, file.date) for label, file in zip(distinct_labels(files), files, strict=True)
    ]
    for position, label in enumerate(labels):
        places = [row * (len(files) + 1) + position for row in range(len(rows))]
        ratios = [row[position] for row in rows]
        values = [ratio.average if ratio is not None else float("nan") for ratio in ratios]
        axis.plot(values, places, "o", markersize=5, label=plain_text(label))
        _write_values(axis, values, places)
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.axvline(1, color="0.6", linewidth=0.8, zorder=0)
    middles = [row * (len(files) + 1) + (len(files) - 1) / 2 for row in range(len(rows))]
    axis.set_yticks(middles, ["over all", *map(str, kinds)])
    axis.margins(x=0.12)
    axis.set_ylim(len(rows) * (len(files) + 1) - 1, -1)
    axis.grid(visible=True, axis="x", linewidth=0.3, alpha=0.6)
    axis.set_xlabel(
        f"speed-up over {plain_text(reference.label)}, measured {reference.date}", fontsize=9
    )
    figure.legend(loc="outside upper center", ncols=1, frameon=False, fontsize=8)
    return Picture("Scores by class", encode_figure(figure, "svg"))


def _write_values(axis: "Axes", values: Sequence[float], places: Sequence[int]) -> None:
    """Write each value beside its point, and "none" at 1 where there is no value."""
    for value, place in zip(values, places, strict=True):
        is_missing = math.isnan(value)
        axis.annotate(
            "none" if is_missing else three_digit_text(value),
            (1.0 if is_missing else value, place),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )


def _dated(label: str, date: str) -> str:
    """Return a label with its date, cut in the middle where the figure is too narrow."""
    whole = label if date in label else f"{label}, {date}"
    half = _MAX_LABEL // 2
    return whole if len(whole) <= _MAX_LABEL else f"{whole[:half]}…{whole[-half:]}"
