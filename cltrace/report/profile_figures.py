"""Figures of a profile: a family's points with their spread, and the fitted models."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cltrace.files import slug
from cltrace.profile import DeviceProfile
from cltrace.report.dot_figures import draw_rows, is_one_point_each
from cltrace.report.figures import (
    name_figure,
    plain_text,
    show_large_range,
    show_sizes,
    show_times,
    write_figure,
)
from cltrace.report.operation_figures import draw_costs, has_costs
from cltrace.report.transfer_figures import draw_transfers
from cltrace.suite.calibration import FAMILIES

if TYPE_CHECKING:  # slow to load: the verb loads it when it draws
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_LINES: Final = 10
"""Series of one pair of axes: the colours of more would repeat."""
_COLUMNS: Final = 3
_STYLES: Final[Mapping[str, str]] = {"overlap": "-", "thesis": ":"}
"""Line styles of the fits of models."""
_LINE_NAMES: Final[Mapping[str, str]] = {"-": "lines:", ":": "dotted:"}
_TICKS: Final = 12
_FEW_TICKS: Final = 6
_SIZE_LABELS: Final[Mapping[str, str]] = {
    "B": "size",
    "B a work-item": "size per work-item",
    "B of local memory a work-group": "local memory per work-group",
}
"""Labels of axes of bytes, whose ticks have units, by the label of the family."""
_NS: Final = "ns"
_LABELS: Final[Mapping[str, str]] = {**_SIZE_LABELS, _NS: "time"}
_Panels = Mapping[str, Mapping[str, str]]
"""Labels of series by their name, by the title of the axes that they share."""


def write_family(profile: DeviceProfile, family: str, directory: Path) -> Path:
    """Draw a family as an SVG in `directory`; return its path. Raises: `OutputError`."""
    name = f"{slug(profile.device.name)}-{slug(family)}.svg"
    return write_figure(draw_family(profile, family), directory / name)


def draw_family(profile: DeviceProfile, family: str) -> "Figure":
    """Return the figure of a family: measured means with their deviations, and fits of models.

    Families of the costs of operations are bars, transfers are times and rates by size, and series of a
    single point are rows.
    """
    if has_costs(profile, family):
        figure, fits = draw_costs(profile, family), ""
    elif family == "transfers":
        figure, fits = draw_transfers(profile.points(family)), ""
    elif is_one_point_each(profile.points(family)):
        figure, fits = draw_rows(profile, family), ""
    else:
        figure = _draw_panels(profile, family)
        fits = "".join(
            f", {_LINE_NAMES[style]} {model}"
            for model, style in _STYLES.items()
            if profile.residuals.get(model, {}).get(family)
        )
    title = FAMILIES[family].title if family in FAMILIES else family
    origin = f"{profile.device.name}, measured {profile.provenance.date}{fits}"
    name_figure(figure, title, origin)
    return figure


def _draw_panels(profile: DeviceProfile, family: str) -> "Figure":
    """Draw the series of a family as lines; with too many for one pair of axes, by group."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    panels = _group(list(dict.fromkeys(point.series for point in profile.points(family))))
    columns = min(len(panels), _COLUMNS if len(panels) != 4 else 2)
    rows = -(-len(panels) // columns)
    size = (8.5, 5.0) if columns == 1 else (3.3 * columns + 1.2, 2.9 * rows + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
    labels = dict.fromkeys(label for own in panels.values() for label in own.values())
    has_colors = len(labels) <= _MAX_LINES
    colors = {label: f"C{number if has_colors else 0}" for number, label in enumerate(labels)}
    for axis, (title, own) in zip(axes, panels.items(), strict=False):
        for name, label in own.items():
            _draw(axis, profile, family, name, colors[label])
        _scale(axis, profile, family, _TICKS if columns == 1 else _FEW_TICKS)
        axis.set_title(plain_text(title), fontsize=9)
        axis.tick_params(which="both", labelsize=9 if columns == 1 else 7)
    for axis in axes[len(panels) :]:
        axis.remove()
    if has_colors and len(labels) > 1:
        _add_legend(figure, colors)
    return figure


def _add_legend(figure: "Figure", colors: Mapping[str, str]) -> None:
    """Name the colours beside the axes, where no point is hidden."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - slow to load

    lines = [
        Line2D([], [], color=color, marker="o", markersize=3, linewidth=1, label=plain_text(label))
        for label, color in colors.items()
    ]
    figure.legend(handles=lines, loc="outside right upper", fontsize=8, frameon=False)


def _group(series: Sequence[str]) -> _Panels:
    """Return series by the axes that they share: all, those with one ending or beginning, or each."""
    if len(series) <= _MAX_LINES:
        return {"": {name: name for name in series}}
    for separator, is_ending in ((", ", True), (" ", False)):
        panels: dict[str, dict[str, str]] = {}
        for name in series:
            first, _, last = name.rpartition(separator) if is_ending else name.partition(separator)
            title, label = (last, first) if is_ending else (first, last)
            panels.setdefault(title, {})[name] = label
        labels = {label for own in panels.values() for label in own.values()}
        if all(labels) and len(labels) <= _MAX_LINES:
            return panels
    return {name: {name: name} for name in series}


def _draw(axis: "Axes", profile: DeviceProfile, family: str, name: str, color: str) -> None:
    """Draw a series: means with their deviations, and the models that are fitted to it."""
    points = sorted(profile.points(family, name), key=lambda point: point.x)
    axis.errorbar(
        [point.x for point in points],
        [point.mean_ns / 1e3 for point in points],
        [point.deviation_ns / 1e3 for point in points],
        fmt="o",
        color=color,
        markersize=3,
        linewidth=0.8,
        capsize=2,
        label=plain_text(name),
    )
    for model, style in _STYLES.items():
        fitted = profile.fitted_times(model, family, name)
        axis.plot(
            [x for x, _ in fitted],
            [ns / 1e3 for _, ns in fitted],
            color=color,
            linestyle=style,
            linewidth=1.0,
        )


def _scale(axis: "Axes", profile: DeviceProfile, family: str, ticks: int) -> None:
    """Make both axes logarithmic; an x axis that has 0 is linear up to its smallest other number."""
    from matplotlib.ticker import LogLocator, NullLocator  # noqa: PLC0415 - slow

    label = FAMILIES[family].x_label if family in FAMILIES else ""
    numbers = [point.x for point in profile.points(family)]
    if label == _NS:
        show_times(axis, min((x for x in numbers if x > 0), default=1))
    elif min(numbers) <= 0:
        axis.set_xscale("symlog", base=2, linthresh=1)
    elif label in _SIZE_LABELS:
        show_sizes(axis)
    elif max(numbers) > min(numbers):
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_locator(LogLocator(base=2, numticks=ticks))
        axis.xaxis.set_minor_locator(NullLocator())
    show_large_range(axis)
    axis.set_xlabel(_LABELS.get(label, label), fontsize=9)
    axis.set_ylabel("µs", fontsize=9)
    axis.grid(visible=True, which="major", linewidth=0.3, alpha=0.6)
