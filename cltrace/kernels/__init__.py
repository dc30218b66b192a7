"""Static and executed analysis of OpenCL C: the operations and memory accesses of a launch.

    program = parse(source, "-DN=16")
    counts = count(program, "scale", (1 << 20,), (256,), [BufferArgument(4 << 20), 2.0])

`parse` compiles with a confined clang. `count` executes a sample of work-groups in lock-step on
numpy and returns the launch's work: operations by type and cost class, memory transactions per access
site, footprints, trip counts and divergence. `execute` runs all work-groups and returns their
results. No OpenCL device is needed.
"""

from cltrace.kernels.arguments import (
    Argument,
    BufferArgument,
    ImageArgument,
    LocalArgument,
    SamplerArgument,
    StructArgument,
)
from cltrace.kernels.compiler import RegisterUse, Target
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.counts.count import count, count_written
from cltrace.kernels.counts.count_cache import CountCache
from cltrace.kernels.counts.group_sampling import Sampling, Trips
from cltrace.kernels.counts.records import KernelCounts
from cltrace.kernels.launch_results import execute
from cltrace.kernels.machine import Machine
from cltrace.kernels.program import Kernel, KernelParameter, Program, parse

__all__ = [
    "Argument",
    "BufferArgument",
    "CostClass",
    "CountCache",
    "ImageArgument",
    "Kernel",
    "KernelCounts",
    "KernelParameter",
    "LocalArgument",
    "Machine",
    "Program",
    "RegisterUse",
    "SamplerArgument",
    "Sampling",
    "StructArgument",
    "Target",
    "Trips",
    "count",
    "count_written",
    "execute",
    "parse",
]
