"""Launches of two processes on one device: how long they take beside each other, and alone.

    python benchmarks/two_processes.py --device NVIDIA FILE.json

Both processes launch a chain of arithmetic again and again, first in turn, then at the same time. The
overlap is the share of a launch's time, by the device's stamps, for which one of the other process was
running: a launch that has to pause goes on by its stamps.
"""

import argparse
import json
import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from cltrace.measure import find_device
from cltrace.measure.beside import overlap_shares

SOURCE = """
__kernel void chain(__global float *out, uint trips) {
    float x = get_global_id(0) * 1e-6f;
    for (uint trip = 0; trip < trips; ++trip) x = x * x * 0.5f + 0.25f;
    out[get_global_id(0)] = x;
}
"""
GROUP_ITEMS = 256
ALONE = 20
PAIRS = (
    ((40, 50_000, 600), (40, 50_000, 600)),
    ((132, 1_000_000, 20), (132, 1_000_000, 20)),
    ((132, 1_000_000, 20), (132, 10_000, 1500)),
)
"""Work-groups, trips, and launches of both processes."""


def launch_all(
    device_name: str, turn: int, work: Sequence[int], barrier: Barrier, results: Connection
) -> None:
    """Launch in turn with the other process, then beside it, and send the stamps of both."""
    groups, trips, launches = work
    device = find_device(device_name)
    context = cl.Context([device])
    profiling = cl.command_queue_properties.PROFILING_ENABLE
    queue = cl.CommandQueue(context, properties=profiling)
    out = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, 4 * groups * GROUP_ITEMS)
    kernel = cl.Program(context, SOURCE).build().chain
    kernel.set_args(out, np.uint32(trips))

    def run(count: int) -> list[tuple[int, int]]:
        size = (groups * GROUP_ITEMS,)
        events = [
            cl.enqueue_nd_range_kernel(queue, kernel, size, (GROUP_ITEMS,)) for _ in range(count)
        ]
        queue.finish()
        return [(event.profile.start, event.profile.end) for event in events]

    run(1)
    alone: list[tuple[int, int]] = []
    for each in range(2):
        barrier.wait()
        if each == turn:
            alone = run(ALONE)
        barrier.wait()
    barrier.wait()
    results.send((alone, run(launches)))


def pair(device_name: str, works: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """Return what launches took in two processes."""
    spawning = multiprocessing.get_context("spawn")
    barrier = spawning.Barrier(2)
    processes, ends = [], []
    for turn, work in enumerate(works):
        ours, theirs = spawning.Pipe()
        arguments = (device_name, turn, work, barrier, theirs)
        process = spawning.Process(target=launch_all, args=arguments)
        process.start()
        theirs.close()
        processes.append(process)
        ends.append(ours)
    spans = [[np.asarray(part, np.float64) for part in end.recv()] for end in ends]
    for process in processes:
        process.join()
    return [
        row(work, own, other)
        for work, own, other in zip(works, spans, reversed(spans), strict=True)
    ]


def row(
    work: Sequence[int], own: Sequence[NDArray[np.float64]], other: Sequence[NDArray[np.float64]]
) -> dict[str, Any]:
    """Return the median durations of a process's launches in µs, and how much of them overlapped."""
    alone, beside = (np.diff(spans, axis=1)[:, 0] / 1e3 for spans in own)
    return {
        "groups": work[0],
        "trips": work[1],
        "alone_us": round(float(np.median(alone)), 1),
        "beside_us": round(float(np.median(beside)), 1),
        "longest_us": round(float(beside.max()), 1),
        "overlap": round(float(np.median(overlap_shares(own[1], [other[1]]))), 3),
        "all_ms": round(float(own[1][-1, 1] - own[1][0, 0]) / 1e6, 2),
    }


def main() -> None:
    """Measure all pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="", help="part of the device's name")
    parser.add_argument("file", type=Path)
    chosen = parser.parse_args()
    device = find_device(chosen.device)
    record = {
        "device": device.name.strip(),
        "driver": device.driver_version,
        "pairs": [pair(chosen.device, works) for works in PAIRS],
    }
    chosen.file.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
