"""First stage of `counters.py measure`: build jobs with NVIDIA's OpenCL, keep PTX, time launches."""

import re
import statistics
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.counter_jobs import Buffer, Job, Local, Scalar, contents_of
from benchmarks.counter_stages import (
    append_row,
    first_line,
    numbered_jobs,
    ptx_path,
    stage_parser,
)

_WARM_RUNS: Final = 3
_TIMED_RUNS: Final = 20
_USED: Final = re.compile(r"Used (\d+) registers")
_SPILLED: Final = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


def main() -> None:
    """Build and time the jobs that the command line names."""
    parser = stage_parser()
    parser.add_argument("--platform", required=True)
    arguments = parser.parse_args()
    jobs = numbered_jobs(arguments.jobs, arguments.numbers)
    build(jobs, arguments.directory, arguments.rows, arguments.platform)


class OpenClBench:
    """The first GPU of the platform of a name, with a queue that records times."""

    def __init__(self, platform: str) -> None:
        device = next(
            device
            for candidate in cl.get_platforms()
            if platform in candidate.name
            for device in candidate.get_devices()
        )
        self._context = cl.Context([device])
        properties = cl.command_queue_properties.PROFILING_ENABLE
        self._queue = cl.CommandQueue(self._context, properties=properties)
        self._device = device
        self._reports_registers = "cl_nv_compiler_options" in device.extensions

    def measure(self, number: int, job: Job, directory: Path) -> dict[str, Any]:
        """Build a job, write its PTX to the directory, and return its facts and times in ns."""
        program = self._build(job, directory / f"headers-{number}")
        binary = program.binaries[0]
        ptx_path(directory, number).write_bytes(binary)
        log = str(
            program.get_build_info(  # type: ignore[no-untyped-call]
                self._device, cl.program_build_info.LOG
            )
        )
        facts = reported(log, job.kernel)
        return facts | self._time(cl.Kernel(program, job.kernel), job)

    def _build(self, job: Job, directory: Path) -> cl.Program:
        options = list(job.options)
        if job.headers:
            for name, text in job.headers.items():
                path = directory / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            options += ["-I", str(directory)]
        if self._reports_registers:
            options.append("-cl-nv-verbose")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program: cl.Program = cl.Program(self._context, job.source).build(options)
            return program

    def _time(self, kernel: cl.Kernel, job: Job) -> dict[str, Any]:
        buffers = []
        for position, argument in enumerate(job.arguments):
            match argument:
                case Buffer():
                    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
                    buffers.append(cl.Buffer(self._context, flags, hostbuf=contents_of(argument)))
                    kernel.set_arg(position, buffers[-1])
                case Local(size_bytes):
                    local = cl.LocalMemory(size_bytes)
                    kernel.set_arg(position, local)  # type: ignore[arg-type] # its stubs lack it
                case Scalar(data):
                    kernel.set_arg(position, np.frombuffer(data, np.uint8))
        try:
            times = [self._run(kernel, job) for _ in range(_WARM_RUNS + _TIMED_RUNS)]
        finally:
            for buffer in buffers:
                buffer.release()
        kept = times[_WARM_RUNS:]
        return {"opencl_ns": statistics.median(kept), "opencl_min_ns": min(kept)}

    def _run(self, kernel: cl.Kernel, job: Job) -> float:
        event = cl.enqueue_nd_range_kernel(self._queue, kernel, job.global_size, job.local_size)
        event.wait()
        return float(event.profile.end - event.profile.start)


def reported(log: str, kernel: str) -> dict[str, Any]:
    """Return the registers and spilled bytes of a kernel that a build log states."""
    facts: dict[str, Any] = {}
    at = log.find(f"'{kernel}'")
    used = _USED.search(log[at:]) if at >= 0 else None
    spilled = _SPILLED.search(log[at:]) if at >= 0 else None
    if used is not None:
        facts["opencl_registers"] = int(used[1])
    if spilled is not None:
        facts["opencl_spill_store_bytes"] = int(spilled[1])
        facts["opencl_spill_load_bytes"] = int(spilled[2])
    return facts


def build(jobs: Sequence[tuple[int, Job]], directory: Path, rows: Path, platform: str) -> None:
    """Build and time jobs. An error of one becomes its row."""
    bench = OpenClBench(platform)
    for number, job in jobs:
        try:
            row = bench.measure(number, job, directory)
        except (cl.Error, ValueError, OSError) as error:
            row = {"error": f"OpenCL: {first_line(error)}"}
        append_row(rows, {"number": number, **row})
        if "error" in row:
            bench = OpenClBench(platform)


if __name__ == "__main__":
    main()
