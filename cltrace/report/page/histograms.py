"""Histograms of what kernels and transfers took, and of how long they waited."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.report.activity import TRANSFERS, transfer_name
from cltrace.report.document import Unit
from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.clock_fit.points import Float64s, Int64s
from cltrace.trace.commands import ABSENT

_MOST_BINS: Final = 40
_MOST_KERNELS: Final = 200
_WIDE: Final = 4
"""From this ratio of the largest to the smallest value on, bins grow by a factor instead of by a step."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """A histogram of a quantity. `edges` are ascending, one more than `counts`.

    With `is_logarithmic` each is a fixed factor wider than the one before; else all are alike. `name` is
    the row of the table `table` in the section that it belongs to, `search` what its slices are
    called.
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
    """The histograms of kernels, those that took longest first, and of transfers."""
    commands = activity.commands
    is_kernel = commands.are("kernel")
    known = np.maximum(commands.duration_ns, 0)
    totals = np.bincount(commands.kernel[is_kernel], known[is_kernel], len(activity.names.kernels))
    found: list[Histogram] = []
    for kernel in np.argsort(-totals, kind="stable")[:_MOST_KERNELS].tolist():
        here = np.flatnonzero(is_kernel & (commands.kernel == kernel))
        name = activity.names.kernels[kernel] or "(not known)"
        found += _of(activity, here, ("kernels", "kernels", name, name))
    for kind in TRANSFERS:
        here = np.flatnonzero(commands.kind == KINDS.index(kind))
        found += _of(activity, here, ("transfers", "transfers", transfer_name(kind), kind))
    return found


def _of(activity: Activity, here: Int64s, where: tuple[str, str, str, str]) -> Iterator[Histogram]:
    """The histograms of some commands."""
    commands = activity.commands
    took = commands.duration_ns[here]
    start, queued = commands.start_ns[here], commands.queued_ns[here]
    waited = (start - queued)[(start != ABSENT) & (queued != ABSENT)]
    size = commands.size_bytes[here]
    quantities = [
        ("time on the device", Unit.NS, took[took != ABSENT]),
        ("time from queued to start", Unit.NS, waited),
    ]
    if where[0] == "transfers":
        quantities.append(("size", Unit.BYTES, size[size > 0]))
    for title, unit, values in quantities:
        if len(values):
            is_wide = int(values.max()) >= _WIDE * max(int(values.min()), 1)
            edges = _edges(np.maximum(values, 0), is_logarithmic=bool(is_wide))
            counts, _ = np.histogram(values, edges)
            numbers = tuple(edges.tolist()), tuple(counts.tolist())
            yield Histogram(*where, title, unit, bool(is_wide), *numbers)


def _edges(values: Int64s, *, is_logarithmic: bool) -> Float64s:
    """Edges of bins that hold all values, with about as many bins as these fill."""
    low, high = float(values.min()), float(values.max())
    bins = int(np.clip(2 * len(values) ** 0.4, 1, _MOST_BINS))
    if high <= low:
        return np.array([low, low + 1.0])
    if not is_logarithmic:
        return np.linspace(low, high, bins + 1)
    edges = np.geomspace(max(low, 1.0), high, bins + 1)
    edges[0], edges[-1] = low, high
    return edges
