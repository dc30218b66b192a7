"""Structs with padding, nested, packed; unions; arrays in private memory."""

from typing import Any

import numpy as np

from tests.kernels.blas import F
from tests.kernels.cases import EXACT, Array, Case, Local, Vector, writes
from tests.kernels.integers import signed

S, U = np.int32, np.uint32
RECORD = np.dtype(
    [
        ("tag", np.int8, 3), ("code", np.int16), ("weight", np.float64), ("flag", np.uint8),
        ("counts", S, 2),
    ],
    align=True,
)  # fmt: skip
PACKET = np.dtype([("kind", np.uint8), ("value", U), ("check", np.uint16)])
SCENE = np.dtype([("origin", F, 2), ("shapes", [("size", F), ("kind", S)], 2)])


def filled(random: np.random.Generator, dtype: np.dtype[Any], count: int) -> Array:
    """Structs of any bytes, with numbers where there are floats."""
    values = random.integers(0, 256, count * dtype.itemsize, np.uint8).view(dtype)
    if "weight" in (dtype.names or ()):
        values["weight"] = random.random(count)
        values["counts"] %= 1000
    return values


def records(values: Array, _o: Array, _s: Array) -> tuple[Array, Array]:
    r = values.copy()
    r["tag"][:, 0] ^= r["tag"][:, 2]
    r["tag"][:, 1] += 1
    r["code"] = -r["code"]
    r["weight"] *= r["flag"]
    r["counts"][np.arange(len(r)), r["flag"] & 1] += 10
    return r[::-1], np.array([32, 24, 3, 16], U)


GIVEN = np.array([((1.5, 2.5), [(3.0, 1), (4.0, 0)])], SCENE)


def scenes(values: Array, _: Array, given: Vector) -> Array:
    origin = given.values["origin"][0]
    (size0, _k0), (size1, _k1) = given.values["shapes"][0]
    size0 = size0 + values
    columns = [
        origin[0] + values, np.full_like(values, origin[1] - F(1)), size0 * size0,
        F(2) * size0 + F(2) * size1,
    ]  # fmt: skip
    return np.stack(columns, 1)


def unions(values: Array, _: Array) -> Array:
    v = (values >> 24) | (values & U(0xFFFF00)) | (values << 24)
    low = v & U(0xFFFF)
    p = (((v >> 16) + low) << 16) | low
    q = (p >> 8).astype(F).view(U)
    return np.stack([p, q ^ (q >> 16)], 1)


def packets(values: Array, *_: Any) -> Array:
    rolled = np.roll(values.reshape(-1, 8), 1, 1).ravel()
    kind, value, check = (rolled[name].astype(np.uint64) for name in ("kind", "value", "check"))
    return np.asarray(kind << 48 | value << 16 | check)


def walked(links: Array, heads: Array, _: Array) -> Array:
    sums = []
    for head in heads.tolist():
        last = [0, 1, 2, 3]
        total = steps = 0
        at = head
        while at >= 0:
            key, following = links[at].tolist()
            last[steps & 3] = key
            steps += 1
            total = signed(total + key * steps, 32)
            at = following
        for i in range(4):
            total = signed(total * 31 + last[(steps + i) & 3], 32)
        sums.append(total)
    return np.array(sums, S)


def chains(random: np.random.Generator) -> Array:
    """Links to lower places, so that all lists end."""
    at = np.arange(200)
    following = np.where(random.random(200) < 0.1, -1, (random.random(200) * at).astype(int) - 1)
    return np.stack([random.integers(-999, 999, 200), np.maximum(following, -1)], 1).astype(S)


def executed(program: list[int]) -> int:
    stack: list[int] = []
    pc = -1
    while (pc := pc + 1) < len(program):
        op = program[pc]
        if op < 128 or len(stack) < 2:
            if len(stack) < 16:
                stack.append(op & 127)
            continue
        b, a = stack.pop(), stack.pop()
        which = op & 7
        if which == 3:
            stack += [b, a]
        elif which == 4:
            pc += 2 if a < b else 0
        else:
            results = (a + b, a - b, a * b)
            stack.append(signed(results[which] if which < 3 else a ^ b, 32))
    total = 0
    while stack:
        total = signed(total * 7 + stack.pop(), 32)
    return total


CASES = [
    Case(
        "records", "structs.cl", "records", (60,), (12,),
        lambda r: [filled(r, RECORD, 60), np.zeros(60, RECORD), np.zeros(4, U)],
        writes(records, 1, 2), EXACT, family="structs",
    ),
    Case(
        "scenes", "structs.cl", "scenes", (64,), (16,),
        lambda r: [r.random(64).astype(F), np.zeros((64, 4), F), Vector(GIVEN)],
        writes(scenes, 1), EXACT, family="structs",
    ),
    Case(
        "unions", "structs.cl", "unions", (64,), (16,),
        lambda r: [r.integers(0, 2**32, 64, U), np.zeros((64, 2), U)], writes(unions, 1), EXACT,
        family="unions",
    ),
    Case(
        "packed_structs", "structs.cl", "packed_structs", (64,), (8,),
        lambda r: [filled(r, PACKET, 64), np.zeros(64, np.uint64), Local(56)],
        writes(packets, 1), EXACT, family="structs",
    ),
    Case(
        "walk_lists", "structs.cl", "walk_lists", (100,), (25,),
        lambda r: [chains(r), r.integers(0, 200, 100, S), np.zeros(100, S)],
        writes(walked, 2), EXACT, family="structs",
    ),
    Case(
        "stack_machine", "structs.cl", "stack_machine", (96,), (16,),
        lambda r: [r.integers(0, 256, (96, 40), np.uint8), np.zeros(96, S), S(40)],
        writes(lambda p, *_: np.array([executed(row) for row in p.tolist()], S), 1), EXACT,
        family="private arrays",
    ),
]  # fmt: skip
