"""Atomics on global and local memory, histograms."""

from typing import Any

import numpy as np

from tests.kernels.cases import AS_SET, EXACT, Array, Case, Local, writes

S, U = np.int32, np.uint32
ITEMS = 128
SIGNED = np.array([5, 9, -3, 7, 0, 0, -1, 0, 1, 17, -1], S)
UNSIGNED = np.array([0xFFFFFFFF, 0, 1], U)


def every_global(s: Array, u: Array, _: Array) -> tuple[Array, Array, Array]:
    """As if the work-items ran in their order: the sets are those of any order."""
    i = np.arange(ITEMS, dtype=S)
    swapped = np.concatenate([[-5], i[:-1], i[-1:]])
    first = np.where(i == 0, -1, 42)
    old = np.concatenate(
        [s[0] + 7 * i, s[1] - (i << 29), s[2] + i, s[3] - i, swapped[:-1], first, swapped[-1:]]
    )
    end = np.array([
        s[0] + 7 * ITEMS, s[1], s[2] + ITEMS, s[3] - ITEMS, -3 * (ITEMS - 1),
        max(0, 5 * (ITEMS - 1) - 1000), ~0xFFFF, np.bitwise_or.reduce(1 << (i % 31)),
        s[8] ^ np.bitwise_xor.reduce(i * S(0x01010101)), 100, 42,
    ])  # fmt: skip
    total = (int(u[2]) + 0x10000001 * int(i.sum())) & 0xFFFFFFFF
    unsigned = np.array([0xFFFFFF00 - ITEMS + 1, 0x80000000 + ITEMS - 1, total], U)
    return end.astype(S), unsigned, old.astype(S)


def every_local(_: Array, values: Array) -> Array:
    rows = []
    for group in values.reshape(-1, 64):
        total, unsigned = group.sum(dtype=S), group.view(U)
        signed = np.array([
            total, -total, 64, -64, group.min(), group.max(),
            np.bitwise_and.reduce(group | 0xFF), np.bitwise_xor.reduce(group),
        ], S)  # fmt: skip
        rest = [unsigned.min(), unsigned.max(), np.bitwise_or.reduce(unsigned & U(0xFF00))]
        rows.append(np.concatenate([signed, np.array(rest, U).view(S)]))
    return np.concatenate(rows)


def fives(values: Array, sums: Array) -> Array:
    return np.array([values[k::5].sum() + sums[k] for k in range(5)], np.float32)


def counted(values: Array, bins: Array, n: int) -> Array:
    return bins + np.bincount(values.ravel()[:n], minlength=256).astype(U)


def private_bins(values: Array, *_: Any) -> Array:
    return np.stack([np.bincount(g >> 27, minlength=32) for g in values.reshape(4, -1)]).astype(U)


def longs(u: Array, s: Array, values: Array) -> tuple[Array, Array]:
    ends = [values.max(), values.min(), np.bitwise_xor.reduce(values) ^ s[2], s[3] - values.sum()]
    return u + np.array([values.view(np.uint64).sum(), values.size], np.uint64), np.array(ends)


def linked(values: Array, heads: Array, _lengths: Array) -> tuple[Array, Array]:
    """In the work-items' order."""
    heads = heads.copy()
    for i, bucket in enumerate(values % 7):
        heads[7 + i], heads[bucket] = heads[bucket], i
    return heads, np.bincount(values % 7, minlength=7).astype(S)


CASES = [
    Case(
        "every_global_atomic", "atomics.cl", "every_global_atomic", (ITEMS,), (ITEMS,),
        lambda _: [SIGNED.copy(), UNSIGNED.copy(), np.full(6 * ITEMS + 1, -5, S)],
        writes(every_global, 0, 1, 2), AS_SET, family="atomics",
    ),
    Case(
        "every_local_atomic", "atomics.cl", "every_local_atomic", (256,), (64,),
        lambda r: [np.zeros(44, S), r.integers(-(2**31), 2**31, 256).astype(S)],
        writes(every_local, 0), EXACT, family="atomics",
    ),
    Case(
        "float_sum_by_swap", "atomics.cl", "float_sum_by_swap", (256,), (32,),
        lambda r: [r.integers(-99, 99, 256).astype(np.float32), np.ones(5, np.float32)],
        writes(fives, 1), EXACT, family="atomics",
    ),
    Case(
        "spin_lock", "atomics.cl", "spin_lock", (128,), (8,),
        lambda _: [np.zeros(1, S), np.zeros(2, S)],
        writes(lambda *_: np.array([136, 0], S), 1), EXACT, family="atomics",
    ),
    Case(
        "histogram_global", "atomics.cl", "histogram_global", (256,), (32,),
        lambda r: [r.integers(0, 256, 2000, np.uint8), np.zeros(256, U), U(1990)],
        writes(counted, 1), EXACT, family="histogram",
    ),
    Case(
        "histogram_local", "atomics.cl", "histogram_local", (96,), (48,),
        lambda r: [
            np.minimum(r.integers(0, 256, (500, 4)), r.integers(0, 256, (500, 4))).astype(np.uint8),
            np.zeros(256, U), U(500),
        ],
        writes(lambda x, bins, n: counted(x, bins, 4 * n), 1), EXACT, family="histogram",
    ),
    Case(
        "histogram_private", "atomics.cl", "histogram_private", (80,), (20,),
        lambda r: [r.integers(0, 2**32, 2400, U), np.zeros((4, 32), U), Local(640), U(30)],
        writes(private_bins, 1), EXACT, family="histogram",
    ),
    Case(
        "long_atomics", "atomics.cl", "long_atomics", (100,), (10,),
        lambda r: [
            np.array([2**63, 3], np.uint64), np.array([-(2**63), 2**63 - 1, 5, 6]),
            r.integers(-(2**55), 2**55, 100),
        ],
        writes(longs, 0, 1), EXACT, family="atomics",
    ),
    Case(
        "linked_lists", "atomics.cl", "linked_lists", (64,), (64,),
        lambda r: [r.integers(0, 999, 64, U), np.full(71, -1, S), np.zeros(7, S)],
        writes(linked, 1, 2), AS_SET, family="atomics",
    ),
]  # fmt: skip
