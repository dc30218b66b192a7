"""Figures of transfers: times and rates by size, a line per kind of host memory and direction."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from cltrace.profile import Point
from cltrace.report.figures import plain_text, show_large_range, show_sizes

if TYPE_CHECKING:  # slow to load: the verb loads it when it draws
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS: Final = ("#4477aa", "#ee6677", "#228833", "#aa7711", "#66ccee", "#aa3377")
_DOWNWARD: Final = " from device"


def draw_transfers(points: Sequence[Point]) -> "Figure":
    """Return times in µs and rates in GB/s over sizes. Error bars are standard deviations."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    figure = Figure(figsize=(10.0, 4.6), layout="constrained")
    times, rates = figure.subplots(1, 2)
    names = list(dict.fromkeys(point.series for point in points))
    memories = list(dict.fromkeys(_memory(name) for name in names))
    for name in names:
        own = sorted((point for point in points if point.series == name), key=lambda each: each.x)
        color = _COLORS[memories.index(_memory(name)) % len(_COLORS)]
        _draw_line(times, rates, own, color)
    for axis in (times, rates):
        show_sizes(axis)
        axis.set_xlabel("size", fontsize=9)
        axis.tick_params(labelsize=8)
        axis.grid(visible=True, which="major", linewidth=0.3, alpha=0.6)
    show_large_range(times)
    times.set_ylabel("µs", fontsize=9)
    rates.set_ylabel("GB/s", fontsize=9)
    rates.set_ylim(bottom=0)
    times.legend(fontsize=8, frameon=False)
    return figure


def _memory(series: str) -> str:
    """Return the kind of host memory of a series, which is the same in both directions."""
    return series.removesuffix(_DOWNWARD).removesuffix(" to device")


def _draw_line(times: "Axes", rates: "Axes", points: Sequence[Point], color: str) -> None:
    """Draw a kind of transfers: dashed and hollow from the device, solid to it."""
    name = points[0].series
    is_down = name.endswith(_DOWNWARD)
    # Bytes per ns are GB per s; the relative spread of a rate is that of its time.
    rates_gb = [point.x / point.mean_ns for point in points]
    spreads = [point.deviation_ns / point.mean_ns for point in points]
    drawn = (
        (times, [point.mean_ns / 1e3 for point in points]),
        (rates, rates_gb),
    )
    for axis, values in drawn:
        axis.errorbar(
            [point.x for point in points],
            values,
            [value * spread for value, spread in zip(values, spreads, strict=True)],
            color=color,
            linestyle="--" if is_down else "-",
            linewidth=1.0,
            marker="o",
            markersize=3.0,
            markerfacecolor="white" if is_down else color,
            capsize=2,
            elinewidth=0.8,
            label=plain_text(name),
        )
