"""Load on one board while the other rests, the other way round, and on both: for sensors of power."""

import argparse
import time

import numpy as np
import pyopencl as cl
from pair_work import SOURCE, DeviceWork, Record, filled, fit_trips, open_devices

AHEAD = 4
"""Launches that are enqueued before the host waits."""


class Load:
    """A device with a kernel that keeps it busy."""

    def __init__(self, work: DeviceWork, name: str, items: int, launch_s: float) -> None:
        program = cl.Program(work.context, SOURCE).build()
        self.work, self.items = work, items
        self.kernel, self.buffer = cl.Kernel(program, name), filled(work.context, items)
        self.trips = fit_trips(work, self.kernel, items, self.buffer, launch_s)
        self.events: list[cl.Event] = []

    def step(self) -> None:
        """Enqueue a launch, and wait while too many are."""
        self.events.append(self.work.launch(self.kernel, self.items, self.buffer, self.trips))
        self.work.queue.flush()
        if len(self.events) >= AHEAD:
            self.events.pop(0).wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--platform", default="NVIDIA")
    parser.add_argument("--items", type=int, default=1 << 22)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rest", type=float, default=3)
    parser.add_argument("--launch-s", type=float, default=0.02)
    parser.add_argument("--record", required=True)
    given = parser.parse_args()
    devices = open_devices(given.platform)
    context = cl.Context(devices)
    works = [DeviceWork(number, device, context) for number, device in enumerate(devices)]
    loads = [
        Load(work, name, given.items, given.launch_s)
        for work, name in zip(works, ("chain", "whole"), strict=True)
    ]
    record = Record(works)
    rest(record, given.rest)
    for name, active in (("first", loads[:1]), ("second", loads[1:]), ("both", loads)):
        with record.phase(name, counters=True, active=[load.work.number for load in active]):
            until = time.monotonic() + given.seconds
            while time.monotonic() < until:
                for load in active:
                    load.step()
        rest(record, given.rest)
    transfer(record, works, loads, given)
    rest(record, given.rest)
    record.write(given.record)


def rest(record: Record, seconds: float) -> None:
    with record.phase("rest", counters=True, active=[]):
        time.sleep(seconds)


def transfer(record: Record, works: list[DeviceWork], loads: list[Load], given: object) -> None:
    """Copy to the second device alone."""
    host = np.ones(given.items, np.float32)
    with record.phase("transfers", counters=True, active=[1]):
        until = time.monotonic() + given.seconds / 3
        while time.monotonic() < until:
            cl.enqueue_copy(works[1].count("write"), loads[1].buffer, host)


if __name__ == "__main__":
    main()
