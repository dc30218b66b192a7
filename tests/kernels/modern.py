"""OpenCL C 2.0 and 3.0: generic pointers, C11 atomics, group functions, sub-groups."""

from typing import Any

import numpy as np

from tests.kernels.cases import AS_SET, EXACT, Array, Case, writes
from tests.kernels.integers import signed

S, U = np.int32, np.uint32
OLD = ("pocl", "oclgrind")  # PoCL 3.0-rc2 and Oclgrind 21.10 have OpenCL C 1.2


def small(random: np.random.Generator, count: int) -> Array:
    return random.integers(-100, 100, count, S)


def generic_pointers(values: Array, _: Array) -> Array:
    rows = []
    for i, v in enumerate(values.tolist()):
        which = v & 3
        quad = values[i & ~3 : (i & ~3) + 4]
        four = (
            [v - k for k in range(4)] if which == 0 else (quad * (5 if which == 1 else 1)).tolist()
        )
        total = 0
        for element in four:
            total = signed(total * 3 + element, 32)
        rows.append(total)
    return np.array(rows, S)


def address_spaces(values: Array, _: Array) -> Array:
    own = np.arange(values.size) % 32
    kind = np.where(values & 1, 4, np.where(values & 2, 2, 1))
    return np.asarray(kind + 8 * np.where(values & 1, own == values, True), S)


def c11_atomics(_s: Array, _u: Array, _: Array, values: Array) -> Any:
    count = values.size
    ends = [3 * count, -values.sum(), values.min(), values.max(), values.sum()]
    sums = values.reshape(4, 32).sum(1)
    bits = [
        np.bitwise_or.reduce(U(1) << (values & 31).astype(U)),
        ~np.bitwise_or.reduce(U(1) << (values & 7).astype(U)),
        np.bitwise_xor.reduce(values.view(U)),
    ]
    return np.array([*ends, *sums], S), np.array(bits, U), np.arange(count, dtype=S) * 3


def group_functions(values: Array, _: Array) -> Array:
    g = values.reshape(-1, 16)
    inclusive = np.cumsum(g, 1)
    rows = [
        g.sum(1, keepdims=True), g.min(1, keepdims=True), g.max(1, keepdims=True), inclusive,
        inclusive - g, np.maximum.accumulate(g, 1), g[:, 5:6], (g > 95).any(1, keepdims=True),
        (g > -95).all(1, keepdims=True),
    ]  # fmt: skip
    return np.stack([np.broadcast_to(row, g.shape).ravel() for row in rows]).astype(S)


def uneven(_: Array) -> Array:
    i = np.arange(50)
    size = np.where(i < 48, 16, 2)
    return np.stack([size, np.full(50, 16), 400 + i // 16, i * 100 + i % 16], 1).astype(S)


def sub_groups(values: Array, _: Array) -> Array:
    one = np.ones_like(values)
    return np.stack([values, one, one, one])


CASES = [
    Case(
        "generic_pointers", "modern.cl", "generic_pointers", (128,), (32,),
        lambda r: [small(r, 128), np.zeros(128, S)], writes(generic_pointers, 1), EXACT,
        "-cl-std=CL2.0", family="generic pointers", unsupported_by=OLD,
    ),
    Case(
        "address_spaces", "modern.cl", "address_spaces", (128,), (32,),
        lambda r: [small(r, 128), np.zeros(128, S)], writes(address_spaces, 1), EXACT,
        "-cl-std=CL2.0", family="generic pointers", unsupported_by=OLD,
        intel_wrong="to_private of a local pointer, and the like, is not NULL",
    ),
    Case(
        "c11_atomics", "modern.cl", "c11_atomics", (128,), (32,),
        lambda r: [
            np.zeros(9, S), np.array([0, 2**32 - 1, 0], U), np.zeros(128, S), small(r, 128),
        ],
        writes(c11_atomics, 0, 1, 2), AS_SET, "-cl-std=CL2.0", family="atomics",
        unsupported_by=OLD,
    ),
    Case(
        "group_functions", "modern.cl", "group_functions", (128,), (16,),
        lambda r: [small(r, 128), np.zeros((9, 128), S)], writes(group_functions, 1), EXACT,
        "-cl-std=CL2.0", family="group functions", unsupported_by=OLD,
    ),
    Case(
        "group_functions_3", "modern.cl", "group_functions", (64,), (16,),
        lambda r: [small(r, 64), np.zeros((9, 64), S)], writes(group_functions, 1), EXACT,
        "-cl-std=CL3.0", family="group functions", unsupported_by=OLD,
    ),
    Case(
        "uneven_groups", "modern.cl", "uneven_groups", (50,), (16,),
        lambda _: [np.zeros((50, 4), S)], writes(uneven, 0), EXACT, "-cl-std=CL2.0",
        family="work-items", unsupported_by=("pocl",),
    ),
    Case(
        "sub_groups", "modern.cl", "sub_groups", (128,), (32,),
        lambda r: [small(r, 128), np.zeros((4, 128), S)], writes(sub_groups, 1), EXACT,
        "-cl-std=CL3.0 -DSUB_GROUPS", family="sub-groups", unsupported_by=OLD,
    ),
]  # fmt: skip
