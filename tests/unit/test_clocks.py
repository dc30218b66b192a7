"""Device time on the host's clock: the bound holds, and what contradicts is never called proven."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cltrace.events.kinds import ClockState, StampFault
from cltrace.timeline.clock_fit.points import ClockObservations
from cltrace.timeline.clock_map import ClockMap
from cltrace.timeline.clocks import FittedClock, fit_clock
from cltrace.timeline.columns import NEVER, Float64s, Int64s

PROBE = Path(__file__).parents[1] / "data" / "h200-clock-probe.npz"
ZERO_NS = 1_795_269_985_832_608_800
Clock = Callable[[Float64s], Float64s]
"""From seconds of true time to the ns by which a device's clock is ahead then."""


class World:
    """A made-up device whose clock is known, and a program that uses it for some seconds."""

    def __init__(self, seed: int, *, seconds: float = 4.0, clock: Clock = np.zeros_like) -> None:
        chance = np.random.default_rng(seed)
        pause = chance.exponential(2e5, int(seconds * 4000)) + 20_000
        enter = 10**12 + np.cumsum(pause).astype(np.int64)
        self.enter = enter[enter < 10**12 + seconds * 1e9]
        count = len(self.enter)
        queued = self.enter + 500 + chance.exponential(1500, count).astype(np.int64)
        self.returned = queued + 700 + chance.exponential(2000, count).astype(np.int64)
        self.start = queued + 2000 + chance.exponential(3000, count).astype(np.int64)
        end = self.start + chance.exponential(8000, count).astype(np.int64)
        seen = (
            np.maximum(end, self.returned) + 900 + chance.exponential(5000, count).astype(np.int64)
        )
        self.observed = np.where(chance.random(count) < 0.6, seen, NEVER)
        self._clock = clock
        self.stamps = {
            "queued": self.device(queued),
            "start": self.device(self.start),
            "end": self.device(end),
        }

    def device(self, host_ns: Int64s) -> Int64s:
        """What the device's clock shows at these times."""
        ahead = self._clock((host_ns - 10**12) / 1e9)
        shown: Int64s = host_ns - 10**12 + ZERO_NS + ahead.round().astype(np.int64)
        return shown

    def observations(self) -> ClockObservations:
        return ClockObservations(
            enter_host_ns=self.enter,
            return_host_ns=self.returned,
            queued_device_ns=self.stamps["queued"],
            start_device_ns=self.stamps["start"],
            end_device_ns=self.stamps["end"],
            observed_host_ns=self.observed,
            position=np.arange(len(self.enter)),
        )

    def fit(self, *, unusable: int = 0) -> FittedClock:
        return fit_clock(self.observations(), device_id=1, unusable=unusable)

    def hold_up(self, share: float, chance: np.random.Generator) -> None:
        """Let calls last milliseconds, before or after they queue: their threads were not scheduled."""
        count = len(self.enter)
        early, late = (
            np.where(chance.random(count) < share, chance.integers(10**5, 10**7, count), 0)
            for _ in range(2)
        )
        later = np.cumsum(early + late)
        before = later - late - early
        self.enter = self.enter + before
        self.returned = self.returned + later
        for times in (self.start, *self.stamps.values()):
            times += before + early
        seen = self.observed != NEVER
        self.observed[seen] += later[seen]

    def shift(self, first: int, last: int, ns: int) -> None:
        """Move the stamps of some commands."""
        for stamps in self.stamps.values():
            stamps[first:last] += ns


def outside(world: World, fitted: FittedClock) -> tuple[int, float]:
    """How many true starts are outside of a proven bound, and what share is proven."""
    placed = ClockMap(fitted.segments)
    stamps = world.stamps["start"]
    off = np.abs(placed.host_ns(stamps, world.enter) - world.start)
    proven = placed.is_proven(stamps, world.enter)
    bound = placed.bound_ns(stamps, world.enter)
    return int((off > bound)[proven].sum()), float(proven.mean())


def states(fitted: FittedClock) -> set[ClockState]:
    return {one.state for one in fitted.segments}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(-200, 200))
