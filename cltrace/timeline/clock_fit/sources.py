"""Sources of observations and of points, which may be too many for the memory.

Observations are read part by part. All parts but the last have a multiple of `BLOCK_CALLS` of them.
Points are read in slices, in either direction.
"""

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

import numpy as np

from cltrace.timeline.clock_fit.points import ClockObservations, Points, TimeOrigin
from cltrace.timeline.columns import Float64s, Int64s
from cltrace.trace.scratch import Scratch, StoredRows
from cltrace.trace.sorted_runs import in_order, suffix_minima
from cltrace.trace.stored_columns import StoredColumns

BLOCK_CALLS: Final = 64
"""Enough calls to outvote a few wrong ones, and near each other in time in all but idle programs."""
_COLUMNS: Final = (
    *("enter_host_ns", "return_host_ns", "queued_device_ns", "start_device_ns", "end_device_ns"),
    "observed_host_ns",
)


class ObservationSource(Protocol):
    """Observations of a clock, ordered by `enter_host_ns`."""

    def __len__(self) -> int: ...

    def parts(self) -> Iterator[tuple[Int64s, ClockObservations]]:
        """Yield the observations, and the number of each in the whole source."""


class MemoryObservations:
    """Observations in memory."""

    def __init__(self, observations: ClockObservations) -> None:
        self._observations = observations

    def __len__(self) -> int:
        return len(self._observations)

    def parts(self) -> Iterator[tuple[Int64s, ClockObservations]]:
        """Yield all observations at once."""
        if len(self):
            yield np.arange(len(self)), self._observations


