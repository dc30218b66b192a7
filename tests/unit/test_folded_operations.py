"""Operations that are left on a GPU, as NVIDIA's assembler has them of the driver's PTX (sm_90)."""

from collections import Counter

import pytest

from cltrace.events.cost_names import CostName
from cltrace.kernels import BufferArgument, Machine, count, parse
from cltrace.kernels.demand.launch import demand_of

LOGIC = CostName("int", "logic")
PRODUCT = CostName("int", "multiply")
SUM = CostName("int", "add")
SLOT = CostName("float", "multiply")
FLOAT_SUM = CostName("float", "add")
COMPARISON = CostName("float", "compare and select")
CONVERSION = CostName("int", "to float and back")
POWER = CostName("float", "pow")
MEASURED = frozenset({LOGIC, PRODUCT, SUM, SLOT, FLOAT_SUM, COMPARISON, CONVERSION, POWER})
BYTES = {"float": 4, "int": 4, "uint": 4, "uchar": 1, "uchar4": 4, "short": 2}


def operations(
    expression: str, kind: str, result: str = "", measured: frozenset[CostName] = MEASURED
) -> dict[CostName, float]:
    """Operations per warp of an expression of `x`, `y` and `z`, by name, beside those of copying `x`."""
    result = result or kind

    def counted(text: str) -> Counter[CostName]:
        source = f"""__kernel void k(__global const {kind} *in, __global {result} *out) {{
            int i = get_local_id(0);
            {kind} x = in[i], y = in[i + 256], z = in[i + 512];
            out[i] = {text}; }}"""
        buffers = [BufferArgument(4096 * BYTES[kind]), BufferArgument(1 << 16)]
        counts = count(parse(source), "k", (256,), (256,), buffers, machine=Machine())
        work = demand_of(counts, measured).work
        return Counter({item.name: item.warp_total / counts.warps for item in work})

    whole = counted(expression)
    copied = {"uchar4": "as_float(x)"}.get(kind, "as_float((int)x)")
    whole.subtract(counted("x" if result == kind else copied))
    return {name: number for name, number in whole.items() if number and name.type != "memory"}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x < y ? x + z : x * z", {COMPARISON: 1, FLOAT_SUM: 1, SLOT: 1}),
        ("x < y ? x : z", {COMPARISON: 1, LOGIC: 1}),
        ("x < y ? x + z : z", {COMPARISON: 1, FLOAT_SUM: 1}),
        ("fabs(x) + y", {FLOAT_SUM: 1}),
        ("x - -y", {FLOAT_SUM: 1}),
        ("pown(x, 3)", {SLOT: 3, LOGIC: 1}),
        ("pown(x, 300)", {POWER: 1}),
        ("clamp(x, y, z)", {LOGIC: 2}),
        ("mix(x, y, z)", {SLOT: 3}),
        ("hypot(x, y)", {SLOT: 10, LOGIC: 8, CONVERSION: 1}),
    ],
)
def test_numbers_with_a_fraction(expression: str, expected: dict[CostName, float]) -> None:
    assert operations(expression, "float") == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x >> 3", {LOGIC: 1}),
        ("x << y", {LOGIC: 2}),  # the number of bits is taken modulo 32
        ("x << 3", {PRODUCT: 1}),
        ("(x << 3) + y", {LOGIC: 1}),
        ("x < y ? x - 7 : y >> 1", {LOGIC: 2, SUM: 1}),
        ("x < y ? z : 5", {LOGIC: 2}),
        ("popcount(x)", {CONVERSION: 1}),
        ("add_sat(x, y)", {SUM: 0, SLOT: 2, LOGIC: 6}),
        ("rhadd(x, y)", {SLOT: 1, LOGIC: 4}),
    ],
)
def test_integers(expression: str, expected: dict[CostName, float]) -> None:
    assert operations(expression, "uint") == {name: n for name, n in expected.items() if n}


@pytest.mark.parametrize(
    ("kind", "expression", "expected"),
    [
        ("int", "(float)x", (1, 0)),
        ("uchar", "(float)x", (1, 0)),
        ("short", "(float)x", (0, 1)),
        ("int", "(float)(short)x", (0, 1)),
        ("uchar4", "(float)x.z", (2, 0)),
        ("uchar4", "convert_float4(x).z", (8, 0)),
    ],
)
def test_integers_become_numbers_with_a_fraction(
    kind: str, expression: str, expected: tuple[int, int]
) -> None:
    """Bytes that share a register are cut out first; the sign of a narrow number is special."""
    found = operations(expression, kind, "float")
    assert (found.get(LOGIC, 0), found.get(CONVERSION, 0)) == expected


def test_a_profile_without_pipes_has_functions_as_they_are_made_of_others() -> None:
    sqrt = CostName("float", "sqrt")
    measured = frozenset({SUM, SLOT, sqrt})
    assert operations("hypot(x, y)", "float", measured=measured) == {sqrt: 1}
