"""The set of all straight lines that keep a number of bounds: an exact two-variable linear programme.

A line is `offset + slope * time`. The lines that keep all bounds are a convex polygon in the plane of
offset and slope; each bound that it breaks cuts it. Only the bound that is broken most is cut with,
so a million bounds take a few dozen cuts, each after one vectorised look at all that are left.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.timeline.clock_fit.points import HIGHEST_DRIFT, Float64s, Points

_TOLERANCE_NS: Final = 1e-3
_WIDEST_NS: Final = 1e12
"""Residuals are counted from one that is near: no offset is farther away than this."""
_NEARLY: Final = 0.8
_FIRST_CHUNK: Final = 64
_LARGEST_CHUNK: Final = 8192


@dataclass(frozen=True, slots=True)
class Lines:
    """A set of lines: the corners of their polygon, shape (k, 2), offset in ns and slope.

    No corners: no line is left.
    """

    corners: Float64s

    @property
    def exist(self) -> bool:
        """Whether any line is left."""
        return len(self.corners) > 0

    def values(self, time_ns: Float64s) -> Float64s:
        """The values of the corner lines at times of shape (n,): shape (k, n)."""
        return self.corners[:, :1] + self.corners[:, 1:] * time_ns

    def range_at(self, time_ns: float) -> tuple[float, float]:
        """The lowest and the highest value that a line of the set has at a time."""
        values = self.values(np.array([time_ns]))
        return float(values.min()), float(values.max())

    @property
    def slopes(self) -> tuple[float, float]:
        """The lowest and the highest slope in the set."""
        return float(self.corners[:, 1].min()), float(self.corners[:, 1].max())

    @property
    def middle(self) -> tuple[float, float, float]:
        """The line with the most room: its offset, its slope, and how far its offset can be moved.

        The room at a slope is how wide the polygon is there. That is concave, so greatest at a corner.
        While the bounds do not tell the slope, the line is level: two clocks that agree are likelier
        than two that drift apart as steeply as a short time allows.
        """
        best = (0.0, 0.0, -1.0)
        for slope in self.corners[:, 1].tolist():
            low, high = self._offsets_at(slope)
            if (high - low) / 2 > best[2]:
                best = ((low + high) / 2, slope, (high - low) / 2)
        if self.slopes[0] < 0 < self.slopes[1]:
            low, high = self._offsets_at(0.0)
            if (high - low) / 2 >= _NEARLY * best[2]:
                return (low + high) / 2, 0.0, (high - low) / 2
        return best

    def _offsets_at(self, slope: float) -> tuple[float, float]:
        """The lowest and the highest offset of a line with this slope, which some line of the set has."""
        here, there = self.corners, np.roll(self.corners, -1, axis=0)
        rise = there[:, 1] - here[:, 1]
        is_crossed = (np.minimum(here[:, 1], there[:, 1]) <= slope) & (
            slope <= np.maximum(here[:, 1], there[:, 1])
        )
        share = np.where(rise == 0, 0.0, (slope - here[:, 1]) / np.where(rise == 0, 1.0, rise))
        offsets = (here[:, 0] + share * (there[:, 0] - here[:, 0]))[is_crossed]
        return float(offsets.min()), float(offsets.max())

    def keeping(self, points: Points) -> "Lines":
        """The lines of the set that keep all bounds of `points` too."""
        lines = self
        above, below = _excess(self, points)
        # Cutting only takes lines away: a bound that all lines keep is kept by what is left of them.
        points = points[(above > _TOLERANCE_NS) | (below > _TOLERANCE_NS)]
        while lines.exist and len(points):
            above, below = _excess(lines, points)
            high, low = int(above.argmax()), int(below.argmax())
            if max(above[high], below[low]) <= _TOLERANCE_NS:
                break
            # Both bounds of a point at once: what is left of them afterwards is rounding.
            worst = high if above[high] >= below[low] else low
            lines = _cut(lines, points.time_ns[worst], points.upper_ns[worst], 1.0)
            lines = _cut(lines, points.time_ns[worst], points.lower_ns[worst], -1.0)
            points = points[np.arange(len(points)) != worst]
        return lines


def _excess(lines: Lines, points: Points) -> tuple[Float64s, Float64s]:
    """By how much some line is above, some line below what each point allows."""
    values = lines.values(points.time_ns)
    above: Float64s = values.max(axis=0) - points.upper_ns
    below: Float64s = points.lower_ns - values.min(axis=0)
    return above, below


def _cut(lines: Lines, time_ns: float, bound_ns: float, sign: float) -> Lines:
    """The lines with `sign * value(time) <= sign * bound`: Sutherland and Hodgman's clipping."""
    corners = lines.corners
    if not np.isfinite(bound_ns):
        return lines
    excess = sign * (corners[:, 0] + corners[:, 1] * time_ns - bound_ns)
    kept = []
    for at in range(len(corners)):
        after = (at + 1) % len(corners)
        if excess[at] <= 0:
            kept.append(corners[at])
        if (excess[at] < 0 < excess[after]) or (excess[after] < 0 < excess[at]):
            share = excess[at] / (excess[at] - excess[after])
            kept.append(corners[at] + share * (corners[after] - corners[at]))
    return Lines(np.array(kept).reshape(-1, 2))


def all_lines() -> Lines:
    """Every line that a pair of working clocks can have."""
    wide, steep = _WIDEST_NS, HIGHEST_DRIFT
    return Lines(np.array([[-wide, -steep], [wide, -steep], [wide, steep], [-wide, steep]]))


def longest_prefix(points: Points, lines: Lines) -> tuple[int, Lines]:
    """How many of the first points some line of `lines` keeps all together, and the lines that do."""
    at, chunk = 0, _FIRST_CHUNK
    while at < len(points):
        kept = lines.keeping(points[at : at + chunk])
        if not kept.exist:
            return _last_that_fits(points, at, min(at + chunk, len(points)), lines)
        lines, at = kept, at + chunk
        chunk = min(2 * chunk, _LARGEST_CHUNK)
    return len(points), lines


def _last_that_fits(points: Points, good: int, bad: int, lines: Lines) -> tuple[int, Lines]:
    """Halve the distance between a prefix that fits and a longer one that does not, to the point."""
    while bad - good > 1:
        middle = (good + bad) // 2
        kept = lines.keeping(points[good:middle])
        if kept.exist:
            lines, good = kept, middle
        else:
            bad = middle
    return good, lines
