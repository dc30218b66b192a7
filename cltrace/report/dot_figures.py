"""Figures of families of single launches: a row per series on one logarithmic axis of times."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from cltrace.profile import DeviceProfile, Point
from cltrace.report.figures import BLUE, plain_text

if TYPE_CHECKING:  # slow to load: the verb loads it when it draws
    from matplotlib.figure import Figure

_MIN_ROWS: Final = 11
"""Series from which rows are clearer than lines."""
_ROW_INCHES: Final = 0.15
_FRAME_INCHES: Final = 1.2


def is_one_point_each(points: Sequence[Point]) -> bool:
    """Return True for many series of a single point, which make no lines."""
    return len({point.series for point in points}) == len(points) >= _MIN_ROWS


def draw_rows(profile: DeviceProfile, family: str) -> "Figure":
    """Return the figure of a family: mean times with their deviations, the longest at the top."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    points = sorted(profile.points(family), key=lambda point: point.mean_ns)
    size = (8.5, _FRAME_INCHES + _ROW_INCHES * len(points))
    figure = Figure(figsize=size, layout="constrained")
    axis = figure.subplots()
    axis.errorbar(
        [point.mean_ns / 1e3 for point in points],
        range(len(points)),
        xerr=[point.deviation_ns / 1e3 for point in points],
        fmt="o",
        color=BLUE,
        markersize=3,
        linewidth=0.8,
        capsize=2,
    )
    axis.set_xscale("log")
    axis.set_yticks(range(len(points)), [_label(point.series) for point in points], fontsize=7)
    axis.set_ylim(-1, len(points))
    axis.grid(axis="both", linewidth=0.3)
    axis.set_xlabel("time, µs")
    return figure


def _label(series: str) -> str:
    """Return the name of a series with equal words that follow each other as one, and their number."""
    first, beside, others = series.partition(" beside ")
    runs = [(word, len(list(equal))) for word, equal in groupby(others.split(", "))]
    words = [f"{count} × {word}" if count > 1 else word for word, count in runs]
    return plain_text(f"{first}{beside}{', '.join(words)}")
