"""Execution of a launch for its results: all work-groups, with known buffer contents."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import KernelExecutionError
from cltrace.kernels.arguments import Argument
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.execute.lanes import Grid, NDRange
from cltrace.kernels.execute.launch import LaunchMemory
from cltrace.kernels.execute.scheduler import Runner
from cltrace.kernels.execute.state import ExecutionState, NullObserver
from cltrace.kernels.program import Program

MAX_GROUP_ITEMS: Final = 1 << 16
"""Limit on the work-items per work-group; no device allows more."""
MAX_ITEMS: Final = 1 << 24
"""Limit on the work-items of a launch that `execute` runs."""
MAX_STEPS: Final = 4_000_000_000
"""Default budget of an execution, in instructions summed over all work-items."""


def execute(
    program: Program,
    kernel: str,
    global_size: Sequence[int],
    local_size: Sequence[int],
    arguments: Sequence[Argument],
    *,
    global_offset: Sequence[int] | None = None,
    form: CodeForm = CodeForm.OPTIMISED,
    sub_group_size: int = 32,
    max_steps: int = MAX_STEPS,
) -> tuple[Mapping[int, NDArray[np.uint8]], frozenset[str]]:
    """Execute a launch. Return its buffers' bytes by argument index, and notes on program faults.

    `max_steps` limits the execution, in instructions summed over all work-items.

    Raises: `KernelError` for an unsupported construct, and when the execution exceeds `max_steps`.
    """
    prepared = program.prepare(kernel, form)
    ndrange = nd_range(global_size, local_size, global_offset)
    if ndrange.work_items > MAX_ITEMS:
        raise KernelExecutionError(
            f"cannot execute more than {MAX_ITEMS:,} work-items, the launch has {ndrange.work_items:,}"
        )
    grid = Grid(ndrange, range(ndrange.groups), sub_group_size)
    launch = LaunchMemory(prepared, arguments, grid)
    state = ExecutionState(
        grid=grid, memory=launch.memory, images=launch.images, observer=NullObserver()
    )
    Runner(prepared, state, max_steps).run(launch.frame)
    return launch.outputs(), frozenset(state.notes | launch.memory.faults())


def nd_range(
    global_size: Sequence[int],
    local_size: Sequence[int],
    global_offset: Sequence[int] | None = None,
) -> NDRange:
    """Build the index space of a launch. Raises: `ValueError` for invalid sizes."""
    sizes = tuple(int(size) for size in global_size)
    local = tuple(int(size) for size in local_size)
    offset = tuple(int(start) for start in global_offset or (0,) * len(sizes))
    if not 1 <= len(sizes) <= 3 or len(local) != len(sizes) or len(offset) != len(sizes):
        raise ValueError(
            f"a launch needs sizes of one to three dimensions, not {sizes} and {local}"
        )
    if min(*sizes, *local, 1) < 1:
        raise ValueError(f"sizes must be positive, not {sizes} and {local}")
    if math.prod(local) > MAX_GROUP_ITEMS:
        raise ValueError(f"a work-group of {local} has more than {MAX_GROUP_ITEMS:,} work-items")
    return NDRange(sizes, local, offset)
