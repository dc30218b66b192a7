"""Integers of every width: builtins, operators, wrap-around."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.kernels.cases import EXACT, Argument, Array, Case, writes

S, U, L = np.int32, np.uint32, np.uint64
TYPES = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
CODES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


def leading_zeros(value: int, bits: int) -> int:
    return bits - int(value % (1 << bits)).bit_length()


def quotient(x: int, y: int) -> int:
    """Towards zero."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


OCLGRIND_LONG = "add_sat, sub_sat and mad_sat of long do not saturate, or where they should not"
INTEL_MAD = "mad_sat of 32 and 64 bits saturates wrongly"


class Width:
    """Every builtin of an integer type, on Python's integers."""

    def __init__(self, code: str) -> None:
        self.dtype = np.dtype(code)
        self.bits = 8 * self.dtype.itemsize
        self.low = int(np.iinfo(self.dtype).min)
        self.high = int(np.iinfo(self.dtype).max)

    def saturated(self, value: int) -> int:
        return min(max(value, self.low), self.high)

    def guarded(self, x: int, d: int, function: Callable[[int, int], int], otherwise: int) -> int:
        """The division where the kernel divides: comparisons are of promoted operands."""
        lowest = x % 2**self.bits == 2 ** (self.bits - 1)
        if self.bits < 32:
            # (T)1 << bits-1 is a positive int: a signed narrow x never equals it.
            lowest = x == 2 ** (self.bits - 1)
            wraps = d + 1 == 0
        else:
            wraps = (d + 1) % 2**self.bits == 0
        return otherwise if lowest or wraps else function(x, d)

    def results(self, x: int, y: int, z: int) -> list[int]:
        bits, m = self.bits, 2**self.bits
        d = y or 1
        shift = y & (bits - 1)
        turn = y % bits
        ux = x % m
        return [
            x + y,
            x - y,
            x * y,
            ux // (d % m),
            ux % (d % m),
            (x & y) | (~x ^ z),
            x << shift,
            x >> shift,
            abs(x),
            abs(x - y),
            self.saturated(x + y),
            self.saturated(x - y),
            (x + y) >> 1,
            (x + y + 1) >> 1,
            min(max(x, min(y, z)), max(y, z)),
            (x * y) >> bits,
            ((x * y) >> bits) + z,
            self.saturated(x * y + z),
            (ux << turn) | (ux >> (bits - turn)),
            leading_zeros(x, bits),
            ux.bit_count(),
            (x < y) + 2 * (x <= y) + 4 * (x == z) + 8 * (x != y) + 16 * (x != 0 and y == 0),
            self.guarded(x, d, quotient, 5),
            self.guarded(x, d, lambda a, b: a - b * quotient(a, b), 6),
            (x & ~z) | (y & z),
            -x,
        ]

    def every(self, a: Array, b: Array, c: Array, _: Array) -> Array:
        rows = [self.results(*map(int, xyz)) for xyz in zip(a, b, c, strict=True)]
        return wrapped(np.array(rows, object).T, self.dtype)

    def arguments(self, random: np.random.Generator) -> list[Argument]:
        edges = [self.low, self.low + 1, 0, 1, 2, self.high - 1, self.high, -1 % (self.high + 1)]
        corners = np.array([[x, y] for x in edges for y in edges], self.dtype)
        any_value = random.integers(self.low, self.high, (3, 192), self.dtype, endpoint=True)
        any_value[:2, :64] = corners.T
        any_value[1, 64:96] = random.integers(0, 9, 32)
        return [*map(np.ascontiguousarray, any_value), np.zeros((26, 192), self.dtype)]


def wrapped(values: Array, dtype: Any) -> Array:
    """Python's integers modulo the type's range."""
    bits = 8 * np.dtype(dtype).itemsize
    return np.asarray((values % 2**bits).astype(f"u{bits // 8}").view(dtype))


def bit_counts(values: Array, _: Array) -> Array:
    def row(v: int) -> list[int]:
        reverse = int(f"{v % 2**32:032b}"[::-1], 2)
        ones = [(v % 2**bits).bit_count() for bits in (64, 32, 16, 8)]
        zeros = [leading_zeros(v, bits) for bits in (64, 32, 16, 8)]
        return [*ones, *zeros, reverse, v % 2**32 ^ v % 2**32 >> 1]

    return np.array([row(int(v)) for v in values], U).T


def sparse(random: np.random.Generator, count: int) -> Array:
    """Numbers of every length, zero and all ones included."""
    values = random.integers(0, 2**64, count, L) >> random.integers(0, 64, count).astype(L)
    values[:2] = 0, 2**64 - 1
    return values


def twenty_four(a: Array, b: Array, c: Array, _: Array) -> Array:
    x, y = a.astype(object) >> 8, b.astype(object) >> 8
    u, v = c.astype(object) >> 8, b.view(U).astype(object) >> 8
    high, low = a.astype(object) % 2**16, b.astype(object) % 2**16
    upsampled = high * 2**16 + low
    rows = [x * y, x * y + a, u * v, u * v + c, upsampled, upsampled]
    return wrapped(np.array(rows, object), S)


