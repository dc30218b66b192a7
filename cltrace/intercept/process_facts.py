"""Facts about a process that are recorded when its tracing starts."""

import os
import platform
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cltrace.events.records import ProcessStarted
from cltrace.intercept.ranks import RANK_VARIABLES, rank_of
from cltrace.spool.settings import Settings

RECORDED_VARIABLES: Final = (
    *RANK_VARIABLES,
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "SLURM_JOB_ID",
    "SLURM_NTASKS",
    "SLURM_NODEID",
    "PYOPENCL_*",
    "POCL_*",
    "OCL_ICD_VENDORS",
    "OPENCL_VENDOR_PATH",
    "OPENCL_LAYERS",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_CACHE_DISABLE",
    "GPU_DEVICE_ORDINAL",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
    "OMP_NUM_THREADS",
)
"""The only environment variables that a trace may contain. They identify the device, the driver and
the rank. A name that ends with `*` stands for all that begin with what is before it."""

_RECORDED_PREFIXES: Final = tuple(
    name.removesuffix("*") for name in RECORDED_VARIABLES if name.endswith("*")
)


def process_started(settings: Settings, pyopencl_version: str) -> ProcessStarted:
    """Return the record of this process. Without arguments, its command line is only the first word."""
    return ProcessStarted(
        pid=os.getpid(),
        parent_pid=os.getppid(),
        host=socket.gethostname(),
        rank=rank_of(os.environ),
        argv=tuple(sys.orig_argv[: None if settings.record_arguments else 1]),
        working_directory=_working_directory(),
        executable=sys.executable or "",
        python_version=platform.python_version(),
        pyopencl_version=pyopencl_version,
        started_host_ns=time.perf_counter_ns(),
        environment=recorded_environment(os.environ) if settings.record_environment else (),
    )


def recorded_environment(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the variables that a trace may contain, sorted."""
    return tuple(
        (name, value)
        for name, value in sorted(environment.items())
        if name in RECORDED_VARIABLES or name.startswith(_RECORDED_PREFIXES)
    )


def _working_directory() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return ""