def test_a_constant_drift_is_followed_and_proven(seed: int, ppm: float) -> None:
    world = World(seed, clock=lambda second: second * ppm * 1e3)
    fitted = world.fit()
    assert outside(world, fitted) == (0, 1.0)
    (segment,) = fitted.segments
    assert segment.state is ClockState.PROVEN
    assert segment.bound_ns < 4000
    assert segment.half_width_ns <= segment.bound_ns
    assert segment.drift == pytest.approx(-ppm * 1e-6, abs=2e-6)
    assert not fitted.faults.any()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(30, 200), st.floats(-200, 0), st.floats(1.0, 3.0))
def test_a_change_of_drift_makes_pieces_whose_bounds_hold(
    seed: int, first: float, second: float, change: float
) -> None:
    def clock(time: Float64s) -> Float64s:
        late = np.maximum(time - change, 0)
        ahead: Float64s = (time - late) * first * 1e3 + late * second * 1e3
        return ahead

    world = World(seed, clock=clock)
    fitted = world.fit()
    missed, proven = outside(world, fitted)
    assert missed == 0
    assert proven > 0.8
    found = [one.drift * 1e6 for one in fitted.segments if one.is_straight]
    for ppm in (-first, -second):
        assert min(abs(drift - ppm) for drift in found) < 6


HIDDEN_NS = 600
"""Swings of no more than the room that bounds leave look like a line that keeps them all."""


@example(0, 6.0, 0.5)
@example(0, 7.0, 0.5)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(5, 200), st.floats(0.5, 20))
def test_a_drift_that_never_rests_is_not_called_proven_wrongly(
    seed: int, ppm: float, period: float
) -> None:
    def clock(time: Float64s) -> Float64s:
        swing: Float64s = ppm * 1e3 * period / (2 * np.pi) * np.sin(2 * np.pi * time / period)
        return swing

    world = World(seed, clock=clock)
    fitted = world.fit()
    if ppm * 1e3 * period / (2 * np.pi) > HIDDEN_NS:
        assert outside(world, fitted)[0] <= 0.001 * len(world.enter)
    else:
        assert outside(world, fitted)[0] == 0


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.floats(0.1, 0.9),
    st.sampled_from([10**4, -(10**4), 10**6, -(10**6), 10**9, -(2**32), 10**15]),
)
def test_a_step_or_a_wrap_is_not_proven(seed: int, where: float, step_ns: int) -> None:
    world = World(seed)
    at = int(where * len(world.enter))
    world.shift(at, len(world.enter), step_ns)
    assert ClockState.PROVEN not in states(world.fit())


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sets(st.integers(0, 3000), min_size=1, max_size=40),
    st.sampled_from([50_000, -50_000, 10**7, -(10**7), 10**13, -(10**13)]),
)
def test_stamps_of_another_clock_are_rejected_and_named(
    seed: int, which: set[int], off_ns: int
) -> None:
    world = World(seed)
    chosen = [one for one in which if one < len(world.enter)]
    for one in chosen:
        world.shift(one, one + 1, off_ns)
    fitted = world.fit()
    assert ClockState.PROVEN not in states(fitted)
    assert all(fitted.faults[chosen])
    others = np.ones(len(world.enter), np.bool_)
    others[chosen] = False
    placed = ClockMap(fitted.segments)
    off = np.abs(placed.host_ns(world.stamps["start"], world.enter) - world.start)[others]
    assert (off <= placed.bound_ns(world.stamps["start"], world.enter)[others]).mean() > 0.95


def test_stamps_that_follow_nothing_are_unaligned() -> None:
    world = World(1)
    chance = np.random.default_rng(1)
    for stamps in world.stamps.values():
        stamps[:] = chance.integers(1, 2**60, len(stamps))
    fitted = world.fit()
    assert states(fitted) == {ClockState.UNALIGNED}
    assert fitted.faults.all()
    assert (ClockMap(fitted.segments).host_ns(world.stamps["start"], world.enter) == NEVER).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 200), st.floats(0.2, 1.0))
def test_calls_that_were_held_up_leave_nothing_foreign(
    seed: int, commands: int, share: float
) -> None:
    world = World(seed, seconds=0.1)
    world.hold_up(share, np.random.default_rng(seed))
    fitted = fit_clock(world.observations()[np.arange(commands)], device_id=1)
    assert not fitted.faults.any()
    assert states(fitted) == {ClockState.PROVEN}
    placed = ClockMap(fitted.segments)
    start = world.stamps["start"][:commands]
    off = np.abs(placed.host_ns(start, world.enter[:commands]) - world.start[:commands])
    assert (off <= placed.bound_ns(start, world.enter[:commands])).all()


