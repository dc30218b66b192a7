"""Wall time that recording adds to a program that launches and computes, within one process.

    python benchmarks/paused.py [--layer on|off] [--work N] [--rounds N] [--json FILE]

A driver's launches may take twice as long in one process as in the next. So blocks of launches with
recording paused and blocks with recording follow each other in the same process. The program launches a
small kernel and counts to N between launches.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_BLOCKS = 24
_LAUNCHES = 2000
_LEAD = 300
"""Launches of a block before those that are timed."""


def run_blocks(work: int) -> dict[str, list[float]]:
    """Return wall times per launch, in µs, of the blocks with recording paused and of the others."""
    import pyopencl as cl  # noqa: PLC0415 - the parent has no use for it

    import cltrace  # noqa: PLC0415

    devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    device = max(devices, key=lambda candidate: candidate.type & cl.device_type.GPU)
    context = cl.Context([device])
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    text = "kernel void add(global float *a) { a[get_global_id(0)] += 1; }"
    kernel = cl.Kernel(cl.Program(context, text).build(), "add")
    memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096 * 4)

    def launch(count: int) -> None:
        for _ in range(count):
            kernel(queue, (4096,), (128,), memory)
            total = 0
            for number in range(work):
                total += number

    launch(2 * _LAUNCHES)
    queue.finish()
    times: dict[str, list[float]] = {"paused": [], "recording": []}
    for block in range(_BLOCKS):
        is_recording = bool(
            (block + block // 2) & 1
        )  # each way precedes and follows the other as often
        (cltrace.resume if is_recording else cltrace.pause)()
        launch(_LEAD)
        begin_ns = time.perf_counter_ns()
        launch(_LAUNCHES)
        elapsed_us = (time.perf_counter_ns() - begin_ns) / 1000 / _LAUNCHES
        times["recording" if is_recording else "paused"].append(elapsed_us)
        queue.finish()
    return times


def _measure(layer: str, work: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        trace = Path(scratch) / "t.cltrace"
        flags = ["run", "-q", "--layer", layer, "-o", str(trace)]
        program = [sys.executable, __file__, "--run-blocks", "--work", str(work)]
        done = subprocess.run(
            [sys.executable, "-m", "cltrace", *flags, *program],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    times = json.loads(done.stdout.splitlines()[-1])
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {
        "layer": layer,
        "work": work,
        "ratio": medians["recording"] / medians["paused"],
        "medians_us": medians,
        "times_us": times,
    }


def main() -> None:
    """Print a line per process, and write all times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layer", choices=["on", "off"], default="on")
    parser.add_argument(
        "--work", type=int, default=120, help="counts between launches (default 120)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="processes (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all times to FILE")
    parser.add_argument("--run-blocks", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run_blocks:
        sys.stdout.write(json.dumps(run_blocks(arguments.work)) + "\n")
        return
    results = [_measure(arguments.layer, arguments.work) for _ in range(arguments.rounds)]
    for result in results:
        paused_us, recording_us = result["medians_us"].values()
        sys.stdout.write(
            f"paused {paused_us:.2f} µs, recording {recording_us:.2f} µs, "
            f"ratio {result['ratio']:.3f}\n"
        )
    ratio = statistics.median(result["ratio"] for result in results)
    sys.stdout.write(f"median of the ratios {ratio:.3f}\n")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
