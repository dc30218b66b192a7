"""Trial of a driver: build and run one kernel. JSON on stdout; run as a child, because drivers crash.

`python -m cltrace.intercept.trial_build PLATFORM DEVICE`, both by their positions in pyopencl's lists.
"""

import json
import sys
import time
from typing import Final

import numpy as np
import pyopencl as cl
from pyopencl import _cl

from cltrace.events.statuses import status_name

_WIDTH: Final = 16
"""Elements of the widest vectors, at which some compilers fail."""
_SOURCE: Final = (
    "kernel void cltrace_trial(global int *a) {{ vstore16(vload16(0, a) + (int){number}, 0, a); }}"
)


def trial_build(device: cl.Device) -> str:
    """Build and run a kernel on a device, and return what went wrong; empty if nothing did."""
    # A source that is new each time is in no cache, neither pyopencl's nor the driver's.
    number = time.time_ns() % 2**31
    context = cl.Context([device])
    program = _cl._Program(context, _SOURCE.format(number=number))
    try:
        program._build(b"")
    except cl.Error as error:
        log = program.get_build_info(device, cl.program_build_info.LOG)
        return f"builds nothing: {_describe_error(str(log or ''), error)}"
    try:
        result = _run(context, cl.Kernel(cl.Program(program), "cltrace_trial"))
    except cl.Error as error:
        return f"builds a kernel that does not run: {_describe_error('', error)}"
    if result == number:
        return ""
    return f"builds a kernel that computes {result} in place of {number}"


def _run(context: cl.Context, kernel: cl.Kernel) -> int:
    """Return the number that the kernel wrote."""
    result = np.zeros(_WIDTH, np.int32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffer = cl.Buffer(context, flags, hostbuf=result)
    queue = cl.CommandQueue(context)
    kernel.set_arg(0, buffer)
    cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)
    cl.enqueue_copy(queue, result, buffer)
    return int(result[-1])


def _describe_error(log: str, error: cl.Error) -> str:
    """Return the most telling line of a build log, its first error or its first line, and the status."""
    lines = [line.strip() for line in log.strip("\0").splitlines() if line.strip()]
    telling = next((line for line in lines if "error" in line.lower()), next(iter(lines), ""))
    status = f"{error.routine} failed: {status_name(int(error.code))}"
    return f"{telling} ({status})" if telling else status


if __name__ == "__main__":
    _platform, _device = map(int, sys.argv[1:])
    sys.stdout.write(json.dumps(trial_build(cl.get_platforms()[_platform].get_devices()[_device])))
