"""Figures of a profile: a family's points with their spread, and what is fitted to them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cltrace.predict.models.thesis import THESIS, Curves
from cltrace.profile import DeviceProfile, file_name
from cltrace.report.figures import write_figure
from cltrace.suite.calibration import FAMILIES

if TYPE_CHECKING:  # slow to load: the verb loads it when it draws
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_TOGETHER: Final = 8
"""More series than this stand side by side: colours would repeat."""
_COLUMNS: Final = 4
_TICKS: Final = 12
_FEW_TICKS: Final = 6


def draw_family(profile: DeviceProfile, family: str, directory: Path) -> Path:
    """Draw a family's measured means, deviations and fits as an SVG in `directory`; its path.

    Raises: `OutputError`.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    series = list(dict.fromkeys(point.series for point in profile.points(family)))
    if len(series) > _MOST_TOGETHER:
        rows = -(-len(series) // _COLUMNS)
        figure = Figure(figsize=(2.6 * _COLUMNS, 2.1 * rows), layout="constrained")
        _side_by_side(figure, profile, family, series, rows)
    else:
        figure = Figure(figsize=(7.0, 4.6), layout="constrained")
        axis = figure.subplots()
        for name in series:
            _draw(axis, profile, family, name)
        _scale(axis, family, _TICKS)
        if len(series) > 1:
            axis.legend(fontsize=8, frameon=False)
    title = FAMILIES[family].title if family in FAMILIES else family
    figure.suptitle(f"{title}: {profile.device.name}", fontsize=11)
    name = f"{file_name(profile.device.name)}-{file_name(family)}.svg"
    return write_figure(figure, directory / name)


def _side_by_side(
    figure: "Figure", profile: DeviceProfile, family: str, series: Sequence[str], rows: int
) -> None:
    axes = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
    for axis, name in zip(axes, series, strict=False):
        _draw(axis, profile, family, name)
        _scale(axis, family, _FEW_TICKS)
        axis.set_title(name, fontsize=8)
        axis.tick_params(labelsize=6)
        axis.set_xlabel(axis.get_xlabel(), fontsize=7)
        axis.set_ylabel(axis.get_ylabel(), fontsize=7)
    for axis in axes[len(series) :]:
        axis.set_visible(False)


def _draw(axis: "Axes", profile: DeviceProfile, family: str, name: str) -> None:
    """A series: means with their deviations, and the curve that is fitted to it, where one is."""
    points = sorted(profile.points(family, name), key=lambda point: point.x)
    drawn = axis.errorbar(
        [point.x for point in points],
        [point.mean_ns / 1e3 for point in points],
        [point.deviation_ns / 1e3 for point in points],
        fmt="o",
        markersize=3,
        linewidth=0.8,
        capsize=2,
        label=name,
    )
    if THESIS.name not in profile.parameters:
        return
    curves = Curves(profile)
    known = [
        (point.x, value / 1e3)
        for point in points
        if (value := curves.value_ns(family, name, point.x)) is not None
    ]
    if known:
        color = drawn.lines[0].get_color()
        axis.plot([x for x, _ in known], [y for _, y in known], color=color, linewidth=1.0)


def _scale(axis: "Axes", family: str, ticks: int) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator  # noqa: PLC0415 - slow

    axis.set_xscale("symlog", base=2, linthresh=1)
    low, high = axis.get_xlim()
    if low > 0 and high > low:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_locator(LogLocator(base=2, numticks=ticks))
        axis.xaxis.set_minor_locator(NullLocator())
    axis.set_yscale("log")
    if axis.get_ylim()[1] > 4 * axis.get_ylim()[0]:
        axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel(FAMILIES[family].x_label if family in FAMILIES else "")
    axis.set_ylabel("µs")
    axis.grid(visible=True, which="major", linewidth=0.3, alpha=0.6)
