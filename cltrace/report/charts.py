"""Charts over time, drawn with characters: a cell's height is how busy its row was then."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from cltrace.report.document import Chart, ChartRow, RowKind
from cltrace.report.quantities import time_text
from cltrace.report.untrusted_text import escape_controls
from cltrace.timeline.intervals import Intervals, covered_ns

_HEIGHTS: Final = " ▁▂▃▄▅▆▇█"
_ASCII_HEIGHTS: Final = " .:-=+*#@"
_LABEL_SHARE: Final = 0.3
_LONGEST_LABEL: Final = 30
_STYLES: Final = {
    RowKind.HOST: "cyan",
    RowKind.QUEUE: "bold",
    RowKind.KERNEL: "green",
    RowKind.TRANSFER: "magenta",
    RowKind.POWER: "yellow",
}
_TICK_EVERY: Final = 16
_UNITS: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def busy_shares(chart: Chart, row: ChartRow, parts: int) -> list[float]:
    """Return the share of each of `parts` equal parts of a chart's time in which a row was busy."""
    edges = np.linspace(chart.begin_ns, max(chart.end_ns, chart.begin_ns + 1), parts + 1)
    whole = np.round(edges).astype(np.int64)
    if row.height is not None:
        return _mean_heights(row, row.height, edges)
    covered = covered_ns(Intervals(row.start_ns, row.end_ns), whole[:-1], whole[1:])
    busy: list[float] = (covered / np.maximum(np.diff(whole), 1)).tolist()
    return busy


def _mean_heights(
    row: ChartRow, height: NDArray[np.float64], edges: NDArray[np.float64]
) -> list[float]:
    """Return the mean height of a row in each part; time that no interval covers counts as 0."""
    if not len(height):
        return [0.0] * (len(edges) - 1)
    times = np.stack([row.start_ns, row.end_ns], axis=1).ravel().astype(np.float64)
    areas = height * (row.end_ns - row.start_ns)
    areas_before = np.cumsum(np.stack([np.zeros(len(areas)), areas], axis=1).ravel())
    means: list[float] = (np.diff(np.interp(edges, times, areas_before)) / np.diff(edges)).tolist()
    return means


def draw_chart(chart: Chart, width: int, *, is_ascii: bool) -> list[Text]:
    """Return a chart as lines of `width` columns."""
    longest = max((len(_label(row)) for row in chart.rows), default=0)
    label_width = min(longest, _LONGEST_LABEL, int(width * _LABEL_SHARE))
    cells = max(width - label_width - 3, 10)
    bar = "|" if is_ascii else "│"
    lines = [Text(escape_controls(chart.title), style="bold")] if chart.title else []
    for row in chart.rows:
        line = Text(_cut(_label(row), label_width, is_ascii=is_ascii).ljust(label_width))
        line.append(f" {bar}", style="dim")
        line.append(_bar(chart, row, cells, is_ascii=is_ascii), style=_STYLES[row.kind])
        line.append(bar, style="dim")
        lines.append(line)
    lines.append(
        Text(" " * (label_width + 2) + _axis(chart, cells, is_ascii=is_ascii), style="dim")
    )
    return lines


def _label(row: ChartRow) -> str:
    return "  " * row.depth + escape_controls(row.label)


def _cut(label: str, width: int, *, is_ascii: bool) -> str:
    if len(label) <= width:
        return label if not is_ascii else label.encode("ascii", "replace").decode()
    mark = "..." if is_ascii else "…"
    indent = len(label) - len(label.lstrip())
    room = max(width - len(mark) - indent, 2)
    name = label.lstrip()
    cut = f"{' ' * indent}{name[: room - room // 2]}{mark}{name[len(name) - room // 2 :]}"
    return cut if not is_ascii else cut.encode("ascii", "replace").decode()


def _bar(chart: Chart, row: ChartRow, cells: int, *, is_ascii: bool) -> str:
    heights = _ASCII_HEIGHTS if is_ascii else _HEIGHTS
    highest = len(heights) - 1
    # Any activity is visible, however short it was.
    levels = [
        0 if share <= 0 else min(max(round(share * highest), 1), highest)
        for share in busy_shares(chart, row, cells)
    ]
    return "".join(heights[level] for level in levels)


def _tick_text(chart: Chart, share: float, *, is_ascii: bool) -> str:
    """Return a time on the axis, with enough digits to tell it from the next tick."""
    span_ns = chart.end_ns - chart.begin_ns
    time_ns = chart.begin_ns + span_ns * share
    largest = max(abs(chart.begin_ns), abs(chart.end_ns))
    if largest < 20 * span_ns:
        text = time_text(time_ns)
    else:
        scale, unit = next((pair for pair in _UNITS if largest >= pair[0]), _UNITS[-1])
        digits = max(round(math.log10(scale * _TICK_EVERY / max(span_ns, 1))), 0)
        text = f"{time_ns / scale:.{digits}f} {unit}"
    return text.replace("µ", "u") if is_ascii else text


def _axis(chart: Chart, cells: int, *, is_ascii: bool) -> str:
    """Return the times at regular distances below a chart."""
    count = max(cells // _TICK_EVERY, 1)
    line = [" "] * (cells + 1)
    for tick in range(count + 1):
        at = round(tick * cells / count)
        text = _tick_text(chart, tick / count, is_ascii=is_ascii)
        begin = min(max(at - len(text) // 2, 0), cells + 1 - len(text))
        if all(character == " " for character in line[max(begin - 1, 0) : begin + len(text) + 1]):
            line[begin : begin + len(text)] = text
    return "".join(line).rstrip()
