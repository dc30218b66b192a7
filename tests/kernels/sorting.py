"""Sorting networks, radix passes, searches, stream compaction."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.kernels.cases import AS_SET, EXACT, Argument, Array, Case, Local, writes
from tests.kernels.scans import integers

S, U = np.int32, np.uint32


def bitonic_step(keys: Array, k: int, j: int) -> Array:
    result = keys.copy()
    for i in range(keys.size):
        partner = i ^ int(j)
        if partner > i and (keys[i] > keys[partner]) == (i & int(k) == 0):
            result[i], result[partner] = keys[partner], keys[i]
    return result


def step_arguments(k: int, j: int) -> Callable[..., list[Argument]]:
    return lambda r: [r.integers(0, 2**32, 256, U), U(k), U(j)]


def pairs(random: np.random.Generator) -> Array:
    """Distinct keys, so that a network that is not stable has one result."""
    keys = random.permutation(256).astype(U)
    return np.stack([keys, random.integers(0, 2**32, 256, U)], 1)


def sorted_pairs(values: Array, _: Local) -> Array:
    groups = values.reshape(4, 64, 2)
    order = np.argsort(groups[..., 0], 1)
    return np.take_along_axis(groups, order[..., None], 1)


def radix_histogram(keys: Array, _: Array, shift: int, n: int) -> Array:
    counts = np.zeros((16, 4), U)
    for i, key in enumerate(keys[:n]):
        counts[(key >> shift) & 15, i % 256 // 64] += 1
    return counts


def radix_scatter(keys: Array, _: Array, shift: int, *__: Any) -> Array:
    return np.asarray(keys[np.argsort((keys >> shift) & U(15), kind="stable")])


def ranks(values: Array, _: Array) -> Array:
    places = np.empty(values.size, U)
    places[np.argsort(values, kind="stable")] = np.arange(values.size, dtype=U)
    return places


def packed(values: Array, out: Array, _many: Array, threshold: int) -> tuple[Array, Array]:
    kept = values[values > threshold]
    result = out.copy()
    result[: kept.size] = kept
    return result, np.array([kept.size], U)


def packed_by_group(values: Array, out: Array, _many: Array) -> tuple[Array, Array]:
    kept = values[(values & 3) == 1]
    result = out.copy()
    result[: kept.size] = kept
    return result, np.array([kept.size], S)


CASES = [
    *(
        Case(
            f"bitonic_step_{k}_{j}", "sorting.cl", "bitonic_step", (256,), (64,),
            step_arguments(k, j),
            writes(bitonic_step, 0), EXACT, family="sort",
        )
        for k, j in ((2, 1), (64, 16))
    ),
    Case(
        "bitonic_local", "sorting.cl", "bitonic_local", (128,), (32,),
        lambda r: [integers(r, 256), Local(256)],
        writes(lambda x, _: np.sort(x.reshape(4, 64), 1), 0), EXACT, family="sort",
    ),
    Case(
        "odd_even_merge", "sorting.cl", "odd_even_merge", (256,), (64,),
        lambda r: [pairs(r), Local(512)], writes(sorted_pairs, 0), EXACT, family="sort",
    ),
    Case(
        "radix_histogram", "sorting.cl", "radix_histogram", (256,), (64,),
        lambda r: [r.integers(0, 2**32, 1000, U), np.zeros((16, 4), U), U(8), U(990)],
        writes(radix_histogram, 1), EXACT, family="radix sort",
    ),
    Case(
        "radix_scatter", "sorting.cl", "radix_scatter", (32,), (32,),
        lambda r: [r.integers(0, 2**32, 512, U), np.zeros(512, U), U(4), Local(1024), U(16)],
        writes(radix_scatter, 1), EXACT, family="radix sort",
    ),
    Case(
        "odd_even_transposition", "sorting.cl", "odd_even_transposition", (48,), (16,),
        lambda r: [r.integers(-(2**15), 2**15, 99, np.int16), S(33)],
        writes(lambda x, n: np.sort(x.reshape(-1, n), 1), 0), EXACT, family="sort",
    ),
    Case(
        "ranks", "sorting.cl", "ranks", (200,), (40,),
        lambda r: [r.integers(0, 50, 200).astype(np.float32), np.zeros(200, U)],
        writes(ranks, 1), EXACT, family="sort",
    ),
    Case(
        "lower_bounds", "sorting.cl", "lower_bounds", (300,), None,
        lambda r: [np.sort(integers(r, 777)), U(777), integers(r, 300), np.zeros(300, U)],
        writes(lambda x, _n, needles, _p: np.asarray(np.searchsorted(x, needles), U), 3), EXACT,
        family="search",
    ),
    Case(
        "compact_any_order", "sorting.cl", "compact_any_order", (512,), (64,),
        lambda r: [integers(r, 512), np.zeros(512, S), np.zeros(1, U), S(200)],
        writes(packed, 1, 2), AS_SET, family="compaction",
    ),
    Case(
        "compact_in_groups", "sorting.cl", "compact_in_groups", (512,), (64,),
        lambda r: [integers(r, 512), np.zeros(512, S), np.zeros(1, S)],
        writes(packed_by_group, 1, 2), AS_SET, family="compaction",
    ),
]  # fmt: skip
