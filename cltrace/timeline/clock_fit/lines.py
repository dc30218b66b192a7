"""Set of all straight lines that keep a number of bounds: an exact two-variable linear programme.

A line is `offset + slope * time`. The lines that keep all bounds form a convex polygon in the plane of
offset and slope, and each bound that the polygon breaks cuts it. Only the bound that is broken most is
used for the next cut. So a million bounds take a few dozen cuts, each after one vectorised pass over all
bounds that are left.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.timeline.clock_fit.points import MAX_DRIFT, Points
from cltrace.timeline.clock_fit.sources import PointSlice
from cltrace.timeline.columns import Float64s

_TOLERANCE_NS: Final = 1e-3
_MAX_OFFSET_NS: Final = 1e12
"""Residuals are counted from one near by: no offset is farther away than this."""
_LEVEL_ROOM_SHARE: Final = 0.8
"""Share of the largest room that a level line must have to be preferred."""
_FIRST_CHUNK: Final = 64
_MAX_CHUNK: Final = 8192


@dataclass(frozen=True, slots=True)
class Lines:
    """A set of lines: the corners of their polygon, shape (k, 2), offset in ns and slope.

    Without corners no line is left.
    """

    corners: Float64s

    @property
    def exist(self) -> bool:
        """True if any line is left."""
        return len(self.corners) > 0

    def values(self, time_ns: Float64s) -> Float64s:
        """Return the values of the corner lines at times of shape (n,). The result has shape (k, n)."""
        return self.corners[:, :1] + self.corners[:, 1:] * time_ns

    def range_at(self, time_ns: float) -> tuple[float, float]:
        """Return the lowest and the highest value of the set's lines at a time."""
        values = self.values(np.array([time_ns]))
        return float(values.min()), float(values.max())

    @property
    def slopes(self) -> tuple[float, float]:
        """The lowest and the highest slope in the set."""
        return float(self.corners[:, 1].min()), float(self.corners[:, 1].max())

    @property
    def middle(self) -> tuple[float, float, float]:
        """The line with the most room: its offset, its slope, and the room to move its offset either way.

        The room at a slope is half the width of the polygon there. The width is a concave function of
        the slope, so it is greatest at a corner. As long as the bounds leave the sign of the slope open,
        a level line is preferred: two clocks that agree are likelier than two that drift apart as steeply
        as a short time allows.
        """
        best = (0.0, 0.0, -1.0)
        for slope in self.corners[:, 1].tolist():
            low, high = self._offsets_at(slope)
            if (high - low) / 2 > best[2]:
                best = ((low + high) / 2, slope, (high - low) / 2)
        if self.slopes[0] < 0 < self.slopes[1]:
            low, high = self._offsets_at(0.0)
            if (high - low) / 2 >= _LEVEL_ROOM_SHARE * best[2]:
                return (low + high) / 2, 0.0, (high - low) / 2
        return best

    def _offsets_at(self, slope: float) -> tuple[float, float]:
        """Return the lowest and the highest offset at a slope that occurs in the set."""
        corners, following = self.corners, np.roll(self.corners, -1, axis=0)
        rise = following[:, 1] - corners[:, 1]
        is_crossed = (np.minimum(corners[:, 1], following[:, 1]) <= slope) & (
            slope <= np.maximum(corners[:, 1], following[:, 1])
        )
        share = np.where(rise == 0, 0.0, (slope - corners[:, 1]) / np.where(rise == 0, 1.0, rise))
        offsets = (corners[:, 0] + share * (following[:, 0] - corners[:, 0]))[is_crossed]
        return float(offsets.min()), float(offsets.max())

    def clip(self, points: Points) -> "Lines":
        """Return the lines of the set that keep all bounds of `points` too."""
        lines = self
        above, below = _excess(self, points)
        # A cut only removes lines. So a bound that all lines keep now is kept by every later subset.
        points = points[(above > _TOLERANCE_NS) | (below > _TOLERANCE_NS)]
        while lines.exist and len(points):
            above, below = _excess(lines, points)
            high, low = int(above.argmax()), int(below.argmax())
            if max(above[high], below[low]) <= _TOLERANCE_NS:
                break
            # Cut with both bounds of the point at once: any excess that remains there is rounding.
            worst = high if above[high] >= below[low] else low
            lines = _cut(lines, points.time_ns[worst], points.upper_ns[worst], 1.0)
            lines = _cut(lines, points.time_ns[worst], points.lower_ns[worst], -1.0)
            points = points[np.arange(len(points)) != worst]
        return lines


def _excess(lines: Lines, points: Points) -> tuple[Float64s, Float64s]:
    """Return how far the farthest line is above, and below, the bounds of each point."""
    values = lines.values(points.time_ns)
    above: Float64s = values.max(axis=0) - points.upper_ns
    below: Float64s = points.lower_ns - values.min(axis=0)
    return above, below


def _cut(lines: Lines, time_ns: float, bound_ns: float, sign: float) -> Lines:
    """Return the lines with `sign * value(time) <= sign * bound`, by Sutherland-Hodgman clipping."""
    corners = lines.corners
    if not np.isfinite(bound_ns):
        return lines
    excess = sign * (corners[:, 0] + corners[:, 1] * time_ns - bound_ns)
    kept = []
    for corner in range(len(corners)):
        following = (corner + 1) % len(corners)
        if excess[corner] <= 0:
            kept.append(corners[corner])
        if (excess[corner] < 0 < excess[following]) or (excess[following] < 0 < excess[corner]):
            share = excess[corner] / (excess[corner] - excess[following])
            kept.append(corners[corner] + share * (corners[following] - corners[corner]))
    return Lines(np.array(kept).reshape(-1, 2))


def all_lines() -> Lines:
    """Return every line that a pair of working clocks can have."""
    offset, slope = _MAX_OFFSET_NS, MAX_DRIFT
    return Lines(np.array([[-offset, -slope], [offset, -slope], [offset, slope], [-offset, slope]]))


def find_longest_prefix(points: PointSlice, lines: Lines) -> tuple[int, Lines]:
    """Return the length of the longest prefix of points that some of `lines` keep, and these lines."""
    start, chunk = 0, _FIRST_CHUNK
    while start < len(points):
        kept = lines.clip(points.load(start, start + chunk))
        if not kept.exist:
            return _bisect_prefix(points, start, min(start + chunk, len(points)), lines)
        lines, start = kept, start + chunk
        chunk = min(2 * chunk, _MAX_CHUNK)
    return len(points), lines


def _bisect_prefix(points: PointSlice, good: int, bad: int, lines: Lines) -> tuple[int, Lines]:
    """Halve the gap between a prefix that fits and a longer one that does not, down to one point."""
    while bad - good > 1:
        middle = (good + bad) // 2
        kept = lines.clip(points.load(good, middle))
        if kept.exist:
            lines, good = kept, middle
        else:
            bad = middle
    return good, lines