def test_a_queued_stamp_of_another_clock_is_left_out() -> None:
    world = World(2)
    world.stamps["queued"] -= 10**10
    fitted = world.fit()
    assert states(fitted) == {ClockState.CONDITIONAL}
    assert "QUEUED is of another clock" in fitted.segments[0].reason
    placed = ClockMap(fitted.segments)
    off = np.abs(placed.host_ns(world.stamps["start"], world.enter) - world.start)
    assert (off <= placed.bound_ns(world.stamps["start"], world.enter)).all()


def test_commands_with_unusable_stamps_leave_nothing_proven() -> None:
    assert states(World(3).fit(unusable=1)) == {ClockState.CONDITIONAL}


def test_one_command_is_enough_for_a_map() -> None:
    world = World(4)
    fitted = fit_clock(world.observations()[np.array([0])], device_id=1)
    (segment,) = fitted.segments
    assert segment.state is ClockState.PROVEN
    assert segment.half_width_ns < 10_000


def test_no_command_is_unaligned() -> None:
    none = World(4).observations()[np.array([], np.int64)]
    (segment,) = fit_clock(none, device_id=1).segments
    assert segment.state is ClockState.UNALIGNED


def probe() -> ClockObservations:
    rows = np.load(PROBE)["rows"]
    enter, returned, observed, queued, _, start, end = (rows[:, at].copy() for at in range(7))
    return ClockObservations(
        enter_host_ns=enter,
        return_host_ns=returned,
        queued_device_ns=queued,
        start_device_ns=start,
        end_device_ns=end,
        observed_host_ns=observed,
        position=np.arange(len(rows)),
    )


def test_the_recorded_h200_is_proven_to_two_microseconds_over_forty_seconds() -> None:
    seen = probe()
    (segment,) = fit_clock(seen, device_id=1, quantum_ns=32).segments
    assert segment.state is ClockState.PROVEN
    assert segment.half_width_ns <= 2200
    assert segment.bound_ns <= 5000
    assert segment.drift * 1e6 == pytest.approx(0.41, abs=0.1)
    assert segment.observations == 2 * len(seen)


def test_the_map_of_the_recorded_h200_keeps_every_bound() -> None:
    seen = probe()
    placed = ClockMap(fit_clock(seen, device_id=1, quantum_ns=32).segments)
    queued = placed.host_ns(seen.queued_device_ns, seen.enter_host_ns)
    end = placed.host_ns(seen.end_device_ns, seen.enter_host_ns)
    assert (queued >= seen.enter_host_ns - 33).all()
    assert (queued <= seen.return_host_ns + 33).all()
    assert (end <= seen.observed_host_ns + 33).all()


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("early", StampFault.BEFORE_ENQUEUE),
        ("late", StampFault.AFTER_RETURN | StampFault.AFTER_COMPLETION),
    ],
)
def test_a_contradiction_says_what_it_contradicts(kind: str, fault: StampFault) -> None:
    world = World(5)
    world.shift(500, 501, -40_000 if kind == "early" else 40_000)
    assert world.fit().faults[500] & int(fault)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(-200, 200), st.booleans())
def test_what_runs_long_after_the_last_bound_is_within_its_bound(
    seed: int, ppm: float, is_awaited: bool
) -> None:
    """A queue that is filled in a moment and works for seconds, awaited at its end or by nobody."""
    world = World(seed, seconds=0.05, clock=lambda second: second * ppm * 1e3)
    count = len(world.enter)
    start = world.enter[0] + 10_000 + np.arange(count) * 20_000_000
    world.start = start
    world.stamps["start"], world.stamps["end"] = world.device(start), world.device(start + 10**7)
    world.observed = np.full(count, NEVER)
    if is_awaited:
        world.observed[:] = start[-1] + 10**7 + 20_000
    fitted = world.fit()
    assert states(fitted) == {ClockState.PROVEN}
    assert outside(world, fitted) == (0, 1.0)
    assert fitted.segments[-1].bound_ns > 10 * fitted.segments[0].half_width_ns
