"""How far NVIDIA's compiler unrolls loops by the size of their bodies, as its PTX shows."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.loop_sizes import ELEMENTS, SHAPES, TRIPS, copies_in, kernels, name_of
from cltrace.kernels import parse
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.execute.prepared_kernel import prepare_kernel
from cltrace.kernels.fold.unrolling import find_unrolled_loops
from cltrace.kernels.machine import NVIDIA, Machine

COPIES: Mapping[str, float] = json.loads(
    (Path(__file__).parents[1] / "data" / "h200-loop-sizes.json").read_text(encoding="utf-8")
)["copies"]
CASES = [(trips, elements) for trips in TRIPS for elements in ELEMENTS]
MOST = 4
"""Copies of a loop that is not unrolled wholly that are told apart."""

DIFFERENT = {"loads": 0, "integers": 2, "local": 9, "condition": 1}
"""Loops of each shape whose copies are others than those of the PTX."""


def measured(shape: str, trips: str | int, elements: int) -> int:
    """Copies in the PTX: all trips, or at most `MOST`. Loops of unknown trips have a further one."""
    copies = COPIES[name_of(shape, trips, elements)]
    assert copies == int(copies)
    if copies == trips:
        return int(copies)
    return min(int(copies) - (trips == "n" and copies > 1), MOST)


def found(shape: str, machine: Machine = NVIDIA) -> dict[str, int]:
    """Copies of each kernel of a shape."""
    names = [name for name, _ in kernels(shape)]
    module = parse("\n".join(text for _, text in kernels(shape))).module(CodeForm.OPTIMISED)
    loops = {name: find_unrolled_loops(prepare_kernel(module, name), machine) for name in names}
    return {
        name: max((loop.trips for loop in own.values()), default=1) for name, own in loops.items()
    }


@pytest.mark.parametrize("shape", SHAPES)
def test_loops_have_the_copies_of_the_driver_s_compiler(shape: str) -> None:
    copies = found(shape)
    different = [
        (trips, elements)
        for trips, elements in CASES
        if copies[name_of(shape, trips, elements)] != measured(shape, trips, elements)
    ]
    assert len(different) <= DIFFERENT[shape], different


def test_a_loop_of_unknown_trips_has_fewer_copies_of_a_longer_body() -> None:
    copies = found("loads")
    by_elements = [copies[name_of("loads", "n", elements)] for elements in ELEMENTS]
    assert by_elements == [measured("loads", "n", elements) for elements in ELEMENTS]
    assert set(by_elements) == {4, 2, 1}


def test_a_loop_is_unrolled_wholly_as_far_as_its_copies_are_short() -> None:
    """64 trips of 3 elements are, 32 trips of 8 are not."""
    copies = found("loads")
    assert copies[name_of("loads", 64, 3)] == 64
    assert copies[name_of("loads", 32, 8)] == 4


def test_known_trips_have_copies_that_leave_none_over() -> None:
    """As in the driver's PTX of loops of 50 trips, whose bodies have 5 to 40 elements."""
    source = "kernel void f(global float *y, float x) {{ for (int k = 0; k < {}; k++) {{ {} }} }}"
    body = "".join(f"y[0] = y[0] * x + {at}.5f;" for at in range(10))
    for trips, copies in ((48, 4), (50, 2), (51, 4)):
        module = parse(source.format(trips, body)).module(CodeForm.OPTIMISED)
        (loop,) = find_unrolled_loops(prepare_kernel(module, "f"), NVIDIA).values()
        assert loop.trips == copies


def test_a_processor_s_compiler_looks_at_the_trips_alone() -> None:
    copies = found("loads", Machine.of_cpu(16))
    assert copies[name_of("loads", 32, 64)] == 32
    assert copies[name_of("loads", 64, 1)] < 64


def test_the_copies_are_counted_in_the_text_of_a_kernel() -> None:
    name = name_of("loads", 8, 2)
    assert copies_in(f".entry {name}(\nld.global.f32 a\nld.global.f32 b\n}}") == {name: 1.0}
