"""Work-item functions, three dimensions, group copies."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from tests.kernels.blas import F, floats
from tests.kernels.cases import EXACT, Argument, Array, Case, Local, writes

S = np.int32


def geometry(size: tuple[int, ...], local: tuple[int, ...], _: Array) -> Array:
    dimensions = len(size)
    full = [(*t, 1, 1)[:3] for t in (size, local)]
    (g, l_) = np.array(full)
    z, y, x = np.indices(g[::-1])
    ids = np.stack([x, y, z], -1).reshape(-1, 3)
    count = len(ids)
    fixed = [np.tile(v, (count, 1)) for v in (g, l_, g // l_, np.zeros(3))]
    first = np.full((count, 1), dimensions)
    return np.concatenate([first, ids, ids % l_, ids // l_, *fixed], 1).astype(np.uint64)


def identifiers(size: tuple[int, ...]) -> Callable[..., list[Argument]]:
    return lambda _: [np.zeros((math.prod(size), 22), np.uint64)]


def dimension(d: int) -> Callable[..., list[Argument]]:
    return lambda _: [np.zeros((6, 4), np.uint64), np.uint32(d)]


def volume_sums(values: Array, _: Array) -> Array:
    d, h, w = values.shape
    groups = values.reshape(d // 2, 2, h // 5, 5, w // 3, 3)
    weighted = (groups * np.array([1, 2, 3], S)).sum(5, dtype=S, keepdims=True)
    sums = weighted.sum(1, dtype=S, keepdims=True)[:, :, :, ::-1]
    return np.asarray(sums - groups[:, ::-1, :, :, :, ::-1])


def by_group(values: Array, _o: Array, _t: Local, each: int) -> Array:
    out = values.reshape(-1, int(each), 4)[:, ::-1].copy()
    half = int(each) // 2
    out[:, int(each) - half :] = out[:, int(each) - half :, ::-1]
    return out


def strided_copy(values: Array, _: Array, columns: int) -> Array:
    a = values.reshape(-1)[: 12 * columns].reshape(12, columns)
    heads = np.stack([values.reshape(-1)[g : g + 12][::-1] for g in range(columns)], 1)
    return np.asarray(a + heads)


NO_SIZES = "get_global_size of a dimension beyond 2 is 0; the specification says 1"
SHAPES = {
    "geometry_1d": ((35,), (7,)),
    "geometry_2d": ((10, 9), (5, 3)),
    "geometry_3d": ((6, 10, 4), (3, 5, 2)),
    "geometry_3d_odd": ((9, 7, 3), (3, 7, 1)),
}

CASES = [
    *(
        Case(
            name, "workitems.cl", "geometry", size, local,
            identifiers(size), writes(partial(geometry, size, local), 0), EXACT,
            family="work-items",
        )
        for name, (size, local) in SHAPES.items()
    ),
    *(
        Case(
            f"beyond_{d}", "workitems.cl", "beyond", (6,), (3,),
            dimension(d),
            writes(lambda out, _: out + np.array([0, 1, 1, 1], np.uint64), 0), EXACT,
            family="work-items", pocl_wrong=NO_SIZES if d > 2 else "",
            oclgrind_wrong=NO_SIZES if d > 2 else "",
        )
        for d in (1, 2, 3, 9)
    ),
    Case(
        "volume_sums", "workitems.cl", "volume_sums", (12, 15, 4), (3, 5, 2),
        lambda r: [r.integers(-99, 99, (4, 15, 12)).astype(S), np.zeros((4, 15, 12), S)],
        writes(volume_sums, 1), EXACT, family="work-items",
    ),
    Case(
        "copy_by_group", "workitems.cl", "copy_by_group", (35,), (7,),
        lambda r: [floats(r, 101, 4), np.zeros((100, 4), F), Local(320), np.uint32(20)],
        writes(lambda x, *rest: by_group(x[:100], *rest), 1), EXACT, family="async copy",
    ),
    Case(
        "copy_strided", "workitems.cl", "copy_strided", (40,), (5,),
        lambda r: [r.integers(-99, 99, 120).astype(S), np.zeros((12, 8), S), np.uint32(8)],
        writes(strided_copy, 1), EXACT, family="async copy",
    ),
    Case("nothing", "workitems.cl", "nothing", (12,), (4,), lambda _: [], list, EXACT),
]  # fmt: skip
