"""Sparse matrices, graphs, clustering, linear systems, dynamic programming."""

from typing import Any

import numpy as np

from tests.kernels.blas import CONTRACTED, F, floats
from tests.kernels.cases import AS_SET, EXACT, Argument, Array, Case, Local, within, writes

S, U = np.int32, np.uint32
NONE = 2**32 - 1


def rows_of(random: np.random.Generator, rows: int, columns: int) -> tuple[Array, Array]:
    """Starts of rows of 0 to 19 elements, and the elements' columns."""
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 20, rows))]).astype(S)
    return starts, random.integers(0, columns, starts[-1]).astype(S)


def csr(random: np.random.Generator) -> list[Argument]:
    starts, columns = rows_of(random, 90, 70)
    values = floats(random, columns.size)
    return [starts, columns, values, floats(random, 70), np.zeros(90, F), S(90)]


def spmv_scalar(starts: Array, columns: Array, values: Array, x: Array, y: Array, _: int) -> Array:
    out = np.zeros_like(y)
    for row in range(y.size):
        for i in range(starts[row], starts[row + 1]):
            out[row] += values[i] * x[columns[i]]
    return out


def spmv_vector(starts: Array, columns: Array, values: Array, x: Array, y: Array, _: int) -> Array:
    lanes = np.zeros((y.size, 8), F)
    for row in range(y.size):
        for i in range(starts[row], starts[row + 1]):
            lanes[row, (i - starts[row]) % 8] += values[i] * x[columns[i]]
    fours = lanes[:, :4] + lanes[:, 4:]
    twos = fours[:, :2] + fours[:, 2:]
    return np.asarray(twos[:, 0] + twos[:, 1])


def ell(random: np.random.Generator) -> list[Argument]:
    lengths = random.integers(0, 9, 120)
    columns = np.where(np.arange(8)[:, None] < lengths, random.integers(0, 120, (8, 120)), -1)
    return [columns.astype(S), random.random((8, 120)), random.random(120), np.zeros(120), U(8)]


def spmv_ell(columns: Array, values: Array, x: Array, *_: Any) -> Array:
    total = np.zeros(columns.shape[1])
    for c, v in zip(columns, values, strict=True):
        total = total + np.where(c < 0, 0, v * x[c])
    return total


def bfs(random: np.random.Generator) -> list[Argument]:
    starts, targets = rows_of(random, 256, 256)
    levels = random.choice(np.array([-1, -1, -1, 0, 1, 2], S), 256)
    return [starts, targets, levels, S(2), np.zeros(256, S), np.zeros(1, S)]


def bfs_step(starts: Array, targets: Array, levels: Array, level: int, *_: Any) -> Any:
    levels = levels.copy()
    found = []
    for node in np.flatnonzero(levels == level):
        for t in targets[starts[node] : starts[node + 1]]:
            if levels[t] == -1:
                levels[t] = level + 1
                found.append(t)
    return levels, np.array(found + [0] * (256 - len(found)), S), np.array([len(found)], S)


def relaxing(random: np.random.Generator) -> list[Argument]:
    edges = random.integers(0, 100, (300, 4)).astype(U)
    now = np.where(random.random(100) < 0.3, NONE, random.integers(0, 500, 100)).astype(U)
    return [edges, now, now.copy()]


def relaxed(edges: Array, now: Array, following: Array) -> Array:
    following = following.copy()
    for source, target, cost, _ in edges:
        if now[source] != NONE:
            following[target] = min(following[target], now[source] + cost)
    return following


def kmeans(points: Array, centres: Array, _: int, member: Array, moved: Array) -> Any:
    d = np.zeros((centres.shape[0], points.shape[1]), F)
    for f in range(5):
        t = points[f] - centres[:, f : f + 1]
        d = d + t * t
    best = np.argmin(d, 0).astype(S)
    return best, moved + S((best != member).sum())


def distances(random: np.random.Generator) -> list[Argument]:
    d = np.where(random.random((40, 40)) < 0.3, NONE, random.integers(1, 100, (40, 40)))
    np.fill_diagonal(d, 0)
    return [d.astype(U), np.full((40, 40), 99, U), U(7)]


def floyd_warshall(d: Array, via: Array, k: int) -> tuple[Array, Array]:
    through = np.minimum(d[:, k : k + 1].astype(np.uint64) + d[k], NONE).astype(U)
    return np.minimum(d, through), np.where(through < d, k, via)


