"""Functions of the same operands in each trip: which of them a GPU's compiler moves out of a loop."""

import numpy as np
import pytest

from cltrace.kernels import BufferArgument, CostClass, Machine, count, parse
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.machine import ItemLoops

TRIPS = 64


def calls_per_item(
    type_name: str, expression: str, machine: Machine | None = None, options: str = ""
) -> float:
    """Return how often a work-item executes the special functions of an expression in a loop."""
    source = f"""
    __kernel void k(__global {type_name} *a, {type_name} z, int n) {{
        {type_name} sum = 0;
        for (int i = 0; i < n; ++i) sum += a[i * 1024 + get_global_id(0)] * {expression};
        a[get_global_id(0)] = sum;
    }}"""
    size = np.dtype(type_name.replace("float", "f4").replace("double", "f8")).itemsize
    arguments = [BufferArgument(size * 1024 * TRIPS), np.dtype(f"f{size}").type(0.5), TRIPS]
    machine = machine or Machine()
    counts = count(parse(source, options), "k", (1024,), (64,), arguments, machine=machine)
    special = [row for row in counts.folded if row.cost.value == "special"]
    return sum(row.total for row in special) / 1024


@pytest.mark.parametrize(
    ("type_name", "expression", "calls"),
    [
        ("float", "exp(z)", 1),
        ("float", "log(z)", 1),
        ("double", "log(z)", TRIPS),
        ("double", "exp(z)", 1),
        ("float", "cos(z)", TRIPS),
        ("float", "pow(z, 2.5f)", TRIPS),
        ("float", "pow(1.5f, 2.5f)", 0),
        ("float", "cos(0.7f)", 0),
        ("double", "pown(2.0, 32)", TRIPS),
        ("double", "erf(0.5)", 1),
    ],
)
def test_what_has_many_branches_stays_in_a_loop(
    type_name: str, expression: str, calls: int
) -> None:
    """What moves is called once in front of it, and what is known not at all."""
    assert calls_per_item(type_name, expression) == calls


@pytest.mark.parametrize(
    ("expression", "calls"), [("cos(z)", 0), ("powr(z, 0.3f)", 0), ("pow(z, 2.5f)", TRIPS)]
)
def test_what_options_approximate_moves_out_of_a_loop(expression: str, calls: int) -> None:
    """What is left of it, once in front of the loop, is not counted."""
    assert calls_per_item("float", expression, options="-cl-fast-relaxed-math") == calls


@pytest.mark.parametrize("index", ["get_local_id(0)", "mul24((int)get_local_id(0), 2)"])
def test_reads_at_places_of_functions_move_out_of_a_loop(index: str) -> None:
    source = f"""
    __kernel void k(__global const float *a, __global float *c, int n) {{
        __local float tile[256];
        tile[get_local_id(0)] = a[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        float sum = 1;
        for (int i = 0; i < n; ++i) sum = sum * sum + tile[{index}];
        c[get_global_id(0)] = sum;
    }}"""
    buffers = [BufferArgument(4 << 10)] * 2
    counts = count(parse(source), "k", (1024,), (128,), [*buffers, TRIPS])
    (site,) = (
        each for each in counts.sites if each.memory == "tile" and each.access is Access.READ
    )
    assert site.accesses.value == 1024


def test_a_processor_moves_any_call_out_of_a_loop() -> None:
    processor = Machine(compute_units=2, item_loops=ItemLoops.LOOPS)
    assert calls_per_item("float", "cos(z)", processor) < TRIPS


def test_programs_have_functions_of_their_own_by_the_names_of_others() -> None:
    """A driver that lets a program have them ran it, so it is counted."""
    source = """
    float cbrt(float x) { return x * 0.3f; }
    inline float4 fmod(float4 a, float4 b) { return a - b; }
    __kernel void k(__global float *a, __global float4 *b) {
        size_t i = get_global_id(0);
        a[i] = cbrt(a[i]);
        b[i] = fmod(b[i], b[i + 1]) + sin(b[i]);
    }"""
    counts = count(parse(source), "k", (64,), (64,), [BufferArgument(4 << 10)] * 2)
    assert counts.work_items == 64


def test_functions_that_stay_functions_are_not_copied_into_branches() -> None:
    """One with a barrier would leave half of the work-items out of it."""
    source = """
    __attribute__((noinline)) void wait(__local int *tile, int value) {
        tile[get_local_id(0)] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    __kernel void k(__global int *a) {
        __local int tile[64];
        int own = get_local_id(0), x = 0;
        if (own & 1) x = a[own + 5] * 3;
        wait(tile, x);
        if (own & 1) x += tile[own ^ 1] + 2;
        wait(tile, x + 1);
        if (own & 1) x += tile[own ^ 3];
        a[own] = x;
    }"""
    counts = count(parse(source), "k", (64,), (64,), [BufferArgument(4 << 10)])
    waits = [row.warp_total for row in counts.folded if row.cost is CostClass.BARRIER]
    assert sum(waits) == 2 * counts.warps
