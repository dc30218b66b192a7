"""A context over two devices with a queue each: alone, together, in turns, and ordered by events."""

import argparse

import numpy as np
import pyopencl as cl
from pair_work import SOURCE, DeviceWork, Record, filled, fit_trips, open_devices


class Turns:
    """The same kernel on two devices, with a buffer on each."""

    def __init__(self, platform: str, items: int, launch_s: float) -> None:
        devices = open_devices(platform)
        self.context = cl.Context(devices)
        self.works = [DeviceWork(n, device, self.context) for n, device in enumerate(devices)]
        program = cl.Program(self.context, SOURCE).build()
        self.kernels = [cl.Kernel(program, "chain") for _ in devices]
        self.buffers = [filled(self.context, items) for _ in devices]
        self.items = items
        self.host = [np.empty(items, np.float32) for _ in devices]
        each = zip(self.works, self.kernels, self.buffers, strict=True)
        self.trips = [
            fit_trips(work, kernel, items, buffer, launch_s) for work, kernel, buffer in each
        ]

    def launch(self, number: int, wait_for: object = None) -> cl.Event:
        return self.works[number].launch(
            self.kernels[number],
            self.items,
            self.buffers[number],
            self.trips[number],
            wait_for=wait_for,
        )


def first_alone(turns: Turns, count: int) -> None:
    for _ in range(count):
        turns.launch(0)
    turns.works[0].queue.finish()


def second_alone(turns: Turns, count: int) -> None:
    for _ in range(count):
        turns.launch(1)
    turns.works[1].queue.finish()


def together(turns: Turns, count: int) -> None:
    for _ in range(count):
        turns.launch(0)
        turns.launch(1)
    for work in turns.works:
        work.queue.flush()
    for work in turns.works:
        work.queue.finish()


def turns_by_finish(turns: Turns, count: int) -> None:
    """Nothing orders the devices but the host, which waits for each before it enqueues on the other."""
    for _ in range(count):
        turns.launch(0)
        turns.works[0].queue.finish()
        turns.launch(1)
        turns.works[1].queue.finish()


def turns_by_read(turns: Turns, count: int) -> None:
    """The same, where the host waits by reading results that it does not use before the end."""
    for _ in range(count):
        turns.launch(0)
        cl.enqueue_copy(turns.works[0].count("read"), turns.host[0], turns.buffers[0])
        turns.launch(1)
        cl.enqueue_copy(turns.works[1].count("read"), turns.host[1], turns.buffers[1])


def ordered_by_events(turns: Turns, count: int) -> None:
    """Each launch waits for the one before on the other device; the host waits at the end only."""
    last = None
    for number in range(2 * count):
        last = [turns.launch(number % 2, last)]
        turns.works[number % 2].queue.flush()
    cl.wait_for_events(last)


def ordered_by_host_data(turns: Turns, count: int) -> None:
    """Each device works with the results of the other one, which go through the host."""
    for _ in range(count):
        turns.launch(0)
        cl.enqueue_copy(turns.works[0].count("read"), turns.host[0], turns.buffers[0])
        cl.enqueue_copy(turns.works[1].count("write"), turns.buffers[1], turns.host[0])
        turns.launch(1)
        cl.enqueue_copy(turns.works[1].count("read"), turns.host[0], turns.buffers[1])
        cl.enqueue_copy(turns.works[0].count("write"), turns.buffers[0], turns.host[0])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--platform", default="NVIDIA")
    parser.add_argument("--items", type=int, default=1 << 20)
    parser.add_argument("--count", type=int, default=60, help="launches on each device in a phase")
    parser.add_argument("--launch-s", type=float, default=0.005)
    parser.add_argument("--record", required=True)
    given = parser.parse_args()
    turns = Turns(given.platform, given.items, given.launch_s)
    record = Record(turns.works)
    record.run(first_alone, turns, given.count, overlap="none")
    record.run(second_alone, turns, given.count, overlap="none")
    record.run(together, turns, given.count, overlap="most")
    record.run(turns_by_finish, turns, given.count, overlap="none", advice=True)
    record.run(turns_by_read, turns, given.count, overlap="none", advice=True)
    record.run(ordered_by_events, turns, given.count, overlap="none", advice=False)
    record.run(ordered_by_host_data, turns, given.count, overlap="none", advice=False)
    record.write(given.record)


if __name__ == "__main__":
    main()
