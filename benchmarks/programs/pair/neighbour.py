"""Launches and transfers on the first device while the second one rests or works for another process.

The process of the second device reads lines: `rest`, `kernels`, `transfers`. It answers when it works.
"""

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
from pair_work import GROUP, SOURCE, DeviceWork, Record, filled, fit_trips, open_devices

STATES = ("rest", "kernels", "transfers")
PROFILING = cl.command_queue_properties.PROFILING_ENABLE


class Measured:
    """First device, with a queue that has profiling and one that has not."""

    def __init__(self, platform: str, items: int) -> None:
        device = open_devices(platform)[0]
        context = cl.Context([device])
        self.work = DeviceWork(0, device, context)
        self.plain = self.work.queue
        self.profiling = cl.CommandQueue(context, device, properties=PROFILING)
        program = cl.Program(context, SOURCE).build()
        names = ("chain", "whole", "stream", "empty")
        self.kernels = {name: cl.Kernel(program, name) for name in names}
        self.items, self.buffers = items, [filled(context, items) for _ in range(3)]
        self.pageable = np.ones(items, np.float32)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        self.pinned_buffer = cl.Buffer(context, flags, 4 * items)
        map_flags = cl.map_flags.READ | cl.map_flags.WRITE
        self.pinned, _ = cl.enqueue_map_buffer(
            self.plain, self.pinned_buffer, map_flags, 0, (items,), np.float32
        )
        self.trips = fit_trips(self.work, self.kernels["chain"], items, self.buffers[0], 0.002)

    def measure(self) -> dict[str, float]:
        """Return each quantity: times in µs, rates in GB/s."""
        return {
            "launch call (µs)": self._launch_us(),
            "launch to finish (µs)": self._round_trip_us(),
            **{f"{name} (µs)": self._kernel_us(name) for name in self.kernels},
            "pageable write (GB/s)": self._rate(self.buffers[2], self.pageable),
            "pageable read (GB/s)": self._rate(self.pageable, self.buffers[2]),
            "pinned write (GB/s)": self._rate(self.buffers[2], self.pinned),
            "pinned read (GB/s)": self._rate(self.pinned, self.buffers[2]),
        }

    def _launch_us(self) -> float:
        kernel, taken = self.kernels["empty"], []
        kernel.set_args(self.buffers[0])
        for _ in range(8):
            begin = time.perf_counter()
            for _ in range(200):
                cl.enqueue_nd_range_kernel(self.plain, kernel, (64,), GROUP)
            taken.append((time.perf_counter() - begin) / 200)
            self.plain.finish()
        return statistics.median(taken) * 1e6

    def _round_trip_us(self) -> float:
        kernel, taken = self.kernels["empty"], []
        kernel.set_args(self.buffers[0])
        for _ in range(100):
            begin = time.perf_counter()
            cl.enqueue_nd_range_kernel(self.plain, kernel, (64,), GROUP)
            self.plain.finish()
            taken.append(time.perf_counter() - begin)
        return statistics.median(taken) * 1e6

    def _kernel_us(self, name: str) -> float:
        arguments: dict[str, Any] = {
            "chain": (self.items, self.buffers[0], self.trips),
            "whole": (self.items, self.buffers[0], self.trips),
            "stream": (self.items // 4, self.buffers[0], self.buffers[1]),
            "empty": (64, self.buffers[0]),
        }
        size, *values = arguments[name]
        events = [self.kernels[name](self.profiling, (size,), GROUP, *values) for _ in range(20)]
        self.profiling.finish()
        return statistics.median(event.profile.end - event.profile.start for event in events) / 1e3

    def _rate(self, target: Any, source: Any) -> float:
        taken = []
        for _ in range(5):
            begin = time.perf_counter()
            cl.enqueue_copy(self.plain, target, source, is_blocking=True)
            taken.append(time.perf_counter() - begin)
        return 4 * self.items / statistics.median(taken) / 1e9


def load_second(platform: str, items: int) -> None:
    """Work on the second device as the last line of the input says, until it ends."""
    device = open_devices(platform)[1]
    work = DeviceWork(1, device, cl.Context([device]))
    kernel = cl.Kernel(cl.Program(work.context, SOURCE).build(), "chain")
    buffer, host = filled(work.context, items), np.ones(items, np.float32)
    trips = fit_trips(work, kernel, items, buffer, 0.005)
    state = ["rest"]
    threading.Thread(target=follow, args=(state,), daemon=True).start()
    print("ready", flush=True)
    said = "rest"
    while (current := state[0]) != "end":
        if current == "kernels":
            for _ in range(4):
                kernel(work.queue, (items,), GROUP, buffer, trips)
        elif current == "transfers":
            cl.enqueue_copy(work.queue, buffer, host)
            cl.enqueue_copy(work.queue, host, buffer)
        else:
            time.sleep(0.002)
        work.queue.finish()
        if current != said:
            said = current
            print(said, flush=True)


def follow(state: list[str]) -> None:
    for line in sys.stdin:
        state[0] = line.strip()
    state[0] = "end"


def compare(given: argparse.Namespace) -> None:
    measured = Measured(given.platform, given.items)
    words = ["--load", "--platform", given.platform, "--items", str(given.items)]
    command = [sys.executable, __file__, *words, "--record", "-"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdout.readline()
    measured.measure()
    samples = []
    until, number = time.monotonic() + given.seconds, 0
    current = "rest"
    while time.monotonic() < until or number < 2:
        turn = number % len(STATES)
        for state in STATES[turn:] + STATES[:turn]:
            if state != current:
                print(state, file=child.stdin, flush=True)
                child.stdout.readline()
                current = state
            samples.append({"round": number, "state": state, "values": measured.measure()})
        number += 1
    child.stdin.close()
    child.wait()
    record = Record([measured.work])
    record.write(given.record)
    path = Path(given.record)
    path.write_text(json.dumps({**json.loads(path.read_text()), "samples": samples}, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--platform", default="NVIDIA")
    parser.add_argument("--items", type=int, default=1 << 24)
    parser.add_argument("--seconds", type=float, default=25)
    parser.add_argument("--load", action="store_true", help="be the process of the second device")
    parser.add_argument("--record", required=True)
    given = parser.parse_args()
    if given.load:
        load_second(given.platform, given.items)
    else:
        compare(given)


if __name__ == "__main__":
    main()