def signed(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def narrow(values: Array, *_: Any) -> tuple[Array, Array, Array]:
    rows = []
    for value in values.tolist():
        a, b, c = value, value % 256, value
        for k in range(20):
            a = signed(a + 13, 8)
            a = signed(a ^ a << 3, 8)
            b = (b * 7 + a) % 256
            a = signed(a - 1, 8)
            b >>= k & 1
            c = signed(c * (b | 1), 16)
            c = signed(c - (a << 7), 16)
            a = signed(a + 1, 8)
            c -= 10007 * quotient(c, 10007)
        rows.append((a, b, c))
    s, u, w = np.array(rows).T
    return s.astype(np.int8), u.astype(np.uint8), w.astype(np.int16)


def digits(values: Array, text: Array, base: int) -> Array:
    out = text.copy()
    for row, value in zip(out, values.tolist(), strict=True):
        written = ""
        rest = value
        while rest or not written:
            written += "0123456789abcdefghijklmnopqrstuvwxyz"[rest % int(base)]
            rest //= int(base)
        row[: len(written) + 1] = np.frombuffer(written.encode() + b"\0", np.uint8)
    return out


def divisors(pairs: Array, *_: Any) -> tuple[Array, Array]:
    results = []
    for a, b in pairs.tolist():
        steps = 0
        while b:
            a, b = b, a - b * quotient(a, b)
            steps += 1
        results.append((abs(a), steps))
    both = np.array(results, S)
    return both[:, 0], both[:, 1]


def vectors(x: Array, y: Array, _: Array) -> Array:
    flags = np.stack([
        (x < y).any(1), (x < y).all(1), (x[:, :2] < 0).any(1), (y[:, 2:] < 0).all(1),
    ], 1)  # fmt: skip
    t = x.copy()
    t[:, 0], t[:, 2] = y[:, 1], y[:, 3]
    t[:, 3] += t[:, 2]
    t += 1
    u = x.view(U)
    rows = [
        -(x < y).astype(S), -((x == y) | (x > 5)).astype(S), -(x == 0).astype(S),
        x << (y & 31), (u >> U(3)).view(S) ^ (x >> 3), np.where(x > y, x - y, y - x),
        flags.astype(S), np.stack([y[:, 2], y[:, 0], x[:, 3], x[:, 1]], 1), t, 1 - t + ~y * 3,
    ]  # fmt: skip
    return np.array(rows, S)


CASES = [
    Case(
        "bit_counts", "integers.cl", "bit_counts", (128,), (32,),
        lambda r: [sparse(r, 128), np.zeros((10, 128), U)],
        writes(bit_counts, 1), EXACT, family="bits",
    ),
    *(
        Case(
            f"integers_{name}", "integers.cl", f"integers_{name}", (192,), (48,),
            Width(code).arguments, writes(Width(code).every, 3), EXACT, family="integers",
            oclgrind_wrong=OCLGRIND_LONG if name == "long" else "",
            intel_wrong=INTEL_MAD if name in ("int", "uint", "long") else "",
        )
        for name, code in zip(TYPES, CODES, strict=True)
    ),
    Case(
        "twenty_four_bits", "integers.cl", "twenty_four_bits", (100,), (20,),
        lambda r: [
            *(r.integers(-(2**31), 2**31, 100).astype(S) for _ in range(2)),
            r.integers(0, 2**32, 100, U), np.zeros((6, 100), S),
        ],
        writes(twenty_four, 3), EXACT, family="integers",
    ),
    Case(
        "narrow_arithmetic", "integers.cl", "narrow_arithmetic", (256,), (64,),
        lambda _: [
            np.arange(-128, 128).astype(np.int8), np.zeros(256, np.int8), np.zeros(256, np.uint8),
            np.zeros(256, np.int16),
        ],
        writes(narrow, 1, 2, 3), EXACT, family="integers",
    ),
    Case(
        "digits", "integers.cl", "digits", (64,), (8,),
        lambda r: [sparse(r, 64), np.zeros((64, 66), np.uint8), U(7)],
        writes(digits, 1), EXACT, family="integers",
    ),
    Case(
        "greatest_divisor", "integers.cl", "greatest_divisor", (200,), (25,),
        lambda r: [r.integers(-9999, 9999, (200, 2)).astype(S), np.zeros(200, S), np.zeros(200, S)],
        writes(divisors, 1, 2), EXACT, family="integers",
    ),
    Case(
        "vector_integers", "integers.cl", "vector_integers", (64,), (16,),
        lambda r: [
            r.integers(-20, 20, (64, 4)).astype(S), r.integers(0, 40, (64, 4)).astype(S) - S(5),
            np.zeros((10, 64, 4), S),
        ],
        writes(vectors, 2), EXACT, family="vectors",
    ),
]  # fmt: skip
