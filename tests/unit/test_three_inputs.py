"""Operations on integers with three inputs, as NVIDIA's assembler has them of the driver's PTX."""

import pytest

from cltrace.kernels import BufferArgument, CostClass, KernelCounts, Machine, count, parse
from cltrace.kernels.machine import ItemLoops

ITEMS = 256


def counted(expression: str, machine: Machine | None = None, kind: str = "uint") -> KernelCounts:
    """Count a kernel that reads four numbers of a work-item and writes an expression of them."""
    source = f"""__kernel void k(__global const {kind} *in, __global {kind} *out) {{
        int i = get_local_id(0);
        {kind} a = in[i], b = in[i + 256], c = in[i + 512], d = in[i + 768];
        out[i] = {expression};
    }}"""
    buffer = BufferArgument(1 << 16)
    machine = machine or Machine()
    return count(parse(source), "k", (ITEMS,), (ITEMS,), [buffer, buffer], machine=machine)


def more(
    expression: str, cost: CostClass, machine: Machine | None = None, kind: str = "uint"
) -> float:
    """Operations of a class per warp that an expression has more than a copy."""

    def per_warp(text: str) -> float:
        counts = counted(text, machine, kind)
        return sum(row.warp_total for row in counts.folded if row.cost is cost) / counts.warps

    return per_warp(expression) - per_warp("a")


@pytest.mark.parametrize(
    ("expression", "operations"),
    [
        ("a & b", 1),
        ("(a & b) | c", 1),
        ("(a & b) | (~a & c)", 1),
        ("a ^ b ^ c", 1),
        ("a ^ b ^ c ^ d", 2),
        ("(a & b) | (c & d)", 2),
        ("~(a ^ b)", 1),
        ("(a >> 3) ^ (a << 5)", 3),
        ("(a & b) ^ ((a & b) >> 1)", 3),
        ("(a & 15) | 240", 1),
    ],
)
def test_bits_of_three_numbers_are_one_operation(expression: str, operations: int) -> None:
    assert more(expression, CostClass.INT_LOGIC) == operations


@pytest.mark.parametrize(
    ("expression", "operations"),
    [
        ("a + b", 1),
        ("a + b + c", 1),
        ("a + b - c", 1),
        ("a + b + c + d", 2),
        ("(a + b) ^ ((a + b) >> 1)", 1),
        ("a * b + c", 0),
        ("(a << 2) + b", 0),
        ("(a << 2) + (b + c)", 1),
    ],
)
def test_a_sum_of_three_numbers_is_one_operation(expression: str, operations: int) -> None:
    assert more(expression, CostClass.INT_ADD) == operations


def test_vectors_are_joined_by_element() -> None:
    assert more("(a & b) | (~a & c)", CostClass.INT_LOGIC, kind="uint4") == 4


@pytest.mark.parametrize(
    ("expression", "cost", "operations"),
    [
        ("a ^ b ^ c", CostClass.INT_LOGIC, 1),
        ("a + b + c", CostClass.INT_ADD, 1),
        ("a + b + c + d", CostClass.INT_ADD, 2),
        ("rotate(a ^ b, 24UL)", CostClass.INT_LOGIC, 2),
        ("rotate(a ^ b, 32UL)", CostClass.INT_LOGIC, 1),
        ("((a ^ b) << 32) | ((a ^ b) >> 32)", CostClass.INT_LOGIC, 1),
    ],
)
def test_both_halves_of_64_bits_are_joined(
    expression: str, cost: CostClass, operations: int
) -> None:
    assert more(expression, cost, kind="ulong") == operations


def test_bits_of_a_cpu_have_two_inputs() -> None:
    lanes = Machine.of_cpu(4, item_loops=ItemLoops.LANES)
    assert more("a ^ b ^ c", CostClass.INT_LOGIC, lanes) > more("a ^ b", CostClass.INT_LOGIC, lanes)


def test_a_comparison_combines_its_result_with_another() -> None:
    single = counted("a < b ? c : b + c")
    both = counted("(a < b) & (a < d) ? c : b + c")
    for cost in (CostClass.INT_LOGIC, CostClass.SELECT):
        assert [row.warp_total for row in single.folded if row.cost is cost] == [
            row.warp_total for row in both.folded if row.cost is cost
        ]


@pytest.mark.parametrize(
    ("condition", "operations"),
    [("(a & 12) == 0", 2), ("(a & b) != 0", 2), ("(a & 1) == 0", 3), ("(a & 12) == 4", 3)],
)
def test_bits_that_are_compared_with_zero_set_a_condition(condition: str, operations: int) -> None:
    """The lowest bit is a condition of its own for the driver's compiler, which it compares with 1."""
    selected = f"{condition} ? 3 : b"
    logic = more(selected, CostClass.INT_LOGIC) + more(selected, CostClass.INT_COMPARE)
    assert logic + more(selected, CostClass.SELECT) == operations
