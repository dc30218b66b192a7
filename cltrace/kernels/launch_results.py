"""Executing a launch for its results: every work-group, with known contents."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import KernelExecutionError
from cltrace.kernels.arguments import Argument
from cltrace.kernels.compiler import Form
from cltrace.kernels.execute.lanes import Grid, NDRange
from cltrace.kernels.execute.launch import Launch
from cltrace.kernels.execute.scheduler import Runner
from cltrace.kernels.execute.state import State, Unobserved
from cltrace.kernels.program import Program

MOST_GROUP_ITEMS: Final = 1 << 16
"""The most work-items of a work-group: more than any device has."""
MOST_ITEMS: Final = 1 << 24
"""The most work-items that are executed for their results."""
MOST_STEPS: Final = 4_000_000_000


def execute(
    program: Program,
    kernel: str,
    global_size: Sequence[int],
    local_size: Sequence[int],
    arguments: Sequence[Argument],
    *,
    global_offset: Sequence[int] | None = None,
    form: Form = Form.OPTIMISED,
    sub_group_size: int = 32,
    most_steps: int = MOST_STEPS,
) -> tuple[Mapping[int, NDArray[np.uint8]], frozenset[str]]:
    """Execute a launch. Returns the bytes of its buffers by number of argument, and what went wrong.

    Raises: `KernelError` for what is not supported, or goes over `most_steps`.
    """
    prepared = program.prepared(kernel, form)
    space = nd_range(global_size, local_size, global_offset)
    if space.work_items > MOST_ITEMS:
        raise KernelExecutionError(f"more than {MOST_ITEMS:,} work-items are not executed")
    grid = Grid(space, range(space.groups), sub_group_size)
    launch = Launch(prepared, arguments, grid)
    state = State(grid, launch.memory, launch.images, Unobserved())
    Runner(prepared, state, most_steps).run(launch.frame)
    notes = state.notes | {
        f"{item.name}: {item.outside} accesses out of bounds"
        for item in launch.memory.objects
        if item.outside
    }
    return launch.outputs(), frozenset(notes)


def nd_range(
    global_size: Sequence[int],
    local_size: Sequence[int],
    global_offset: Sequence[int] | None = None,
) -> NDRange:
    """The index space of a launch. Raises: `ValueError` for sizes that are none."""
    sizes = tuple(int(size) for size in global_size)
    local = tuple(int(size) for size in local_size)
    offset = tuple(int(start) for start in global_offset or (0,) * len(sizes))
    if not 1 <= len(sizes) <= 3 or len(local) != len(sizes) or len(offset) != len(sizes):
        raise ValueError(f"sizes of one to three dimensions are needed, not {sizes} and {local}")
    if min(*sizes, *local, 1) < 1:
        raise ValueError(f"sizes have to be positive, not {sizes} and {local}")
    if math.prod(local) > MOST_GROUP_ITEMS:
        raise ValueError(f"a work-group of {local} has more than {MOST_GROUP_ITEMS:,} work-items")
    return NDRange(sizes, local, offset)