class StoredObservations:
    """Observations in scratch files, to which parts of any length are appended before they are read."""

    def __init__(self, scratch: Scratch) -> None:
        self.columns: Final = StoredColumns(scratch)
        self._pending: list[ClockObservations] = []
        self._count = 0
        self._part = max(scratch.part_rows // BLOCK_CALLS, 1) * BLOCK_CALLS

    def __len__(self) -> int:
        return self._count

    def append(self, observations: ClockObservations) -> None:
        """Append observations."""
        self._count += len(observations)
        self._pending.append(observations)
        while sum(map(len, self._pending)) >= self._part + BLOCK_CALLS:
            # The last block keeps the rest, so it has `BLOCK_CALLS` calls or more.
            whole = _join(self._pending)
            self._store(whole[np.arange(self._part)])
            self._pending = [whole[np.arange(self._part, len(whole))]]

    def parts(self) -> Iterator[tuple[Int64s, ClockObservations]]:
        """Yield the observations, part by part."""
        self._finish()
        first = 0
        for part in self.columns.parts():
            numbers = np.arange(first, first + len(part["position"]))
            first += len(numbers)
            yield numbers, ClockObservations(**part)

    def column_parts(self) -> Iterator[Int64s]:
        """Yield the parts of each column of observations, column by column."""
        self._finish()
        for name in _COLUMNS:
            for part in self.columns.parts([name]):
                yield part[name]

    def _finish(self) -> None:
        if any(map(len, self._pending)):
            self._store(_join(self._pending))
        self._pending = []

    def _store(self, part: ClockObservations) -> None:
        self.columns.append({name: getattr(part, name) for name in (*_COLUMNS, "position")})


def _join(parts: list[ClockObservations]) -> ClockObservations:
    names = (*_COLUMNS, "position")
    return ClockObservations(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    )


class PointSource(Protocol):
    """Points in the order of their times."""

    def __len__(self) -> int: ...

    def load(self, begin: int, end: int) -> Points:
        """Return the points from `begin` to `end`."""


class StoredPoints:
    """Points in a scratch file."""

    def __init__(self, rows: StoredRows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def load(self, begin: int, end: int) -> Points:
        """Return the points from `begin` to `end`."""
        rows = self._rows.read(begin, min(end, len(self)))
        lower, upper = (np.ascontiguousarray(rows[:, at]).view(np.float64) for at in (1, 2))
        return Points((rows[:, 0] >> 1).astype(np.float64), lower, upper, rows[:, 3])


def store_points(parts: "Iterable[Int64s]", minima: list[int], scratch: Scratch) -> StoredPoints:
    """Sort the rows of points (`point_rows`) that come nearly in order, and return them.

    `minima` are the lowest keys of the parts.
    """
    stored = StoredRows(scratch, 4)
    for rows in in_order(parts, suffix_minima(minima), scratch):
        stored.append(rows)
    return StoredPoints(stored)


class PointWriter:
    """Writer of points, in the order of their times."""

    def __init__(self, scratch: Scratch) -> None:
        self._rows = StoredRows(scratch, 4)

    def append(self, points: Points) -> None:
        """Append points."""
        key = 2 * points.time_ns.astype(np.int64)
        bounds = [
            np.ascontiguousarray(bound).view(np.int64)
            for bound in (points.lower_ns, points.upper_ns)
        ]
        self._rows.append(np.stack([key, *bounds, points.command], axis=1))

    @property
    def points(self) -> "PointSlice":
        """The points that were written."""
        return PointSlice(StoredPoints(self._rows), 0, len(self._rows))


class PointSlice:
    """Points from `begin` to `end` of a source, the last first if `is_reversed`."""

    def __init__(
        self, source: PointSource, begin: int, end: int, *, is_reversed: bool = False
    ) -> None:
        self._source = source
        self._begin, self._end = begin, max(begin, end)
        self._is_reversed = is_reversed

    def __len__(self) -> int:
        return self._end - self._begin

    def load(self, begin: int, end: int) -> Points:
        """Return the points from `begin` to `end` of the slice."""
        end = min(end, len(self))
        if self._is_reversed:
            return self._source.load(self._end - end, self._end - begin)[::-1]
        return self._source.load(self._begin + begin, self._begin + end)

    def slice(self, begin: int, end: int) -> "PointSlice":
        """Return a slice of the slice. It must not be reversed."""
        return PointSlice(self._source, self._begin + begin, min(self._begin + end, self._end))

    @property
    def reversed(self) -> "PointSlice":
        """The same points, the last first."""
        return PointSlice(self._source, self._begin, self._end, is_reversed=True)

    def time_ns(self, at: int) -> float:
        """Return the time of a point; that of the last for -1."""
        at = at + len(self) if at < 0 else at
        return float(self.load(at, at + 1).time_ns[0])

    def times(self, step: int, rows: int = 1 << 16) -> Float64s:
        """Return every `step`-th time."""
        # Copies, because a slice keeps the whole part in memory.
        parts = [
            self.load(begin, begin + rows).time_ns[-begin % step :: step].copy()
            for begin in range(0, len(self), rows)
        ]
        return np.concatenate([np.empty(0), *parts])

    def parts(self, rows: int = 1 << 16) -> Iterator[Points]:
        """Yield the points, part by part."""
        for begin in range(0, len(self), rows):
            yield self.load(begin, begin + rows)

    def count_before(self, time_ns: float, side: str = "left") -> int:
        """Return the number of points before a time; up to it for the side "right"."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            time = self.time_ns(middle)
            if time < time_ns or (side == "right" and time == time_ns):
                low = middle + 1
            else:
                high = middle
        return low


class SortedTimes:
    """Device times of all stages of commands, ascending, in a scratch file."""

    def __init__(
        self, parts: "Iterable[Int64s]", minima: list[int], scratch: Scratch, frame: TimeOrigin
    ) -> None:
        self._rows = StoredRows(scratch, 1)
        self._frame = frame
        for rows in in_order(parts, suffix_minima(minima), scratch):
            self._rows.append(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def at(self, number: int) -> float:
        """Return a time since the frame's origin; the last for -1."""
        number = number + len(self) if number < 0 else number
        return float(self._frame.times(self._rows.read(number, number + 1)[:, 0])[0])

    def count_before(self, time_ns: float, side: str = "left") -> int:
        """Return the number of times before a time; up to it for the side "right"."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            time = self.at(middle)
            if time < time_ns or (side == "right" and time == time_ns):
                low = middle + 1
            else:
                high = middle
        return low

    def every(self, begin: int, end: int, step: int, rows: int = 1 << 16) -> Float64s:
        """Return every `step`-th time from `begin` to `end`."""
        parts = [
            self._rows.read(at, min(at + rows, end))[(begin - at) % step :: step, 0].copy()
            for at in range(begin, end, rows)
        ]
        return self._frame.times(np.concatenate([np.empty(0, np.int64), *parts]))
