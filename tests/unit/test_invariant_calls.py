"""Functions of the same operands in each trip: which of them a GPU's compiler moves out of a loop."""

import numpy as np
import pytest

from cltrace.kernels import BufferArgument, Machine, count, parse
from cltrace.kernels.machine import ItemLoops

TRIPS = 64


def calls_per_item(type_name: str, expression: str, machine: Machine | None = None) -> float:
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
    counts = count(parse(source), "k", (1024,), (64,), arguments, machine=machine)
    special = [row for row in counts.folded if row.cost.value == "special"]
    return sum(row.total for row in special) / 1024


@pytest.mark.parametrize(
    ("type_name", "expression", "stays"),
    [
        ("float", "exp(z)", False),
        ("float", "log(z)", False),
        ("double", "log(z)", True),
        ("double", "exp(z)", False),
        ("float", "cos(z)", True),
        ("float", "pow(z, 2.5f)", True),
        ("float", "pow(1.5f, 2.5f)", False),
        ("float", "cos(0.7f)", False),
        ("double", "pown(2.0, 32)", True),
        ("double", "erf(0.5)", False),
    ],
)
def test_what_has_many_branches_stays_in_a_loop(
    type_name: str, expression: str, stays: bool
) -> None:
    assert calls_per_item(type_name, expression) == (TRIPS if stays else 0)


def test_a_processor_moves_any_call_out_of_a_loop() -> None:
    processor = Machine(compute_units=2, item_loops=ItemLoops.LOOPS)
    assert calls_per_item("float", "cos(z)", processor) < TRIPS
