"""Parts that all figures have: a title with device and date, axes of sizes, and files."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cltrace.files import write_atomically
from cltrace.report.document import Unit
from cltrace.report.quantities import value_text
from cltrace.report.untrusted_text import escape_controls

if TYPE_CHECKING:  # slow to load: loaded by the code that draws
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE: Final = "#4477aa"
"""Color of the values of a figure with one series."""
BAND: Final = (0.75, 1.25)
"""Quotients with an error of at most 25 %."""
BAND_COLOR: Final = "#e3ecd8"
_ORIGIN_SIZE: Final = 8
_ORIGIN_COLOR: Final = "0.35"
_TICKS: Final = 7
_WIDE: Final = 4.0
_VERY_WIDE: Final = 100.0
"""Factors between the ends of an axis above which fewer of its ticks have numbers."""


def plain_text(text: str) -> str:
    """Return text for a figure: without control characters, and never read as mathematics."""
    return escape_controls(text).replace("$", r"\$")


def name_figure(figure: "Figure", title: str, origin: str, note: str = "") -> None:
    """Write the title of a figure. `origin` is the device with the date of its measurement.

    `note` explains what is drawn, in a line of its own.
    """
    figure.suptitle(plain_text(title), fontsize=11)
    below = "\n".join(plain_text(line) for line in (origin, note) if line)
    figure.supxlabel(below, fontsize=_ORIGIN_SIZE, color=_ORIGIN_COLOR)


def show_sizes(axis: "Axes", max_ticks: int = _TICKS) -> None:
    """Make the x axis logarithmic, with sizes in bytes at its ticks: 4 KiB, 64 KiB."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator  # noqa: PLC0415 - slow

    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_locator(LogLocator(base=2, numticks=max_ticks))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda size, _: _tick_text(size, Unit.BYTES)))


def _tick_text(value: float, unit: Unit) -> str:
    """Return a quantity without zeros after the point, which round numbers do not need."""
    number, _, name = value_text(value, unit).partition(" ")
    return f"{float(number):g} {name}"


def show_times(axis: "Axes", smallest_ns: float) -> None:
    """Make the x axis one of times in ns, logarithmic from `smallest_ns` on, with units at its ticks."""
    from matplotlib.ticker import FuncFormatter, NullLocator  # noqa: PLC0415 - slow

    axis.set_xscale("symlog", base=10, linthresh=smallest_ns)
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda ns, _: _tick_text(ns, Unit.NS)))


def show_large_range(axis: "Axes") -> None:
    """Make the y axis logarithmic, with plain numbers at as many ticks as there is room for."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415 - slow

    axis.set_yscale("log")
    plain = FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1e3 else f"{value:g}")
    axis.yaxis.set_major_formatter(plain)
    low, high = axis.get_ylim()
    subs = (2, 5) if high > _WIDE * low else range(2, 10)
    axis.yaxis.set_minor_locator(LogLocator(subs=subs))
    axis.yaxis.set_minor_formatter(NullFormatter() if high > _VERY_WIDE * low else plain)


def write_figure(figure: "Figure", path: Path) -> Path:
    """Write a figure in its path's format, without frames and dates. Raises: `OutputError`."""
    write_atomically(encode_figure(figure, path.suffix.removeprefix(".")), path)
    return path


def encode_figure(figure: "Figure", file_format: str) -> bytes:
    """Return a figure as the contents of a file, without frames; the same figure gives the same bytes."""
    from matplotlib import rc_context  # noqa: PLC0415 - slow to load

    for axis in figure.axes:
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    drawn = io.BytesIO()
    with rc_context({"svg.hashsalt": "cltrace"}):
        figure.savefig(drawn, format=file_format, metadata={"Date": None})
    return drawn.getvalue()
