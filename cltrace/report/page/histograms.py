"""Histograms of the durations of kernels and transfers, and of their waits."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.report.activity import TRANSFERS, transfer_name
from cltrace.report.document import Unit
from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.columns import Float64s, Int64s
from cltrace.trace.commands import ABSENT

_MAX_BINS: Final = 40
_MAX_KERNELS: Final = 200
_WIDE: Final = 4
"""Ratio of the largest to the smallest value from which bins grow by a factor instead of by a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Histogram of a quantity. `edges` are ascending, one more than `counts`.

    With `is_logarithmic` each bin is a fixed factor wider than the one before; else all are alike. `name`
    is the row of the table `table` in its section, `search` the name of its slices.
    """

    section: str
    table: str
    name: str
    search: str
    title: str
    unit: Unit
    is_logarithmic: bool
    edges: tuple[float, ...]
    counts: tuple[int, ...]


def histograms(activity: Activity) -> list[Histogram]:
    """Return the histograms of kernels, those that took longest first, and of transfers."""
    commands = activity.commands
    is_kernel = commands.is_kind("kernel")
    durations = np.maximum(commands.duration_ns, 0)
    totals = np.bincount(
        commands.kernel[is_kernel], durations[is_kernel], len(activity.names.kernels)
    )
    result: list[Histogram] = []
    for kernel in np.argsort(-totals, kind="stable")[:_MAX_KERNELS].tolist():
        positions = np.flatnonzero(is_kernel & (commands.kernel == kernel))
        name = activity.names.kernels[kernel] or "(not known)"
        result += _command_histograms(activity, positions, ("kernels", "kernels", name, name))
    for kind in TRANSFERS:
        positions = np.flatnonzero(commands.kind == KINDS.index(kind))
        result += _command_histograms(
            activity, positions, ("transfers", "transfers", transfer_name(kind), kind)
        )
    return result


def _command_histograms(
    activity: Activity, positions: Int64s, labels: tuple[str, str, str, str]
) -> Iterator[Histogram]:
    """Yield the histograms of some commands. `labels` are the first four fields of each."""
    section, table, name, search = labels
    commands = activity.commands
    durations_ns = commands.duration_ns[positions]
    start, queued = commands.start_ns[positions], commands.queued_ns[positions]
    waited = (start - queued)[(start != ABSENT) & (queued != ABSENT)]
    size = commands.size_bytes[positions]
    quantities = [
        ("time on the device", Unit.NS, durations_ns[durations_ns != ABSENT]),
        ("time from queued to start", Unit.NS, waited),
    ]
    if section == "transfers":
        quantities.append(("size", Unit.BYTES, size[size > 0]))
    for title, unit, values in quantities:
        if len(values):
            is_wide = int(values.max()) >= _WIDE * max(int(values.min()), 1)
            edges = _edges(np.maximum(values, 0), is_logarithmic=bool(is_wide))
            counts, _ = np.histogram(values, edges)
            yield Histogram(
                section=section,
                table=table,
                name=name,
                search=search,
                title=title,
                unit=unit,
                is_logarithmic=bool(is_wide),
                edges=tuple(edges.tolist()),
                counts=tuple(counts.tolist()),
            )


def _edges(values: Int64s, *, is_logarithmic: bool) -> Float64s:
    """Return edges of bins that contain all values, with about as many bins as the values fill."""
    low, high = float(values.min()), float(values.max())
    bins = int(np.clip(2 * len(values) ** 0.4, 1, _MAX_BINS))
    if high <= low:
        return np.array([low, low + 1.0])
    if not is_logarithmic:
        return np.linspace(low, high, bins + 1)
    edges = np.geomspace(max(low, 1.0), high, bins + 1)
    edges[0], edges[-1] = low, high
    return edges
