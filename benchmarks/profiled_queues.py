"""Queues on the device that a benchmark's command line names, and the times of launches on them."""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pyopencl as cl


def open_queue(platform: str) -> cl.CommandQueue:
    """Return a queue with profiling on the first device of a platform; exit if there is none."""
    platforms = [item for item in cl.get_platforms() if platform in item.name]
    if not platforms:
        sys.exit(f"no platform is named {platform}")
    profiling = cl.command_queue_properties.PROFILING_ENABLE
    return cl.CommandQueue(cl.Context(platforms[0].get_devices()[:1]), properties=profiling)


def device_facts(queue: cl.CommandQueue) -> dict[str, str]:
    """Return the device and the driver of a queue, for the file of a measurement."""
    return {"device": queue.device.name, "driver": queue.device.driver_version}


def median_ns(launch: Callable[[], cl.Event], rounds: int, warm_up_rounds: int) -> float:
    """Return the median duration of launches one after the other, without the first ones."""
    durations_ns = []
    for _ in range(rounds):
        event = launch()
        event.wait()
        durations_ns.append(event.profile.end - event.profile.start)
    return statistics.median(durations_ns[warm_up_rounds:])


def median_kernel_ns(
    kernel: cl.Kernel,
    queue: cl.CommandQueue,
    sizes: tuple[tuple[int, ...], tuple[int, ...]],
    rounds: int = 7,
) -> float:
    """Return the median duration of launches of a kernel with its arguments, without the first one.

    `sizes` are the global and the local one.
    """
    return median_ns(lambda: cl.enqueue_nd_range_kernel(queue, kernel, *sizes), rounds, 1)


def measure_to_file(
    description: str, measure: Callable[[cl.CommandQueue], Mapping[str, object]]
) -> None:
    """Write what `measure` finds on the device of the command line to the file that it names.

    The options are `--platform`, a part of its name, and `--json`.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--platform", required=True)
    parser.add_argument("--json", type=Path, required=True)
    arguments = parser.parse_args()
    queue = open_queue(arguments.platform)
    text = json.dumps({**device_facts(queue), **measure(queue)}, indent=1)
    arguments.json.write_text(text + "\n", encoding="utf-8")
