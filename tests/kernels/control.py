"""Branches, loops, early returns, barriers in branches, pointers."""

import numpy as np

from tests.kernels.cases import EXACT, Array, Case, Local, writes
from tests.kernels.integers import signed

S, U = np.int32, np.uint32


def remainder(v: int, d: int) -> int:
    return abs(v) % d * (1 if v >= 0 else -1)


def fall_through(values: Array, _: Array) -> Array:
    def one(v: int) -> int:
        which, r = remainder(v, 9), 0
        if which == 0:
            return 100
        if which == -4:
            return v * v
        if which in (1, 2, 3):
            r = 11 if which == 1 else 10
            if v > 50:
                return r
        if which in (1, 2, 3, 7):
            r *= 2
        return r - 3

    return np.array([one(v) for v in values.tolist()], S)


def jumps(values: Array, _: Array, bound: int) -> Array:
    results = []
    for v in values.tolist():
        steps = 0
        while v > 1 and steps != bound:
            steps += 1
            v = (3 * v + 1) % 2**32 if v & 1 else v >> 1
        results.append(steps << 16 | v & 0xFFFF)
    return np.array(results, U)


def looped(v: int) -> int:
    total, i = 0, 0
    while True:
        i += 1
        if i % 3:
            for j in range(i + 1):
                if (j ^ v) & 1:
                    continue
                total += j
                while total > 1000:
                    total -= v & 63 | 1
                    if total == 777:
                        return total
        if i >= v & 31:
            return total


def early(values: Array, out: Array) -> Array:
    out = out.copy().reshape(-1, 32)
    for group, row in enumerate(values.reshape(-1, 32)):
        if group != 1:
            out[group] = np.where(row[np.arange(32) ^ 1] < 0, out[group], row[::-1])
    return out


def uniform(values: Array, out: Array) -> Array:
    rows = values.reshape(-1, 32)
    return np.where(rows[:, :1] & 1, out.reshape(-1, 32), np.roll(rows, -5, 1))


def branches(data: Array, rounds: Array) -> Array:
    rows = []
    for row, many in zip(data.reshape(-1, 24), rounds.tolist(), strict=True):
        a = row[::-1]
        if many > 2:
            a = row
            for r in range(min(many, 6)):
                a = np.roll(a, -r) * S(3) + np.arange(24, dtype=S)
        rows.append(a)
    return np.concatenate(rows)


NUMBERS = (2, 3, 5, 7, 11, 13, 17, 19)


def pointers(values: Array, out: Array, table: Array) -> Array:
    result = out.copy().reshape(5, -1)

    def folded(own: list[int]) -> int:
        total = 0
        for v in own:
            total = signed(total * 5 + v, 32)
        return total

    for i, v in enumerate(values.tolist()):
        row = values[i & ~15 : (i & ~15) + 16].tolist()
        item = i & 15
        own = [0] * 6
        for k in range(6):
            own[(k * 5 + item) % 6] = v + k
        first, whole = folded(own[item & 3 : (item & 3) + 3]), folded(own)
        crossed = item + 1
        for w in row[: item + 1]:
            crossed ^= w
        a, b = item & 7, item >> 1
        product = (NUMBERS[a] + NUMBERS[7 - a]) * (int(table[b]) + int(table[7 - b]))
        result[:, i] = [
            signed(first + whole + 1, 32), sum(2 * w for w in row[item & 7 : (item & 7) + 8 : 2]),
            crossed, product + 5 - (item & 3), signed(whole - 1, 32),
        ]  # fmt: skip
    return result


def reinterpreted(values: Array, _: Array) -> Array:
    v = values.astype(np.uint64)
    i = np.arange(v.size, dtype=np.uint64)
    first = (v & 0xFF) | (v >> 24) << 8 | (v >> 16) << 16
    low = (v & 0xFFFF) | (v >> 8 & 0xFF) << 16
    high = v ^ 0xFFFFFFFF
    second = ((high << 32 | low) >> 16) + np.minimum(i, 20)
    return np.stack([first, second, low ^ high], 1).astype(U)


def primes(_p: Array, _b: Local, n: int) -> Array:
    return np.array([v > 1 and all(v % d for d in range(2, v)) for v in range(n)], np.uint8)


def queens(_: Array, n: int) -> Array:
    def count(row: int, columns: tuple[int, ...]) -> int:
        if row == n:
            return 1
        return sum(
            count(row + 1, (*columns, c))
            for c in range(n)
            if all(c != d and abs(c - d) != row - r for r, d in enumerate(columns))
        )

    return np.array([count(1, (first,)) for first in range(n)], U)


def small(random: np.random.Generator, *shape: int) -> Array:
    return random.integers(-100, 100, shape, S)


def same_out(count: int) -> Array:
    return np.full(count, -7, S)


CASES = [
    Case(
        "fall_through", "control.cl", "fall_through", (192,), (24,),
        lambda r: [small(r, 192), np.zeros(192, S)], writes(fall_through, 1), EXACT,
        family="switch",
    ),
    Case(
        "jumps", "control.cl", "jumps", (200,), (50,),
        lambda r: [r.integers(0, 2000, 200, U), np.zeros(200, U), U(100)], writes(jumps, 1), EXACT,
        family="goto",
    ),
    Case(
        "loops", "control.cl", "loops", (128,), (32,),
        lambda r: [r.integers(0, 10000, 128, S), np.zeros(128, S)],
        writes(lambda x, _: np.array([looped(v) for v in x.tolist()], S), 1), EXACT,
        family="loops",
    ),
    Case(
        "early_return", "control.cl", "early_return", (128,), (32,),
        lambda r: [small(r, 128), same_out(128)], writes(early, 1), EXACT, family="early return",
    ),
    Case(
        "uniform_return", "control.cl", "uniform_return", (256,), (32,),
        lambda r: [small(r, 256), same_out(256)], writes(uniform, 1), EXACT,
        family="early return",
    ),
    Case(
        "barriers_in_branches", "control.cl", "barriers_in_branches", (144,), (24,),
        lambda r: [small(r, 144), np.array([0, 3, 9, 2, 6, 5], S)], writes(branches, 0), EXACT,
        family="barriers",
    ),
    Case(
        "pointers", "control.cl", "pointers", (96,), (16,),
        lambda r: [small(r, 96), np.zeros(480, S), small(r, 8)], writes(pointers, 1), EXACT,
        family="pointers",
    ),
    Case(
        "reinterpreted", "control.cl", "reinterpreted", (64,), (16,),
        lambda r: [r.integers(0, 2**32, 64, U), np.zeros(192, U)], writes(reinterpreted, 1),
        EXACT, family="pointers",
    ),
    Case(
        "sieve", "control.cl", "sieve", (20,), (20,),
        lambda _: [np.zeros(500, np.uint8), Local(64), S(500)], writes(primes, 0), EXACT,
        family="loops",
    ),
    Case(
        "queens", "control.cl", "queens", (7,), None, lambda _: [np.zeros(7, U), S(7)],
        writes(queens, 0), EXACT, family="loops",
    ),
]  # fmt: skip
