"""Extrapolation of long loops: after a sample of trips, lanes skip many trips.

Uniformly moving values are advanced by the skipped trips. The counters of a window of trips are
multiplied. A window is so long that a stream crosses whole sectors within it: one trip per four bytes
of a sector, or per byte where accesses are smaller. It is shorter if a trip runs many blocks, as in
outer loops.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.counts.observer import CountObserver, CountSnapshot
from cltrace.kernels.counts.skippable_loops import SkippableLoop
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.execute.state import ExecutionState, Frame
from cltrace.kernels.flow.uniformity import NonUniformity

_LEAD_TRIPS: Final = ((6, 4), (60, 2), (1 << 62, 1))
"""Pairs of an upper limit on the blocks per trip and the trips run before the window."""
_SMALL_BYTES: Final = 4
"""Element size for which the usual window suffices."""
_SHORT_WINDOWS: Final = {2: 4, 1: 1}
"""Windows in trips of loops whose trips run many blocks, by their lead."""
_MAX_NON_UNIFORM_TRIPS: Final = {
    NonUniformity.CONTROL: 4096,
    NonUniformity.LIVE_OUT: 1 << 15,
    NonUniformity.ADDRESSES: 512,
    NonUniformity.ENCLOSING_LOOP: 24,
}
"""Trips up to which a non-uniform loop is run in full. Longer loops are not counted exactly."""
_BLOCKS_PER_HALVING: Final = 512
"""Number of executed blocks that halves the trips of `_MAX_NON_UNIFORM_TRIPS` each time."""


@dataclass(slots=True, kw_only=True)
class _Progress:
    """Progress of lanes in a loop: trips since a lane last left, and the counts at their start."""

    lanes: Lanes
    blocks: int
    """Number of blocks executed in total when the lanes began."""
    trip: int = 0
    lead: int = 0
    window: int = 0
    before: CountSnapshot | None = None


class LoopExtrapolation:
    """A loop hook that skips trips. `skipped` is the number of skipped lane trips per loop header."""

    def __init__(
        self,
        sliced_kernel: PreparedKernel,
        loops: Mapping[int, SkippableLoop],
        non_uniform: Mapping[int, NonUniformity],
        state: ExecutionState,
        observer: CountObserver,
        sector_bytes: int,
    ) -> None:
        """`non_uniform` has the reason per header of a non-uniform loop."""
        self._usual_window = sector_bytes // _SMALL_BYTES
        self._loops = loops
        self._non_uniform = non_uniform
        self._state = state
        self._observer = observer
        self._progress: dict[int, _Progress] = {}
        self.skipped: dict[int, float] = {}
        self.coarse: set[int] = set()
        """Headers of loops with a short window, whose other trips may touch sectors differently."""
        self._blocks = 0
        self._loops_with_skips: set[int] = set()
        self._open_windows: set[int] = set()
        self._prepared = sliced_kernel
        self._fine_loops = {
            loop.header
            for loop in sliced_kernel.graph.loops
            if any(
                site.access_bytes < _SMALL_BYTES
                for site in sliced_kernel.sites
                if site.block in loop.blocks
            )
        }
        self._headers = {loop.header for loop in sliced_kernel.graph.loops}

    def at_header(self, block: int, frame: Frame, lanes: Lanes, *, entered: bool) -> None:
        """Count a trip, and skip trips after enough of them have run."""
        self._blocks += 1
        if self._open_windows:
            self._close_windows(block)
        if self._loops_with_skips:
            self._resume_sectors(block)
        if block not in self._headers:
            return
        if entered:
            self._observer.on_loop_entry(block, lanes)
        if block in self._loops:
            self._begin_trip(block, frame, lanes, entered=entered)

    def _begin_trip(self, block: int, frame: Frame, lanes: Lanes, *, entered: bool) -> None:
        """Begin a trip of a skippable loop."""
        progress = self._progress.get(block)
        if progress is None or entered or progress.lanes is not lanes:
            self._progress[block] = _Progress(lanes=lanes, blocks=self._blocks)
            return
        progress.trip += 1
        if progress.trip == 1:
            self._choose_window(block, progress)
        if progress.trip == progress.lead:
            self._begin_window(block, frame, progress)
        elif progress.before is not None and progress.trip == progress.lead + progress.window:
            self._skip(block, frame, lanes, progress)
            self._progress[block] = _Progress(lanes=lanes, blocks=self._blocks)

    def _begin_window(self, block: int, frame: Frame, progress: _Progress) -> None:
        left = self._loops[block].trips_left(frame, progress.lanes, self._state)
        min_left = 2 * progress.window + 3
        if left >= max(min_left, self._min_trips(block)):
            self._open_windows.add(block)
            progress.before = self._observer.snapshot()
        elif left >= min_left:
            progress.lead += progress.window  # `_min_trips` may have become smaller by then

    def _close_windows(self, block: int) -> None:
        """Drop the windows of loops that lanes have left: a window covers only its loop."""
        for header in list(self._open_windows):
            if block not in self._prepared.graph.loops[self._loops[header].number].blocks:
                self._progress[header].before = None
                self._open_windows.discard(header)

    def _resume_sectors(self, block: int) -> None:
        """Resume the recording of sectors after lanes have left the loops with skipped trips."""
        self._loops_with_skips = {
            header
            for header in self._loops_with_skips
            if block in self._prepared.graph.loops[self._loops[header].number].blocks
        }
        self._observer.ignores_sectors = bool(self._loops_with_skips)

    def _choose_window(self, block: int, progress: _Progress) -> None:
        blocks_per_trip = self._blocks - progress.blocks
        progress.lead = next(
            lead for max_blocks, lead in _LEAD_TRIPS if blocks_per_trip <= max_blocks
        )
        window = self._usual_window * (_SMALL_BYTES if block in self._fine_loops else 1)
        progress.window = (
            window if blocks_per_trip <= _LEAD_TRIPS[0][0] else _SHORT_WINDOWS[progress.lead]
        )

    def _min_trips(self, block: int) -> int:
        """Return the number of trips that are run because they are not uniform."""
        reason = self._non_uniform.get(block)
        return (
            _MAX_NON_UNIFORM_TRIPS[reason] >> (self._blocks // _BLOCKS_PER_HALVING)
            if reason is not None
            else 0
        )

    def _skip(self, header: int, frame: Frame, lanes: Lanes, progress: _Progress) -> None:
        loop = self._loops[header]
        left = loop.trips_left(frame, lanes, self._state)
        windows = (left - 2) // progress.window
        if windows < 1 or progress.before is None:
            return
        trips = windows * progress.window
        is_divergent = loop.skip_trips(frame, lanes, self._state, trips)
        self._observer.scale_since(progress.before, float(windows), left / progress.window)
        self._loops_with_skips.add(header)
        self._observer.ignores_sectors = True
        self.skipped[header] = self.skipped.get(header, 0.0) + trips * lanes.count
        if progress.window < self._usual_window or is_divergent:
            self.coarse.add(header)
