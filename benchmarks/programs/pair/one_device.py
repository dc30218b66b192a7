"""Bursts of kernels and transfers on one of two devices; with `--each`, a process for each device."""

import argparse
import random
import subprocess
import sys
import time

import numpy as np
import pyopencl as cl
from pair_work import SOURCE, DeviceWork, Record, filled, fit_trips, open_devices


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--platform", default="NVIDIA")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--each", action="store_true", help="start a process for each device")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--items", type=int, default=1 << 20)
    parser.add_argument("--record", required=True, help="where the record goes; %%d is the device")
    given = parser.parse_args()
    if given.each:
        start_each(sys.argv[1:])
        return
    work, kernels, buffers, trips = prepare(given)
    record = Record([work])
    with record.phase("mixture", counters=True):
        run_mixture(work, kernels, buffers, trips, given)
    record.write(given.record.replace("%d", str(given.device)))


def start_each(words: list[str]) -> None:
    words = [word for word in words if word != "--each"]
    command = [sys.executable, __file__, *words]
    children = [subprocess.Popen([*command, "--device", str(number)]) for number in range(2)]
    sys.exit(max(child.wait() for child in children))


def prepare(given: argparse.Namespace) -> tuple:
    device = open_devices(given.platform)[given.device]
    context = cl.Context([device])
    work = DeviceWork(given.device, device, context)
    program = cl.Program(context, SOURCE).build()
    names = ("chain", "whole", "stream", "empty")
    kernels = {name: cl.Kernel(program, name) for name in names}
    buffers = [filled(context, given.items) for _ in range(4)]
    trips = {
        name: fit_trips(work, kernels[name], given.items, buffer, 0.002)
        for name, buffer in (("chain", buffers[0]), ("whole", buffers[1]))
    }
    return work, kernels, buffers, trips


def run_mixture(work: DeviceWork, kernels: dict, buffers: list, trips: dict, given: object) -> None:
    host = np.ones(given.items, np.float32)
    chooser = random.Random(given.device)
    items = given.items
    actions = [
        lambda: work.launch(kernels["chain"], items, buffers[0], trips["chain"]),
        lambda: work.launch(kernels["whole"], items, buffers[1], trips["whole"]),
        lambda: work.launch(kernels["stream"], items // 4, buffers[2], buffers[3]),
        lambda: work.launch(kernels["empty"], 64, buffers[0]),
        lambda: cl.enqueue_copy(work.count("write"), buffers[2], host),
        lambda: cl.enqueue_copy(work.count("read"), host, buffers[3]),
    ]
    # The devices do not do the same: the second one has twice as many of the first kernel.
    weights = [1 + given.device, 1, 1, 1, 0.2, 0.2]
    until = time.monotonic() + given.seconds
    while time.monotonic() < until:
        (action,) = chooser.choices(actions, weights)
        for _ in range(chooser.randint(1, 8)):
            action()
        work.queue.finish()
        if chooser.random() < 0.3:
            time.sleep(chooser.random() * 0.01)


if __name__ == "__main__":
    main()
