"""Forms of addresses: what a GPU's compiler makes of the index of an access.

Checked on NVIDIA's assembler with the driver's PTX: an index of `int` becomes `IMAD.WIDE`, one of
`size_t` becomes `LEA` and `LEA.HI.X`, and a neighbour at a constant distance is part of the access.
"""

import pytest

from cltrace.kernels import Argument, BufferArgument, CostClass, KernelCounts, Machine, count, parse
from cltrace.kernels.costs.operation import OF_INTS, TO_FLOAT, AddressForm
from cltrace.kernels.machine import ItemLoops

ITEMS = 256


def counted(body: str, machine: Machine | None = None) -> KernelCounts:
    """Count a kernel of `ITEMS` work-items that reads `a` and writes `out`."""
    source = f"""__kernel void k(__global const float *a, __global float *out,
                                 __global const int *places, int n, long far) {{
        int i = get_global_id(0);
        __local float tile[512];
        float v = 0;
        {body}
        out[get_global_id(0)] = v;
    }}"""
    buffer = BufferArgument(4 << 20)
    arguments: list[Argument] = [buffer, buffer, buffer, 3, 5]
    machine = machine or Machine(compute_units=132)
    return count(parse(source), "k", (ITEMS,), (ITEMS,), arguments, machine=machine)


def forms(counts: KernelCounts) -> dict[str, float]:
    """Return the number of addresses per warp by form, without the address of the result."""
    found = {
        row.function: row.warp_total / counts.warps
        for row in counts.folded
        if row.cost is CostClass.ADDRESS
    }
    found[AddressForm.HALVES] -= 1.0
    return {form: number for form, number in found.items() if number}


def number_of(counts: KernelCounts, cost: CostClass, function: str = "") -> float:
    """Return the operations per warp of a class and a function."""
    return sum(
        row.warp_total / counts.warps
        for row in counts.folded
        if row.cost is cost and row.function == function
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("v = a[get_global_id(0)];", {AddressForm.HALVES: 1}),
        ("v = a[i];", {AddressForm.HALVES: 1}),
        ("v = a[i * n];", {AddressForm.PRODUCT: 1}),
        ("v = a[far];", {AddressForm.HALVES: 1}),
        ("v = a[(uint)i * (uint)n];", {AddressForm.PRODUCT: 1}),
        ("v = a[(uint)get_global_id(0)] + a[i * n];",
         {AddressForm.HALVES: 1, AddressForm.PRODUCT: 1}),
        ("v = a[i * n & 255];", {AddressForm.HALVES: 1}),
        ("v = a[i * n - 1] + a[i * n + 1] + a[i * n];", {AddressForm.PRODUCT: 1}),
        ("v = a[(uint)(i * n) - 1u] + a[(uint)(i * n) + 1u];", {AddressForm.PRODUCT: 2}),
        ("v = a[i * n] + a[i * n + n];", {AddressForm.PRODUCT: 2}),
        ("v = a[i * n] + a[i * n | 1];", {AddressForm.PRODUCT: 2}),
        ("v = a[2 * n * i] + a[2 * n * i | 1];", {AddressForm.PRODUCT: 1}),
        ("v = a[i * n] + out[i * n];", {AddressForm.PRODUCT: 2}),
        ("for (int t = 0; t < 4096; ++t) v += a[i * n + t];", {AddressForm.PRODUCT: 0}),
        ("for (int t = 0; t < 64; ++t) v += a[places[i * n] + t * n];", {AddressForm.PRODUCT: 64}),
    ],
)  # fmt: skip
def test_an_index_decides_the_form(body: str, expected: dict[str, float]) -> None:
    found = forms(counted(body))
    for form, number in expected.items():
        assert found.get(form, 0.0) == pytest.approx(number, abs=1.1 if number in {0, 64} else 0)


def test_sums_of_constants_are_part_of_the_accesses() -> None:
    alone = counted("v = a[i * n];")
    beside = counted("v = a[i * n - 1] + a[i * n + 1] + a[i * n];")
    assert number_of(beside, CostClass.INT_ADD) == number_of(alone, CostClass.INT_ADD)


def test_a_sum_that_is_used_elsewhere_is_counted() -> None:
    alone = counted("v = a[i * n + 1];")
    used = counted("int j = i * n + 1; v = a[j] * (float)j;")
    assert number_of(used, CostClass.INT_ADD) + number_of(used, CostClass.INT_MULTIPLY) > (
        number_of(alone, CostClass.INT_ADD)
    )


def test_addresses_of_local_memory_have_no_form() -> None:
    counts = counted("tile[i] = n; barrier(CLK_LOCAL_MEM_FENCE); v = tile[i ^ 1];")
    assert number_of(counts, CostClass.ADDRESS) == 2


def test_a_cpu_has_no_forms() -> None:
    counts = counted("v = a[i * n];", Machine.of_cpu(16, 8, 1 << 20, ItemLoops.LANES))
    assert {row.function for row in counts.folded if row.cost is CostClass.ADDRESS} <= {""}


@pytest.mark.parametrize(
    ("body", "products"),
    [
        ("v = ((ulong)(uint)i * (ulong)(uint)n) >> 32;", 1),
        ("v = ((long)i * (long)n) >> 5;", 1),
        ("v = mul_hi(i, n);", 1),
        ("v = far * (long)n;", 0),
        ("v = i * n;", 0),
    ],
)
def test_products_of_ints_to_long(body: str, products: int) -> None:
    assert number_of(counted(body), CostClass.INT_MULTIPLY, OF_INTS) == products


def test_halves_of_a_long_cost_nothing() -> None:
    half = counted("v = (uint)(far >> 32) ^ (uint)(far & 0xffffffff);")
    other = counted("v = (uint)(far >> 31) ^ (uint)(far & 0xffffffff);")
    assert number_of(half, CostClass.INT_LOGIC, "shift") == 0
    assert number_of(other, CostClass.INT_LOGIC, "shift") == 1


@pytest.mark.parametrize(
    ("body", "number"),
    [("v = (float)(i ^ n);", 1), ("v = (float)far;", 0), ("v = (float)(int)(a[i] * 3);", 1)],
)
def test_conversions_to_float(body: str, number: int) -> None:
    assert number_of(counted(body), CostClass.CONVERT, TO_FLOAT) == number
