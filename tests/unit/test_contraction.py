"""Operations of floats that a driver's compiler makes parts of others, as an H200's driver does."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.contraction import BODIES, OPTIONS, source
from cltrace.kernels import BufferArgument, CostClass, KernelCounts, Machine, count, parse
from cltrace.kernels.costs.operation import INVERTED


def counted(expression: str, pragma: str = "", machine: Machine | None = None) -> KernelCounts:
    source = f"""{pragma}
    __kernel void combine(__global float *out, __global const float *in) {{
        size_t i = get_global_id(0);
        float a = in[i], b = in[i + 256], c = in[i + 512], product = a * b;
        out[i] = {expression};
    }}
    """
    arguments = [BufferArgument(4 << 10), BufferArgument(4 << 12)]
    return count(parse(source), "combine", (256,), (256,), arguments, machine=machine or Machine())


def per_item(counts: KernelCounts, cost: CostClass) -> float:
    rows = [row for row in counts.folded if row.cost is cost and row.type == "float"]
    return sum(row.total for row in rows) / 256


@pytest.mark.parametrize(
    ("expression", "adds", "multiplies", "multiply_adds", "divisions"),
    [
        ("a * b + c", 0, 0, 1, 0),
        ("product + c", 0, 0, 1, 0),
        ("product + c + product * b", 1, 1, 1, 0),
        ("c - a * b", 0, 0, 1, 0),
        ("-(a * b)", 0, 1, 0, 0),
        ("a * b + b * c", 0, 1, 1, 0),
        ("a / b + c", 0, 0, 0, 1),
        ("c - a / b", 0, 0, 0, 1),
        ("a / b + c / b", 0, 0, 0, 2),
        ("1.0f / b + c", 1, 0, 0, 1),
        ("a * b / c", 0, 1, 0, 1),
        ("2.0f * a", 1, 0, 0, 0),
        ("a / 3.0f", 0, 1, 0, 0),
    ],
)
def test_sums_are_parts_of_products_and_quotients(
    expression: str, adds: float, multiplies: float, multiply_adds: float, divisions: float
) -> None:
    counts = counted(expression)
    assert per_item(counts, CostClass.FLOAT_ADD) == adds
    assert per_item(counts, CostClass.FLOAT_MULTIPLY) == multiplies
    assert per_item(counts, CostClass.FLOAT_MULTIPLY_ADD) == multiply_adds
    assert per_item(counts, CostClass.FLOAT_DIVIDE) == divisions


def test_without_contraction_products_stay_apart_and_quotients_do_not() -> None:
    pragma = "#pragma OPENCL FP_CONTRACT OFF"
    assert per_item(counted("a * b + c", pragma), CostClass.FLOAT_MULTIPLY) == 1
    assert per_item(counted("a * b + c", pragma), CostClass.FLOAT_ADD) == 1
    assert per_item(counted("a / b + c", pragma), CostClass.FLOAT_ADD) == 0


def test_a_quotient_that_is_used_twice_stays_apart() -> None:
    source = """
    __kernel void combine(__global float *out, __global const float *in) {
        size_t i = get_global_id(0);
        float quotient = in[i] / in[i + 256];
        out[i] = quotient + in[i + 512];
        out[i + 256] = quotient;
    }
    """
    arguments = [BufferArgument(4 << 10), BufferArgument(4 << 12)]
    counts = count(parse(source), "combine", (256,), (256,), arguments)
    assert per_item(counts, CostClass.FLOAT_ADD) == 1


def test_a_processor_divides_before_it_adds() -> None:
    counts = counted("a / b + c", machine=Machine.of_cpu(4))
    assert per_item(counts, CostClass.FLOAT_ADD) == 1


def test_quotients_by_one_number_take_its_reciprocal_once() -> None:
    assert inverted("a / b * (c / b)") == 1
    assert inverted("a / b * (c / a)") == 0


def inverted(expression: str) -> float:
    rows = [row for row in counted(expression).folded if row.function == INVERTED]
    return sum(row.total for row in rows) / 256


def test_a_cpu_divides_by_literals() -> None:
    assert per_item(counted("a / 3.0f", machine=Machine.of_cpu(4)), CostClass.FLOAT_DIVIDE) == 1


ASSEMBLED = json.loads(
    (Path(__file__).parents[1] / "data" / "h200-contraction.json").read_text(encoding="utf-8")
)["instructions"]
_OPERATIONS = {
    CostClass.FLOAT_ADD: "FADD",
    CostClass.FLOAT_MULTIPLY: "FMUL",
    CostClass.FLOAT_MULTIPLY_ADD: "FFMA",
}
_REASSOCIATED = {
    ("-cl-fast-relaxed-math", name)
    for name in ("one after another", "added twice", "two products in two sums")
}
"""Where another order of sums is allowed, clang and the driver choose different ones."""


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", BODIES)
def test_products_and_sums_are_those_that_the_assembler_has(name: str, options: str) -> None:
    buffers = [BufferArgument(1 << 14)] * 3
    counts = count(
        parse(source(name), options),
        "f",
        (256,),
        (256,),
        [*buffers, np.float32(2)],
        machine=Machine(),
    )
    left: Counter[str] = Counter()
    for row in counts.folded:
        if row.cost in _OPERATIONS and row.type == "float" and row.total:
            left[_OPERATIONS[row.cost]] += round(row.total / 256)
    if (options, name) in _REASSOCIATED:
        assert left != ASSEMBLED[options][name]
    else:
        assert left == ASSEMBLED[options][name]
