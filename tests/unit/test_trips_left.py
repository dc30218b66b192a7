"""Remaining trips of a loop, of lanes that all compare the same numbers and of others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltrace.kernels.counts.skippable_loops import AffineLoop
from cltrace.kernels.execute.lanes import Grid
from cltrace.kernels.execute.memory import Memory
from cltrace.kernels.execute.state import ExecutionState, NullObserver
from cltrace.kernels.flow.canonical_loops import CanonicalLoop
from cltrace.kernels.ir.instructions import Compare
from cltrace.kernels.ir.source_places import NOWHERE
from cltrace.kernels.ir.types import IntegerType
from cltrace.kernels.launch_results import nd_range

GRID = Grid(nd_range((2,), (2,)), range(1), 32)
STATE = ExecutionState(grid=GRID, memory=Memory(), images={}, observer=NullObserver())
PREDICATES = ("slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge", "eq", "ne")
BITS = (8, 16, 32, 64)


def loop(predicate: str, bits: int, *, continues_when: bool = True) -> AffineLoop:
    """A loop that compares slots 0 and 1, whose next values are in slots 2 and 3."""
    return AffineLoop(
        CanonicalLoop(
            number=0,
            header=0,
            affine=((0, 2), (1, 3)),
            non_affine=(),
            comparison=Compare(4, predicate, IntegerType(bits), 0, 1, NOWHERE),
            continues_when=continues_when,
            step_instructions=(),
        )
    )


@st.composite
def operands(draw: st.DrawFn) -> tuple[int, list[int]]:
    """Draw the bits of an integer, and two of them with their next values."""
    bits = draw(st.sampled_from(BITS))
    half = 1 << (bits - 1)
    near = st.one_of(
        st.integers(-9, 9), st.integers(half - 9, half - 1), st.integers(-half, 9 - half)
    )
    number = st.one_of(near, st.integers(-half, half - 1))
    left, right, left_step, right_step = (draw(number) for _ in range(4))
    following = [
        (value + step + half) % (2 * half) - half
        for value, step in ((left, left_step), (right, draw(st.sampled_from((0, right_step)))))
    ]
    return bits, [left, right, *following]


@given(operands(), st.sampled_from(PREDICATES), st.booleans())
def test_a_number_for_all_lanes_and_one_for_each_lane_give_the_same_trips(
    drawn: tuple[int, list[int]], predicate: str, continues_when: bool
) -> None:
    bits, numbers = drawn
    dtype = np.dtype(f"i{bits // 8}")
    counted = loop(predicate, bits, continues_when=continues_when)
    of_all = [dtype.type(number) for number in numbers]
    by_lane = [np.full(2, number, dtype) for number in numbers]
    assert counted.trips_left(of_all, GRID.all, STATE) == counted.trips_left(
        by_lane, GRID.all, STATE
    )


@pytest.mark.parametrize(
    ("predicate", "numbers", "trips"),
    [
        ("slt", (3, 10, 5, 10), 3),
        ("sgt", (10, 3, 8, 3), 3),
        ("ne", (0, 12, 3, 12), 4),
        ("ne", (0, 13, 3, 13), 0),
        ("eq", (0, 0, 1, 0), 0),
        ("slt", (3, 10, 3, 10), 0),
        ("sle", (100, 127, 101, 127), 27),
        ("ult", (100, -1, 101, -1), 155),
    ],
)
def test_trips_end_where_the_comparison_changes_or_a_number_would_wrap_around(
    predicate: str, numbers: tuple[int, ...], trips: int
) -> None:
    frame = [np.int8(number) for number in numbers]
    assert loop(predicate, 8).trips_left(list(frame), GRID.all, STATE) == trips
