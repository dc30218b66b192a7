"""Figures of a profile: a family's points with their spread, and the fitted models."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cltrace.files import slug
from cltrace.profile import DeviceProfile
from cltrace.report.figures import write_figure
from cltrace.suite.calibration import FAMILIES

if TYPE_CHECKING:  # slow to load: the verb loads it when it draws
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_TOGETHER: Final = 8
"""With more series each gets its own axes: colours would repeat."""
_COLUMNS: Final = 4
_STYLES: Final[Mapping[str, str]] = {"overlap": "-", "thesis": ":"}
"""Line styles of the fits of models."""
_LINE_NAMES: Final[Mapping[str, str]] = {"-": "lines:", ":": "dotted:"}
_TICKS: Final = 12
_FEW_TICKS: Final = 6
_WIDE: Final = 4.0
_VERY_WIDE: Final = 100.0
"""Factors between the ends of an axis above which fewer of its ticks have numbers."""


def draw_family(profile: DeviceProfile, family: str, directory: Path) -> Path:
    """Draw a family's measured means, deviations and fits as an SVG in `directory`; return its path.

    Raises: `OutputError`.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    series = list(dict.fromkeys(point.series for point in profile.points(family)))
    if len(series) > _MAX_TOGETHER:
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
    drawn = [
        f"{_LINE_NAMES[style]} {model}"
        for model, style in _STYLES.items()
        if profile.residuals.get(model, {}).get(family)
    ]
    figure.suptitle(f"{title}: {profile.device.name}", fontsize=11)
    if drawn:
        figure.text(0.995, 0.005, ", ".join(drawn), ha="right", fontsize=7)
    name = f"{slug(profile.device.name)}-{slug(family)}.svg"
    return write_figure(figure, directory / name)


def _side_by_side(
    figure: "Figure", profile: DeviceProfile, family: str, series: Sequence[str], rows: int
) -> None:
    axes = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
    for axis, name in zip(axes, series, strict=False):
        _draw(axis, profile, family, name)
        _scale(axis, family, _FEW_TICKS)
        axis.set_title(name, fontsize=8)
        axis.tick_params(which="both", labelsize=6)
        axis.set_xlabel(axis.get_xlabel(), fontsize=7)
        axis.set_ylabel(axis.get_ylabel(), fontsize=7)
    for axis in axes[len(series) :]:
        axis.set_visible(False)


def _draw(axis: "Axes", profile: DeviceProfile, family: str, name: str) -> None:
    """Draw a series: means with their deviations, and the models that are fitted to it."""
    points = sorted(profile.points(family, name), key=lambda point: point.x)
    error_bars = axis.errorbar(
        [point.x for point in points],
        [point.mean_ns / 1e3 for point in points],
        [point.deviation_ns / 1e3 for point in points],
        fmt="o",
        markersize=3,
        linewidth=0.8,
        capsize=2,
        label=name,
    )
    color = error_bars.lines[0].get_color()
    for model, style in _STYLES.items():
        fitted = profile.fitted_times(model, family, name)
        axis.plot(
            [x for x, _ in fitted],
            [ns / 1e3 for _, ns in fitted],
            color=color,
            linestyle=style,
            linewidth=1.0,
        )


def _scale(axis: "Axes", family: str, ticks: int) -> None:
    from matplotlib.ticker import (  # noqa: PLC0415 - slow
        FuncFormatter,
        LogLocator,
        NullFormatter,
        NullLocator,
    )

    axis.set_xscale("symlog", base=2, linthresh=1)
    low, high = axis.get_xlim()
    if low > 0 and high > low:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_locator(LogLocator(base=2, numticks=ticks))
        axis.xaxis.set_minor_locator(NullLocator())
    axis.set_yscale("log")
    plain = FuncFormatter(lambda value, _: f"{value:,.4g}")
    axis.yaxis.set_major_formatter(plain)
    low, high = axis.get_ylim()
    subs = (2, 5) if high > _WIDE * low else range(2, 10)
    axis.yaxis.set_minor_locator(LogLocator(subs=subs))
    axis.yaxis.set_minor_formatter(NullFormatter() if high > _VERY_WIDE * low else plain)
    axis.set_xlabel(FAMILIES[family].x_label if family in FAMILIES else "")
    axis.set_ylabel("µs")
    axis.grid(visible=True, which="major", linewidth=0.3, alpha=0.6)
