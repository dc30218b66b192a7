"""Copies from one device to the other: by commands, by migration, through the host, and in a pipeline."""

import argparse

import numpy as np
import pyopencl as cl
from pair_work import SOURCE, DeviceWork, Record, filled, fit_trips, open_devices


class Copies:
    """Two devices in a context, with a buffer on each of a size."""

    def __init__(self, platform: str, elements: int) -> None:
        devices = open_devices(platform)
        self.context = cl.Context(devices)
        self.works = [DeviceWork(n, device, self.context) for n, device in enumerate(devices)]
        program = cl.Program(self.context, SOURCE).build()
        self.touches = [cl.Kernel(program, "empty") for _ in devices]
        self.chains = [cl.Kernel(program, "chain") for _ in devices]
        self.buffers = [filled(self.context, elements) for _ in devices]
        self.elements = elements
        self.host = np.empty(elements, np.float32)
        self.trips = fit_trips(self.works[0], self.chains[0], elements, self.buffers[0], 0.005)
        self.touch(0)
        self.touch(1)

    def touch(self, number: int) -> None:
        """Make a buffer one that its device changed last."""
        self.works[number].launch(self.touches[number], 64, self.buffers[number])
        self.works[number].queue.finish()

    def chain(self, number: int, wait_for: object = None) -> cl.Event:
        return self.works[number].launch(
            self.chains[number], self.elements, self.buffers[number], self.trips, wait_for=wait_for
        )


def copies_by_source(copies: Copies, count: int) -> None:
    """From the first to the second, on the queue of the first."""
    for _ in range(count):
        copies.touch(0)
        cl.enqueue_copy(copies.works[0].count("copy"), copies.buffers[1], copies.buffers[0])
        copies.works[0].queue.finish()


def copies_by_target(copies: Copies, count: int) -> None:
    """From the first to the second, on the queue of the second."""
    for _ in range(count):
        copies.touch(0)
        cl.enqueue_copy(copies.works[1].count("copy"), copies.buffers[1], copies.buffers[0])
        copies.works[1].queue.finish()


def migrations(copies: Copies, count: int) -> None:
    """The first's buffer to the second and back, and to the host."""
    flags = cl.mem_migration_flags
    for _ in range(count):
        for number, to_host in ((1, 0), (0, 0), (0, 1)):
            choice = flags.HOST if to_host else 0
            queue = copies.works[number].count("migrate")
            cl.enqueue_migrate_mem_objects(queue, [copies.buffers[0]], flags=choice)
            queue.finish()


def moved_by_launches(copies: Copies, count: int) -> None:
    """Kernels of both devices change the same buffer: the driver has to move it."""
    for _ in range(count):
        for number in (0, 1):
            copies.works[number].launch(copies.touches[number], 64, copies.buffers[0])
            copies.works[number].queue.finish()


def copies_by_host(copies: Copies, count: int) -> None:
    for _ in range(count):
        cl.enqueue_copy(copies.works[0].count("read"), copies.host, copies.buffers[0])
        cl.enqueue_copy(copies.works[1].count("write"), copies.buffers[1], copies.host)


def pipeline(copies: Copies, count: int) -> None:
    """A kernel on the first, a copy to the second, a kernel there; events order them."""
    last = None
    for _ in range(count):
        made = copies.chain(0, last)
        copied = cl.enqueue_copy(
            copies.works[0].count("copy"), copies.buffers[1], copies.buffers[0], wait_for=[made]
        )
        copies.works[0].queue.flush()
        last = [copies.chain(1, [copied])]
        copies.works[1].queue.flush()
    cl.wait_for_events(last)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--platform", default="NVIDIA")
    parser.add_argument("--elements", type=int, default=1 << 22)
    parser.add_argument("--small", type=int, default=1 << 12)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--record", required=True)
    given = parser.parse_args()
    copies = Copies(given.platform, given.elements)
    record = Record(copies.works)
    size = 4 * given.elements
    record.run(copies_by_source, copies, given.count, bytes=size, between=given.count)
    record.run(copies_by_target, copies, given.count, bytes=size, between=given.count)
    record.run(migrations, copies, given.count, bytes=size)
    record.run(moved_by_launches, copies, given.count, bytes=size)
    record.run(copies_by_host, copies, given.count, bytes=size, advice=False)
    record.run(pipeline, copies, given.count, bytes=size, advice=False, path=True)
    record.write(given.record)


if __name__ == "__main__":
    main()
