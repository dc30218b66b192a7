"""OpenCL C understood: what a launch has to do, counted exactly.

    program = parse(source, "-DN=16")
    counts = count(program, "scale", (1 << 20,), (256,), [BufferArgument(4 << 20), 2.0])

`parse` compiles, in confinement, with clang; `count` executes a sample of work-groups in lock-step on
numpy and says what the launch does: operations by type and class, memory transactions by access site,
footprints, trips, divergence. `execute` runs all work-groups for their results. `generate` makes random
kernels. Nothing here needs an OpenCL device.
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
from cltrace.kernels.counts.count import count
from cltrace.kernels.counts.count_cache import Configurations
from cltrace.kernels.counts.records import KernelCounts
from cltrace.kernels.counts.sampling import Sampling, Trips
from cltrace.kernels.launch_results import execute
from cltrace.kernels.machine import Machine
from cltrace.kernels.program import Kernel, KernelParameter, Program, parse

__all__ = [
    "Argument",
    "BufferArgument",
    "Configurations",
    "CostClass",
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
    "execute",
    "parse",
]
