"""Histograms of the errors of models, with the launches that are furthest off by name."""

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.predict.accuracy import Evaluation
from cltrace.predict.quotients import distance, quotient
from cltrace.report.figures import BAND, BAND_COLOR, BLUE, plain_text
from cltrace.report.kernel_figures import launch_name
from cltrace.report.quantities import three_digit_text

if TYPE_CHECKING:  # slow to load: the verb loads it when it draws
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BINS: Final = 40
_MAX_QUOTIENT: Final = 3.0
_MAX_DISTANCE: Final = 4.0
_MAX_OUTLIERS: Final = 5
_MAX_NAME: Final = 40
_ROW_INCHES: Final = 2.5
_OUTLIER_COLOR: Final = "#cc3311"
_MARKS: Final = (0.78, 0.86, 0.94)
"""Heights of the numbers of outliers, as shares of the axis."""
_ROOM_FOR_MARKS: Final = 1.4


def draw_histograms(evaluation: Evaluation) -> "Figure":
    """Return a row per model: histograms of quotients and of distances, and outliers by name.

    Launches under 10 µs and those without a prediction are left out. Values beyond an axis are in its
    last bin. The band holds the launches with an error of at most 25 %; those beyond it are outliers.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    models = evaluation.predicted_ns
    figure = Figure(figsize=(11.0, _ROW_INCHES * len(models) + 0.7), layout="constrained")
    rows = figure.subplots(len(models), 3, squeeze=False, width_ratios=(3, 2, 2))
    for axes, (model, predicted) in zip(rows, models.items(), strict=True):
        is_shown = evaluation.is_long & ~np.isnan(predicted)
        q = quotient(predicted[is_shown], evaluation.measured_ns[is_shown])
        d = distance(predicted[is_shown], evaluation.measured_ns[is_shown])
        launches = map(launch_name, evaluation.families, evaluation.names)
        names = np.asarray(list(launches), dtype=object)[is_shown]
        _draw_quotients(axes[0], model, q)
        axes[1].hist(
            np.clip(d, 1.0, _MAX_DISTANCE), bins=_BINS, range=(1.0, _MAX_DISTANCE), color=BLUE
        )
        axes[1].set_xlabel("distance: the larger by the smaller time", fontsize=8)
        _name_outliers(axes[0], axes[2], q, d, names)
        for axis in axes[:2]:
            axis.set_ylabel("launches", fontsize=8)
            axis.tick_params(labelsize=8)
    return figure


def _draw_quotients(axis: "Axes", model: str, q: NDArray[np.float64]) -> None:
    low, high = BAND
    axis.axvspan(low, high, color=BAND_COLOR, linewidth=0, zorder=0)
    axis.hist(np.clip(q, 0.0, _MAX_QUOTIENT), bins=_BINS, range=(0.0, _MAX_QUOTIENT), color=BLUE)
    axis.set_ylim(top=_ROOM_FOR_MARKS * axis.get_ylim()[1])
    axis.axvline(1.0, color="black", linewidth=0.6)
    axis.set_title(model, fontsize=9, loc="left")
    axis.set_title("± 25 %", fontsize=8, x=1.0 / _MAX_QUOTIENT)
    axis.set_xlim(0.0, _MAX_QUOTIENT)
    axis.set_xlabel("predicted / measured", fontsize=8)


def _name_outliers(
    histogram: "Axes",
    beside: "Axes",
    q: NDArray[np.float64],
    d: NDArray[np.float64],
    names: NDArray[np.object_],
) -> None:
    """Mark the outliers that are furthest off by numbers in the histogram, and name them beside it."""
    beside.set_axis_off()
    is_outlier = (q < BAND[0]) | (q > BAND[1])
    order = [at for at in np.argsort(-d, kind="stable") if is_outlier[at]]
    lines = [f"{len(order)} of {len(q)} launches are beyond ± 25 %"]
    for number, at in enumerate(order[:_MAX_OUTLIERS], 1):
        value = float(q[at])
        _mark(histogram, number, min(value, _MAX_QUOTIENT))
        lines.append(f"{number}  {_short(str(names[at]))}  {three_digit_text(value)}")
    if len(order) > _MAX_OUTLIERS:
        lines.append(f"{len(order) - _MAX_OUTLIERS} more")
    beside.text(0.0, 1.0, "\n".join(lines), va="top", fontsize=7.5, transform=beside.transAxes)


def _mark(histogram: "Axes", number: int, place: float) -> None:
    """Mark an outlier by its number above the bars. Neighbours are at different heights."""
    height = _MARKS[number % len(_MARKS)]
    histogram.axvline(place, ymax=height - 0.04, color=_OUTLIER_COLOR, linewidth=0.5)
    histogram.text(
        place,
        height,
        str(number),
        ha="center",
        va="center",
        fontsize=7,
        color=_OUTLIER_COLOR,
        transform=histogram.get_xaxis_transform(),
    )


def _short(name: str) -> str:
    cut = name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"
    return plain_text(cut)
