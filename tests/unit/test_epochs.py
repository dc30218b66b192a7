"""Epochs: what one counter cannot have done is told apart, and what it can have done is not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cltrace.timeline.clock_fit.epochs import Epochs, find_epochs
from cltrace.timeline.clock_fit.points import ClockObservations
from cltrace.timeline.columns import NEVER, Int64s

MS, S = 10**6, 10**9
BLOCK = 64
"""The module's block: what is told of steps and of foreign stamps depends on how many are in one."""


def calls(
    count: int,
    *,
    period_ns: int = 10 * MS,
    width_ns: Int64s | int = 3000,
    shift_ns: Int64s | int = 0,
) -> ClockObservations:
    """Calls that queue their commands a microsecond after their entry, with stamps that are shifted."""
    enter = 10**12 + np.arange(count, dtype=np.int64) * period_ns
    queued = enter + 1000
    shifted = queued + np.broadcast_to(shift_ns, count)
    return ClockObservations(
        enter_host_ns=enter,
        return_host_ns=enter + np.broadcast_to(width_ns, count),
        queued_device_ns=shifted,
        start_device_ns=shifted + 1000,
        end_device_ns=shifted + 2000,
        observed_host_ns=np.full(count, NEVER),
        position=np.arange(count),
    )


def sizes(found: Epochs) -> list[int]:
    """How many calls each epoch has, in their order; each is one stretch of calls."""
    assert (np.diff(found.epoch) >= 0).all()
    return [int(one) for one in np.bincount(found.epoch, minlength=found.count)]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2 * BLOCK, 600),
    st.floats(0, 1),
    st.sampled_from([-S, S, 5 * MS, -5 * MS, MS, -MS, 2**32, -(2**40)]),
)
def test_a_step_is_found_to_the_call(count: int, where: float, step_ns: int) -> None:
    at = BLOCK + round(where * (count - 2 * BLOCK))
    shift_ns = np.where(np.arange(count) >= at, step_ns, 0)
    found = find_epochs(calls(count, period_ns=MS, shift_ns=shift_ns))
    assert sizes(found) == [at, count - at]
    assert not found.is_foreign.any()


def test_a_step_within_the_tolerance_is_left_to_the_exact_fit() -> None:
    found = find_epochs(
        calls(200, period_ns=1000, shift_ns=np.where(np.arange(200) < 128, 0, 80_000))
    )
    assert sizes(found) == [200]
    assert not found.is_foreign.any()


@pytest.mark.parametrize("drift_ns", [900_000, -900_000])
@pytest.mark.parametrize("step_ns", [S, -S])
def test_a_step_of_a_clock_that_drifts_between_few_calls_is_found_to_the_call(
    drift_ns: int, step_ns: int
) -> None:
    """The step goes back to what the clock showed a thousand calls before."""
    number = np.arange(2400)
    shift_ns = number * drift_ns + np.where(number >= 1500, step_ns, 0)
    assert sizes(find_epochs(calls(2400, period_ns=S, shift_ns=shift_ns))) == [1500, 900]


@pytest.mark.parametrize("step_ns", [5 * MS, -5 * MS, S, -S])
@pytest.mark.parametrize("at", [2 * BLOCK, 3 * BLOCK, 4 * BLOCK, 3 * BLOCK + 20])
def test_blocks_of_calls_that_waited_are_of_the_epoch_in_which_they_queued(
    step_ns: int, at: int
) -> None:
    """They allow both epochs, before and after them; and a call that queues late is less likely."""
    number = np.arange(6 * BLOCK)
    waited = (number >= 2 * BLOCK) & (number < 4 * BLOCK)
    found = find_epochs(
        calls(
            len(number),
            width_ns=np.where(waited, 2 * S, 3000),
            shift_ns=np.where(number >= at, step_ns, 0),
        )
    )
    assert sizes(found) == [at, len(number) - at]
    assert not found.is_foreign.any()


@pytest.mark.parametrize("which", [70, 100, 127, 130, 140])
def test_one_call_that_waited_beside_a_step_moves_no_other(which: int) -> None:
    number = np.arange(3 * BLOCK)
    found = find_epochs(
        calls(
            len(number),
            width_ns=np.where(number == which, 100 * MS, 3000),
            shift_ns=np.where(number >= 2 * BLOCK, -10 * MS, 0),
        )
    )
    assert sizes(found) == [2 * BLOCK, BLOCK]


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, BLOCK - 1),
    st.integers(1, 14),
    st.sampled_from([5 * MS, -5 * MS]),
    st.sampled_from([0, 2, 4]),
)
@example(0, BLOCK - 1, 1, -5 * MS, 0)
@example(0, BLOCK - 1, 1, -5 * MS, 2)
def test_foreign_stamps_among_calls_that_waited_are_found_where_most_are_right(
    seed: int, waited: int, foreign: int, off_ns: int, block: int
) -> None:
    """Those that allow both times count less for the wrong one, at which they are late."""
    assume(waited + foreign <= BLOCK)
    assume(BLOCK - foreign > foreign + 0.75 * waited)
    number = np.random.default_rng(seed).permutation(BLOCK) + block * BLOCK
    width, shift = np.full(5 * BLOCK, 3000), np.zeros(5 * BLOCK, np.int64)
    width[number[:waited]] = 9 * MS
    shift[number[waited : waited + foreign]] = off_ns
    found = find_epochs(calls(5 * BLOCK, width_ns=width, shift_ns=shift))
    assert found.count == 1
    assert np.flatnonzero(found.is_foreign).tolist() == sorted(number[waited : waited + foreign])


