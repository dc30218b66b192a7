# mypy: allow-untyped-defs, allow-untyped-calls
# ruff: noqa: RET505, SIM108 - statements that iterations may have
"""Functions over domains, and their values in plain Python, for tests of domain iterations."""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy import float32
from numpy.typing import NDArray

from cltrace.domain import ltriag, trace, utriag
from cltrace.domain.iterations import Iteration, arguments_of
from cltrace.domain.language.scopes import live_function
from cltrace.domain.shapes import domain_of
from cltrace.kernels import BufferArgument, execute, parse

Case = tuple[Callable[..., Any], Any, dict[str, Any]]
WEIGHT = 3
_RANDOM = np.random.default_rng(1)
MATRIX = _RANDOM.random((6, 7), np.float32)
SQUARE = _RANDOM.random((6, 6), np.float32)
INTEGERS = _RANDOM.integers(-(2**31), 2**31, (6, 6), dtype=np.int32)
BYTES = _RANDOM.integers(0, 256, (6, 7), dtype=np.uint8)


def doubled(x):
    return 2 * x


def transposed(a, b, c, ma):
    return ma[c, a, b] + doubled(a)


def stencil(x, y, m):
    left = m[x - 1, y] if x > 0 else m[x, y]
    if x < m.shape[0] - 1 and y < m.shape[1] - 1:
        right = m[x + 1, y + 1]
    else:
        right = 0.0
    if (x + y) % 2 == 0:
        return left
    return left * float32(0.5) + right / 3


def product(x, y, m, n):
    return sum(m[x, k] * n[k, y] for k in range(n.shape[0]) if k != y)


def reduced(x, m):
    smallest = min(m[x, k] for k in range(3))
    return functools.reduce(lambda t, k: t * 0.5 + m[x - k, k % 3], range(1, 6, 2), 0.0) + smallest


def in_triangle(x, y, m):
    upper = sum(m[a, b] for a, b in utriag(m.shape[0]))
    lower = sum(m[a, b] for a, b in ltriag(x))
    return (
        m[x, y] * 10 + upper - lower + sum(m[a, b] for a, b in trace(m.shape[0])) - math.sqrt(x + y)
    )


def integers(x, y, i):
    low = (i[x, y] * WEIGHT - y) + (x - 5) // 3 + (x - 7) % 4 + (-x % 3) + (i[x, y] >> 2)
    return low + (x << 3) + max(x, y, i[y, x]) + abs(x - 3) + (~y & 5 | x ^ y)


def of_bytes(x, y, image):
    return image[x, y] + image[x, y - 1] // 2 - np.uint8(x)


def conditions(x, y, m):
    if not (x < 2 or y == 3):
        return np.sqrt(m[x, y]) + np.floor(m[x, y] * 10)
    elif 1 <= y < 4:
        value = -m[x, y]
    else:
        value = m[x, -y - 1] + float(x) / 7
    return abs(value)


def long_numbers(x, y, m):
    return (x * 1_000_000_007 + y) * 3 % m.shape[0]


def scaled(x, y, m, factor, plain):
    return m[x, y] * factor + plain


CASES: tuple[Case, ...] = (
    (transposed, (4, 5, 3), {"ma": np.arange(60, dtype=np.int32).reshape(3, 4, 5)}),
    (stencil, (6, 7), {"m": MATRIX}),
    (product, (6, 6), {"m": MATRIX, "n": SQUARE}),
    (reduced, (6,), {"m": MATRIX}),
    (in_triangle, utriag(6), {"m": SQUARE}),
    (in_triangle, ltriag(6), {"m": SQUARE}),
    (in_triangle, trace(6), {"m": SQUARE}),
    (integers, (6, 6), {"i": INTEGERS}),
    (of_bytes, (6, 7), {"image": BYTES}),
    (long_numbers, (67, 1), {"m": MATRIX}),
    (conditions, (6, 7), {"m": MATRIX}),
    (scaled, (6, 7), {"m": MATRIX, "factor": float32(1.5), "plain": 0.1}),
)


def iteration_of(case: Case, local: tuple[str, ...] = ()) -> Iteration:
    function, shape, values = case
    return Iteration(live_function(function), domain_of(shape), arguments_of(values), local)


def in_python(case: Case) -> NDArray[Any]:
    """The function called for each position."""
    function, _, values = case
    iteration = iteration_of(case)
    positions = iteration.domain.positions(0, iteration.domain.elements)
    with np.errstate(all="ignore"):
        results = [
            function(*(int(index) for index in position), **values)
            for position in zip(*positions, strict=True)
        ]
        return np.array([np.dtype(iteration.tree.result_dtype).type(each) for each in results])


def in_executor(iteration: Iteration, values: Mapping[str, Any]) -> NDArray[Any]:
    """The kernel run by the executor."""
    kernel = iteration.kernel(1024)
    result = np.zeros(iteration.domain.elements, iteration.tree.result_dtype)
    arguments: list[Any] = [
        BufferArgument(values[array.name].nbytes, values[array.name]) for array in kernel.arrays
    ]
    arguments += [values[scalar.name.removeprefix("arg_")] for scalar in kernel.scalars]
    arguments.append(BufferArgument(result.nbytes, result))
    program = parse(kernel.source, iteration.options)
    group = kernel.group
    outputs, notes = execute(
        program, kernel.name, (group.global_items,), (group.group_items,), arguments
    )
    assert not notes
    return outputs[len(arguments) - 1].view(result.dtype)[: len(result)]


def same_bits(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Whether two results have the same bits; NaN is the same as NaN, whatever its payload."""
    left, right = left.reshape(-1), right.reshape(-1)
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype.kind != "f":
        return bool(np.array_equal(left, right))
    is_number = ~np.isnan(left)
    if not np.array_equal(is_number, ~np.isnan(right)):
        return False
    return bool(left[is_number].tobytes() == right[is_number].tobytes())
