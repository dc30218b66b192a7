"""Common parts of the programs of advice about kernels, for GPUs. See `workload`."""

from functools import cache

import numpy as np
import pyopencl as cl
from workload import Variant, buffer, case, context, queue

LAUNCHES = 200
ITEMS = 1 << 20
SIDE = 2048


@cache
def build(source: str, options: str = "") -> cl.Program:
    """Return the program of a source, which is built once."""
    return cl.Program(context, source).build(options)


def launches(
    source: str,
    sizes: tuple[tuple[int, ...], tuple[int, ...] | None],
    arguments: tuple[object, ...],
    options: str = "",
) -> Variant:
    """Return a variant that launches the only kernel of a source."""
    (kernel,) = build(source, options).all_kernels()
    kernel.set_args(*arguments)
    cl.enqueue_nd_range_kernel(queue, kernel, *sizes).wait()

    def run() -> None:
        for _ in range(LAUNCHES):
            kernel(queue, *sizes, *arguments)

    return run


def pair(
    before: str, after: str, arguments: tuple[object, ...], size: int = ITEMS, local: int = 256
) -> tuple[Variant, Variant]:
    """Return the variants of two sources with the same launch of one dimension."""
    sizes = (size,), (local,)
    return launches(before, sizes, arguments), launches(after, sizes, arguments)


def sound(name: str, source: str, sizes: tuple[tuple[int, ...], tuple[int, ...] | None]) -> None:
    """Add a case without a mistake: both variants are the same."""

    @case(name, "")
    def add() -> tuple[Variant, Variant]:
        whole = buffer(4 * 4 * ITEMS), buffer(4 * 4 * ITEMS), np.int32(SIDE)
        variant = launches(source, sizes, whole)
        return variant, variant
