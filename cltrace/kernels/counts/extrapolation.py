"""Long loops: after a sample of trips, evenly moving values are moved on by many at once.

Counters of a window of trips are multiplied. The window is so long that a stream crosses whole sectors
within it: 8 trips, or 32 where single bytes are accessed. Where a trip runs many blocks, as those of
outer loops do, it is shorter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.recorder import Recorder
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.lowering import lower
from cltrace.kernels.execute.prepared import Prepared
from cltrace.kernels.execute.sites import SiteTable
from cltrace.kernels.execute.state import Frame, State, Step
from cltrace.kernels.flow.canonical import CanonicalLoop
from cltrace.kernels.flow.evenness import Unevenness
from cltrace.kernels.values import Value

_LEADS: Final = ((6, 4), (60, 2), (1 << 62, 1))
"""By how many blocks a trip runs, at most: how many trips are run before the window."""
_FINE: Final = 32
_USUAL: Final = 8
_SMALL_BYTES: Final = 4
_SHORTER: Final = {2: 4, 1: 1}
"""The window of loops whose trips run many blocks, by their lead."""
_LONG: Final = {Unevenness.CONTROL: 4096, Unevenness.ADDRESSES: 512, Unevenness.AROUND: 24}
"""Loops that are not even are run up to so many trips; longer ones are not counted exactly."""


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
    """Watches the headers of canonical loops. `trips_skipped` is by loop and group, of lanes."""

    def __init__(
        self,
        prepared: Prepared,
        loops: Mapping[int, CanonicalLoop],
        inexact: Mapping[int, Unevenness],
        state: State,
        recorder: Recorder,
    ) -> None:
        """`inexact` says by header what is not even in a loop."""
        self._loops = loops
        self._inexact = inexact
        self._state = state
        self._recorder = recorder
        self._steps = {header: _lowered(loop) for header, loop in loops.items()}
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
            self._trip(self._loops[block], frame, lanes, entered=entered)

    def _trip(self, loop: CanonicalLoop, frame: Frame, lanes: Lanes, *, entered: bool) -> None:
        """Lanes begin a trip of a canonical loop."""
        block = loop.header
        progress = self._progress.get(block)
        if progress is None or entered or progress.lanes is not lanes:
            self._progress[block] = _Progress(lanes, self._blocks)
            return
        progress.trip += 1
        if progress.trip == 1:
            self._choose_window(block, progress)
        if progress.trip == progress.lead:
            self._begin_window(loop, frame, progress)
        elif progress.trip == progress.lead + progress.window and progress.before is not None:
            self._skip(loop, frame, lanes, progress)
            self._progress[block] = _Progress(lanes, self._blocks)

    def _begin_window(self, loop: CanonicalLoop, frame: Frame, progress: _Progress) -> None:
        if self._remaining(loop, frame, progress.lanes) >= self._fewest(loop.header, progress):
            self._open.add(loop.header)
            progress.before = self._recorder.counters.copy()
            progress.marks = tuple(self._recorder.mark())

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
        usual = _FINE if block in self._fine else _USUAL
        progress.window = usual if each <= _LEADS[0][0] else _SHORTER[progress.lead]

    def _fewest(self, block: int, progress: _Progress) -> int:
        """How many trips have to be left for it to be worth while."""
        uneven = self._inexact.get(block)
        return _LONG[uneven] if uneven is not None else 2 * progress.window + 3

    def _skip(self, loop: CanonicalLoop, frame: Frame, lanes: Lanes, progress: _Progress) -> None:
        left = self._remaining(loop, frame, lanes)
        windows = (left - 2) // progress.window
        if windows < 1 or progress.before is None:
            return
        trips = windows * progress.window
        moved = self._advanced(loop, frame, lanes)
        self._recorder.repeat(
            progress.before, progress.marks, float(windows), left / progress.window
        )
        self._passing.add(loop.header)
        self._recorder.is_passing = True
        for slot, step in moved.items():
            frame[slot] = frame[slot] + step * np.int64(trips).astype(step.dtype)
        self.skipped[loop.header] = self.skipped.get(loop.header, 0.0) + trips * lanes.count
        uneven = any(
            type(step) is np.ndarray and (step != step[0]).any() for step in moved.values()
        )
        if progress.window < _USUAL or uneven:
            self.coarse.add(loop.header)

    def _computed(self, loop: CanonicalLoop, frame: Frame, lanes: Lanes) -> Frame:
        """A copy of the frame with what one trip makes of it."""
        scratch = list(frame)
        for step in self._steps[loop.header]:
            step(scratch, lanes, self._state)
        return scratch

    def _advanced(self, loop: CanonicalLoop, frame: Frame, lanes: Lanes) -> dict[int, Value]:
        """By how much each affine value moves in a trip."""
        after = self._computed(loop, frame, lanes)
        return {slot: after[following] - frame[slot] for slot, following in loop.affine}

    def _remaining(self, loop: CanonicalLoop, frame: Frame, lanes: Lanes) -> int:
        """How many trips are left for the lane that leaves first."""
        now = self._computed(loop, frame, lanes)
        ahead = list(frame)
        for slot, following in loop.affine:
            ahead[slot] = now[following]
        then = self._computed(loop, ahead, lanes)
        return remaining_trips(loop, now, then)


def _lowered(loop: CanonicalLoop) -> list[Step]:
    table = SiteTable(0, {})
    steps = [lower(instruction, loop.header, table) for instruction in loop.computing]
    return [step for step in steps if step is not None]


def remaining_trips(loop: CanonicalLoop, now: Frame, then: Frame) -> int:
    """The trips until the comparison changes, from its operands in this trip and in the next.

    0 where that cannot be told, such as near the end of a type's range.
    """
    comparison = loop.comparison
    unsigned = comparison.predicate[0] == "u"
    left, right = (_whole(now[slot], unsigned) for slot in (comparison.left, comparison.right))
    left_next, right_next = (
        _whole(then[slot], unsigned) for slot in (comparison.left, comparison.right)
    )
    gap = left - right
    step = (left_next - right_next) - gap
    predicate = comparison.predicate[-2:]
    if not loop.continues:
        predicate = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}[
            predicate
        ]
    trips = _trips(predicate, gap, step)
    most = float(np.min(trips))
    return int(most) if np.isfinite(most) and most > 0 else 0


def _whole(value: Value, unsigned: bool) -> NDArray[np.float64]:  # noqa: FBT001 - how it is read
    """An integer as a number that does not wrap.

    Beyond 2**53 the last bits are lost, which is safe: a margin of two trips is kept.
    """
    array = np.asarray(value)
    if unsigned and array.dtype.kind == "i":
        array = array.view(f"u{array.dtype.itemsize}")
    return array.astype(np.float64)


def _trips(
    predicate: str, gap: NDArray[np.float64], step: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How often `gap`, moving by `step`, still satisfies a predicate against zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if predicate in {"lt", "le"}:
            found = np.where((gap < 0) & (step > 0), np.floor(-gap / step), 0.0)
        elif predicate in {"gt", "ge"}:
            found = np.where((gap > 0) & (step < 0), np.floor(gap / -step), 0.0)
        elif predicate == "ne":
            exact = -gap / step
            found = np.where((step != 0) & (exact > 0) & (exact == np.floor(exact)), exact, 0.0)
        else:
            found = np.zeros(np.broadcast(gap, step).shape)
    return found
