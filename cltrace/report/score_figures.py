"""Figures of scores: classes of several devices beside each other."""

import io
from collections.abc import Sequence
from typing import Final

from cltrace.regress.score import ScoreFile, compute_score
from cltrace.report.formats.plain_page import Picture
from cltrace.report.quantities import three_digit_text
from cltrace.report.score import distinct_labels

_BAR: Final = 0.26
"""Height of a bar, in inches."""


def score_picture(files: Sequence[ScoreFile], reference: ScoreFile) -> Picture:
    """Draw bars of the scores of classes by the mean of runs, and over all, on a logarithmic axis."""
    from matplotlib import rc_context  # noqa: PLC0415 - slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    scores = [compute_score(file, reference) for file in files]
    kinds = list(dict.fromkeys(kind for result in scores for kind in result.kinds))
    rows = [
        [result.overall for result in scores],
        *([result.kinds.get(kind) for result in scores] for kind in kinds),
    ]
    height = 1.1 + _BAR * len(rows) * (len(files) + 1)
    figure = Figure(figsize=(8.5, height), layout="constrained")
    axis = figure.subplots()
    for position, label in enumerate(distinct_labels(files)):
        places = [row * (len(files) + 1) + position for row in range(len(rows))]
        ratios = [row[position] for row in rows]
        values = [ratio.average if ratio is not None else float("nan") for ratio in ratios]
        bars = axis.barh(places, values, height=0.86, label=label.replace("$", r"\$"))
        texts = [three_digit_text(value) if value == value else "none" for value in values]
        axis.bar_label(bars, texts, padding=3, fontsize=8)
    axis.set_xscale("log")
    axis.axvline(1, color="0.6", linewidth=0.8, zorder=0)
    middles = [row * (len(files) + 1) + (len(files) - 1) / 2 for row in range(len(rows))]
    axis.set_yticks(middles, ["over all", *map(str, kinds)])
    axis.margins(x=0.12)
    axis.set_ylim(len(rows) * (len(files) + 1) - 1, -1)
    axis.set_xlabel("speed-up over the reference")
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    out = io.BytesIO()
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "cltrace"}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    return Picture("Scores by class", out.getvalue())
