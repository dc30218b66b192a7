"""Long loops: after a sample of trips, evenly moving values are moved on by many at once.

Counters of a window of trips are multiplied. The window is so long that a stream crosses whole sectors
within it: a trip for each four bytes of one, or for each byte where less is accessed. Where a trip runs
many blocks, as those of outer loops do, it is shorter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.observer import Recorder
from cltrace.kernels.counts.skippable_loops import Skippable
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.prepared_kernel import Prepared
from cltrace.kernels.execute.state import Frame, State
from cltrace.kernels.flow.uniformity import Unevenness

_LEADS: Final = ((6, 4), (60, 2), (1 << 62, 1))
"""By how many blocks a trip runs, at most: how many trips are run before the window."""
_SMALL_BYTES: Final = 4
"""Elements of loops that need no longer window than this takes."""
_SHORTER: Final = {2: 4, 1: 1}
"""The window of loops whose trips run many blocks, by their lead."""
_LONG: Final = {
    Unevenness.CONTROL: 4096,
    Unevenness.BEHIND: 1 << 15,
    Unevenness.ADDRESSES: 512,
    Unevenness.AROUND: 24,
}
"""Loops that are not even are run up to so many trips; longer ones are not counted exactly."""
_PATIENCE: Final = 512
"""After so many blocks half as many trips of them are run, after as many more a quarter, and so on."""


@dataclass(slots=True)
class _Progress:
    """How far lanes are in a loop: trips since a lane last left, and the counters when they began."""

    lanes: Lanes
    blocks: int
    """How many blocks were run in all when they began."""
    trip: int = 0
    lead: int = 0
    window: int = 0
    before: NDArray[np.float64] | None = None
    marks: tuple[int, ...] = ()


class Extrapolation:
    """Watches the headers of loops. `skipped` is by loop and group, of lanes."""

    def __init__(
        self,
        prepared: Prepared,
        loops: Mapping[int, Skippable],
        inexact: Mapping[int, Unevenness],
        state: State,
        recorder: Recorder,
        sector_bytes: int,
    ) -> None:
        """`inexact` says by header what is not even in a loop."""
        self._usual = sector_bytes // _SMALL_BYTES
        self._loops = loops
        self._inexact = inexact
        self._state = state
        self._recorder = recorder
        self._progress: dict[int, _Progress] = {}
        self.skipped: dict[int, float] = {}
        self.coarse: set[int] = set()
        """Headers of loops whose window was short: sectors may lie otherwise in other trips."""
        self._blocks = 0
        self._passing: set[int] = set()
        self._open: set[int] = set()
        self._prepared = prepared
        self._fine = {
            loop.header
            for loop in prepared.graph.loops
            if any(
                site.access_bytes < _SMALL_BYTES
                for site in prepared.sites
                if site.block in loop.blocks
            )
        }
        self._headers = {loop.header for loop in prepared.graph.loops}

    def at_header(self, block: int, frame: Frame, lanes: Lanes, *, entered: bool) -> None:
        """Lanes come to a header: count the trip, and move them on when enough of them were run."""
        self._blocks += 1
        if self._open:
            self._close_windows(block)
        if self._passing:
            self._see_who_left(block)
        if block not in self._headers:
            return
        if entered:
            self._recorder.enters(block, lanes)
        if block in self._loops:
            self._trip(block, frame, lanes, entered=entered)

    def _trip(self, block: int, frame: Frame, lanes: Lanes, *, entered: bool) -> None:
        """Lanes begin a trip of a loop that can be passed over."""
        progress = self._progress.get(block)
        if progress is None or entered or progress.lanes is not lanes:
            self._progress[block] = _Progress(lanes, self._blocks)
            return
        progress.trip += 1
        if progress.trip == 1:
            self._choose_window(block, progress)
        if progress.trip == progress.lead:
            self._begin_window(block, frame, progress)
        elif progress.before is not None and progress.trip == progress.lead + progress.window:
            self._skip(block, frame, lanes, progress)
            self._progress[block] = _Progress(lanes, self._blocks)

    def _begin_window(self, block: int, frame: Frame, progress: _Progress) -> None:
        left = self._loops[block].left(frame, progress.lanes, self._state)
        fewest = 2 * progress.window + 3
        if left >= max(fewest, self._most(block)):
            self._open.add(block)
            progress.before = self._recorder.counters.copy()
            progress.marks = tuple(self._recorder.mark())
        elif left >= fewest:
            progress.lead += progress.window  # patience may have run out by then

    def _close_windows(self, block: int) -> None:
        """A window holds what its loop does: one in which something else runs is given up."""
        for header in list(self._open):
            if block not in self._prepared.graph.loops[self._loops[header].number].blocks:
                self._progress[header].before = None
                self._open.discard(header)

    def _see_who_left(self, block: int) -> None:
        """Sectors count again once lanes have left the loops of which trips were skipped."""
        self._passing = {
            header
            for header in self._passing
            if block in self._prepared.graph.loops[self._loops[header].number].blocks
        }
        self._recorder.is_passing = bool(self._passing)

    def _choose_window(self, block: int, progress: _Progress) -> None:
        each = self._blocks - progress.blocks
        progress.lead = next(lead for most, lead in _LEADS if each <= most)
        usual = self._usual * (_SMALL_BYTES if block in self._fine else 1)
        progress.window = usual if each <= _LEADS[0][0] else _SHORTER[progress.lead]

    def _most(self, block: int) -> int:
        """How many trips of a loop are run for their own sake, because they are not alike."""
        uneven = self._inexact.get(block)
        return _LONG[uneven] >> (self._blocks // _PATIENCE) if uneven is not None else 0

    def _skip(self, header: int, frame: Frame, lanes: Lanes, progress: _Progress) -> None:
        loop = self._loops[header]
        left = loop.left(frame, lanes, self._state)
        windows = (left - 2) // progress.window
        if windows < 1 or progress.before is None:
            return
        trips = windows * progress.window
        uneven = loop.move(frame, lanes, self._state, trips)
        self._recorder.repeat(
            progress.before, progress.marks, float(windows), left / progress.window
        )
        self._passing.add(header)
        self._recorder.is_passing = True
        self.skipped[header] = self.skipped.get(header, 0.0) + trips * lanes.count
        if progress.window < self._usual or uneven:
            self.coarse.add(header)