def solved(m: Array, *_: Any) -> Array:
    size = len(m)
    solution = np.linalg.solve(m[:, :size], m[:, size:])
    return np.concatenate([np.eye(size), solution], 1)


def systems(random: np.random.Generator) -> list[Argument]:
    matrix = random.random((12, 13)) + 4 * np.eye(12, 13)[random.permutation(12)]
    return [matrix, S(12), Local(4)]


def lu_step(a: Array, _: int, k: int) -> Array:
    out = a.copy()
    out[k + 1 :, k + 1 :] -= a[k + 1 :, k : k + 1] * a[k, k + 1 :]
    return out


def pathfinder(rows: int, wall: Array, start: Array, *_: Any) -> Array:
    best = start.astype(np.int64)
    for row in wall[:rows]:
        p = np.pad(best, 1, constant_values=2**31 - 1)
        best = np.minimum(p[1:-1], np.minimum(p[:-2], p[2:])) + row
    return best.astype(S)


def needle(a: Array, b: Array, scores: Array, n: int, gap: int) -> Array:
    s = np.zeros_like(scores)
    s[0] = s[:, 0] = -np.arange(n + 1) * gap
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            match = s[i - 1, j - 1] + (3 if a[i - 1] == b[j - 1] else -2)
            s[i, j] = max(match, s[i - 1, j] - gap, s[i, j - 1] - gap)
    return s


CASES = [
    Case(
        "spmv_csr_scalar", "graphs.cl", "spmv_csr_scalar", (96,), (16,), csr,
        writes(spmv_scalar, 4), EXACT, family="spmv", intel_wrong=CONTRACTED,
    ),
    Case(
        "spmv_csr_vector", "graphs.cl", "spmv_csr_vector", (768,), (64,), csr,
        writes(spmv_vector, 4), EXACT, family="spmv",
    ),
    Case(
        "spmv_ell", "graphs.cl", "spmv_ell", (120,), (24,), ell, writes(spmv_ell, 3), EXACT,
        family="spmv",
    ),
    Case(
        "bfs_step", "graphs.cl", "bfs_step", (256,), (32,), bfs, writes(bfs_step, 2, 4, 5),
        AS_SET, family="bfs",
    ),
    Case(
        "relax_edges", "graphs.cl", "relax_edges", (300,), (50,), relaxing, writes(relaxed, 2),
        EXACT, family="graph",
    ),
    Case(
        "kmeans_assign", "graphs.cl", "kmeans_assign", (300,), (60,),
        lambda r: [
            floats(r, 5, 300), floats(r, 7, 5), S(7), r.integers(0, 7, 300).astype(S),
            np.zeros(1, S),
        ],
        writes(kmeans, 3, 4), EXACT, family="k-means",
    ),
    Case(
        "floyd_warshall_step", "graphs.cl", "floyd_warshall_step", (40, 40), (8, 5), distances,
        writes(floyd_warshall, 0, 1), EXACT, family="floyd-warshall",
    ),
    Case(
        # A well-conditioned system: about n**2 roundings, grown a little.
        "gauss_jordan", "graphs.cl", "gauss_jordan", (16,), (16,), systems, writes(solved, 0),
        within(0, 12**3 * 2.0**-53), family="gauss-jordan",
    ),
    Case(
        "lu_step", "graphs.cl", "lu_step", (40, 40), (8, 8),
        lambda r: [floats(r, 37, 37), S(37), S(5)], writes(lu_step, 0), EXACT, family="lu",
    ),
    Case(
        "pathfinder", "graphs.cl", "pathfinder", (160,), (40,),
        lambda r: [
            S(4), r.integers(0, 10, (4, 121)).astype(S), r.integers(0, 30, 121).astype(S),
            np.zeros(121, S), S(121),
        ],
        writes(pathfinder, 3), EXACT, family="pathfinder",
    ),
    Case(
        "needle", "graphs.cl", "needle", (32,), (32,),
        lambda r: [
            r.integers(65, 69, 32).astype(np.int8), r.integers(65, 69, 32).astype(np.int8),
            np.zeros((33, 33), S), S(32), S(2),
        ],
        writes(needle, 2), EXACT, family="needle",
    ),
]  # fmt: skip