def test_a_foreign_stamp_among_calls_that_were_held_up_is_told_by_the_block_after_them() -> None:
    number = np.arange(2 * BLOCK)
    seen = calls(len(number), shift_ns=np.where(number == 20, 5 * MS, 0))
    is_held = (number < BLOCK) & (number != 20)
    held = replace(seen, enter_host_ns=seen.enter_host_ns - np.where(is_held, 9 * MS, 0))
    found = find_epochs(held)
    assert sizes(found) == [len(number)]
    assert np.flatnonzero(found.is_foreign).tolist() == [20]


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 300),
    st.floats(0, 1),
    st.integers(-500, 500),
    st.sampled_from([MS, S, 20 * S]),
    st.booleans(),
)
def test_right_stamps_of_a_clock_that_drifts_are_one_epoch_however_long_calls_are(
    seed: int, count: int, share: float, ppm: int, longest_ns: int, has_one_thread: bool
) -> None:
    """Before they queue, as where a kernel is built first, or after, as where a call waits."""
    chance = np.random.default_rng(seed)
    early, late = (
        np.where(chance.random(count) < share, chance.integers(1, longest_ns, count), 1000)
        for _ in range(2)
    )
    gap = np.where(chance.random(count) < 0.02, 600 * S, chance.integers(1, 10 * MS, count))
    enter = 10**12 + np.cumsum(gap)
    if has_one_thread:
        enter += np.concatenate([[0], np.cumsum(early + late)[:-1]])
    queued = enter + early
    seen = replace(
        calls(count),
        enter_host_ns=enter,
        return_host_ns=queued + late,
        queued_device_ns=queued + (queued - 10**12) * ppm // 10**6,
    )
    found = find_epochs(seen)
    assert sizes(found) == [count]
    assert not found.is_foreign.any()


def test_a_step_among_many_blocks_of_calls_that_waited_is_found_to_the_call() -> None:
    number = np.arange(44 * BLOCK)
    waited = (number >= 2 * BLOCK) & (number < 42 * BLOCK)
    seen = calls(
        len(number),
        period_ns=60_000,
        width_ns=np.where(waited, 50 * MS, 3000),
        shift_ns=np.where(number >= 22 * BLOCK, MS, 0),
    )
    assert sizes(find_epochs(seen)) == [22 * BLOCK, 22 * BLOCK]


def test_garbage_is_told_by_the_blocks_beside_it_unless_most_is() -> None:
    number = np.arange(5 * BLOCK)
    chance = np.random.default_rng(1)
    garbage = chance.integers(S, 10**6 * S, len(number))
    is_garbage = (number // BLOCK == 1) & (number % 2 == 0)
    found = find_epochs(calls(len(number), shift_ns=np.where(is_garbage, garbage, 0)))
    assert found.count == 1
    assert (found.is_foreign == is_garbage).all()
    is_most = (number // BLOCK != 2) & (number % 3 != 0)
    none = find_epochs(calls(len(number), shift_ns=np.where(is_most, garbage, 0)))
    assert none.count == 0
    assert none.is_foreign.all()


def test_of_two_times_that_of_most_is_right_and_without_most_none() -> None:
    found = find_epochs(calls(3, shift_ns=np.array([0, 0, S])))
    assert (found.count, found.is_foreign.tolist()) == (1, [False, False, True])
    assert find_epochs(calls(2, shift_ns=np.array([0, S]))).count == 0


@pytest.mark.parametrize("ppm", [200, -200, 900])
def test_a_clock_that_drifts_between_few_calls_is_one(ppm: int) -> None:
    number = np.arange(300)
    found = find_epochs(calls(300, period_ns=60 * S, shift_ns=number * 60 * ppm * 1000))
    assert sizes(found) == [300]
    assert not found.is_foreign.any()


def test_what_is_farther_than_the_tolerance_is_foreign_and_what_is_nearer_is_not() -> None:
    for off_ns, is_foreign in (
        (80_000, False),
        (-80_000, False),
        (130_000, True),
        (-130_000, True),
    ):
        shift = np.where(np.arange(200) == 70, off_ns, 0)
        found = find_epochs(calls(200, period_ns=MS // 10, shift_ns=shift))
        assert found.is_foreign.tolist() == [is_foreign and at == 70 for at in range(200)]


def test_stamps_that_move_in_coarse_steps_are_not_foreign() -> None:
    step_ns = 5 * MS
    seen = calls(300, period_ns=7 * MS // 3)
    coarse = replace(seen, queued_device_ns=seen.queued_device_ns // step_ns * step_ns)
    found = find_epochs(coarse, step_ns)
    assert sizes(found) == [300]
    assert not found.is_foreign.any()
    assert find_epochs(coarse).count == 0


@pytest.mark.parametrize("queued", [-(2**63), -(2**63) + 100, 2**63 - 1, -(2**62), 0])
def test_stamps_at_the_ends_of_their_range_have_epochs(queued: int) -> None:
    with np.errstate(over="ignore"):
        found = find_epochs(calls(130, shift_ns=queued))
        is_far = np.arange(130) % 3 == 0
        mixed = find_epochs(calls(130, shift_ns=np.where(is_far, np.int64(queued), 7)))
    assert sizes(found) == [130]
    assert not found.is_foreign.any()
    assert (mixed.is_foreign == (is_far & (queued != 0))).all()


def test_more_epochs_than_a_counter_has_are_none() -> None:
    number = np.arange(70 * BLOCK)
    assert find_epochs(calls(len(number), shift_ns=number // BLOCK * S)).count == 0
