"""Data races and diverging barriers of kernels, told with their places."""

import numpy as np
import pytest

from cltrace.kernels import (
    Argument,
    BufferArgument,
    LocalArgument,
    parse,
)
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.races import find_diverging_barriers, find_races
from cltrace.kernels.events.recording_request import KernelLaunch
from tests.kernels.cases import Case
from tests.kernels.catalogue import CASES
from tests.kernels.inside import SUMS, inside_program, record_sum
from tests.kernels.launches import arguments_of, local_size_of, program_of

SAME_VALUES = {"half_stores"}
"""Cases in which several work-items write one place, all the same value."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_case_races_or_has_a_diverging_barrier(case: Case) -> None:
    events = record_events(
        KernelLaunch(
            program_of(case), case.kernel, case.global_size, local_size_of(case), arguments_of(case)
        )
    )
    races = [race for race in find_races(events).races if not race.has_barrier]
    assert bool(races) == (case.name in SAME_VALUES)
    assert not find_diverging_barriers(events)


@pytest.mark.parametrize("kernel", SUMS)
def test_a_reduction_without_its_barrier_races_at_its_sum(kernel: str) -> None:
    events = record_sum(kernel, 64, barrier="(void)0")
    races = find_races(events).races
    lines = {events.sites[number].line for race in races for number in race.sites}
    assert len(lines) == 1
    assert all(race.is_within_group for race in races)
    (race, *_) = races
    assert events.memories[race.memory].name == "sums"
    assert race.items[0] != race.items[1]
    assert not find_races(record_sum(kernel, 64)).races


RACES = """
__kernel void neighbours(__global int *x) { int i = get_global_id(0); x[i] = x[i + 1]; }
__kernel void same_place(__global int *x) { x[0] = get_global_id(0); }
__kernel void counter(__global int *x) { atomic_inc(x); }
__kernel void counted(__global int *x, __global int *n, __global int *y) {
    x[get_group_id(0)] = 1;
    atomic_inc(n);
    if (get_group_id(0) == 1) y[0] = x[0];
}
__kernel void bytes(__global uchar *x) {
    int i = get_global_id(0);
    x[i] = 1;
    if (i == 3) ((__global uint *)x)[1] = 2;
}
__kernel void unordered(__global int *x, __local int *s) {
    int l = get_local_id(0);
    s[l] = l;
    x[get_global_id(0)] = s[(l + 1) % get_local_size(0)];
}
__kernel void begun(__global int *y) {
    __local int c;
    if (get_local_id(0) == 0) c = 0;
    atomic_inc(&c);
    barrier(CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] = c;
}
__kernel void begun_before(__global int *y) {
    __local int c;
    if (get_local_id(0) == 0) c = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&c);
    barrier(CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] = c;
}
__kernel void other_fence(__global int *x, __global int *y) {
    x[get_global_id(0)] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] = x[get_global_id(0) ^ 1];
}
__kernel void own_fence(__global int *x, __global int *y) {
    x[get_global_id(0)] = 1;
    barrier(CLK_GLOBAL_MEM_FENCE);
    y[get_global_id(0)] = x[get_global_id(0) ^ 1];
}
__kernel void both_fences(__global int *x, __global int *y) {
    x[get_global_id(0)] = 1;
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] = x[get_global_id(0) ^ 1];
}
__kernel void no_fence(__global int *y, __local int *s) {
    s[get_local_id(0)] = 1;
    barrier(0);
    y[get_global_id(0)] = s[get_local_id(0) ^ 1];
}
__kernel void one_place(__global int *y) {
    int i = get_global_id(0), v = 0;
    if (i == 0) y[0] = 1;
    if (i == 1) y[0] = 2;
    if (i == 2) v = y[0];
    y[i + 1] = v;
}
__kernel void only_read(__global const int *x, __global int *y) {
    y[get_global_id(0)] = x[0] + x[get_global_id(0)];
}
"""


@pytest.mark.parametrize(
    ("kernel", "local_size", "is_within", "is_across"),
    [
        ("neighbours", 8, True, True),
        ("same_place", 8, True, True),
        ("same_place", 1, False, True),
        ("counter", 8, False, False),
        ("counted", 1, False, False),
        ("bytes", 8, True, False),
        ("unordered", 8, True, False),
        ("only_read", 8, False, False),
        ("begun", 8, True, False),
        ("begun_before", 8, False, False),
        ("other_fence", 8, True, False),
        ("own_fence", 8, False, False),
        ("both_fences", 8, False, False),
        ("no_fence", 8, True, False),
    ],
)
def test_races_are_told_with_their_scope(
    kernel: str, local_size: int, *, is_within: bool, is_across: bool
) -> None:
    program = parse(RACES)
    arguments: list[Argument] = [
        LocalArgument(64)
        if parameter.space == "local"
        else BufferArgument(256, np.zeros(64, np.int32))
        for parameter in program.kernels[kernel].parameters
    ]
    races = find_races(
        record_events(KernelLaunch(program, kernel, (16,), (local_size,), arguments))
    ).races
    assert any(race.is_within_group for race in races) == is_within
    assert any(not race.is_within_group for race in races) == is_across


def test_a_barrier_of_other_memory_is_told_apart() -> None:
    contents = BufferArgument(256, np.zeros(64, np.int32))
    events = record_events(
        KernelLaunch(parse(RACES), "other_fence", (16,), (8,), [contents, contents])
    )
    assert [race.has_barrier for race in find_races(events).races] == [True]
    without = find_races(record_sum("sum_by_stride", 64, barrier="0")).races
    assert not any(race.has_barrier for race in without)


def test_every_line_that_races_at_a_place_is_told() -> None:
    contents = BufferArgument(256, np.zeros(64, np.int32))
    events = record_events(KernelLaunch(parse(RACES), "one_place", (4,), (4,), [contents]))
    first_lines = {events.sites[race.sites[0]].line for race in find_races(events).races}
    other_lines = {events.sites[race.sites[1]].line for race in find_races(events).races}
    assert len(first_lines) == 1
    assert len(other_lines) == 2


def test_a_barrier_that_half_of_a_group_reaches_is_told() -> None:
    contents = BufferArgument(256, np.zeros(64, np.float32))
    events = record_events(KernelLaunch(inside_program(), "half_barrier", (64,), (32,), [contents]))
    (barrier,) = find_diverging_barriers(events)
    assert (barrier.groups, barrier.arrived, barrier.items) == (2, 16, 32)
