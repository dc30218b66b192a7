"""Two devices of a platform, the work that is enqueued on each, and a record of it without any tracer.

The record is the ground truth of `benchmarks/two_devices.py`: phases with their times on CLOCK_MONOTONIC,
commands by device, and the energy counters of the boards, which NVML has.
"""

import contextlib
import inspect
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void chain(global float *x, int n) {
    size_t i = get_global_id(0);
    float a = x[i], b = a * 0.7f, c = a * 0.3f, d = a * 0.9f;
    for (int k = 0; k < n; ++k) {
        a = mad(a, -0.99999994f, 0.63f); b = mad(b, -0.99999994f, 0.61f);
        c = mad(c, -0.99999994f, 0.59f); d = mad(d, -0.99999994f, 0.57f);
    }
    x[i] = a + b + c + d;
}
kernel void whole(global int *x, int n) {
    size_t i = get_global_id(0);
    int a = x[i];
    for (int k = 0; k < n; ++k) a = (a * 1103515245 + 12345) ^ (a >> 7);
    x[i] = a;
}
kernel void stream(global const float4 *from, global float4 *to) {
    size_t i = get_global_id(0);
    to[i] = from[i] * 1.0001f;
}
kernel void empty(global float *x) { if (get_global_id(0) > 1 << 30) x[0] = 1; }
"""
GROUP = (64,)


class Boards:
    """NVML's boards: their UUIDs and energy counters. Empty where NVML cannot be read."""

    def __init__(self) -> None:
        self._handles: list[tuple[str, str, Any]] = []
        try:
            import pynvml  # noqa: PLC0415 - not everywhere

            pynvml.nvmlInit()
            for number in range(pynvml.nvmlDeviceGetCount()):
                handle = pynvml.nvmlDeviceGetHandleByIndex(number)
                bus, uuid = (
                    pynvml.nvmlDeviceGetPciInfo(handle).busId,
                    pynvml.nvmlDeviceGetUUID(handle),
                )
                self._handles.append((_text(bus).lower()[-12:], _text(uuid), handle))
            self._read = pynvml.nvmlDeviceGetTotalEnergyConsumption
        except Exception as error:  # noqa: BLE001 - the record then says why there are no counters
            self.why_none = f"{type(error).__name__}: {error}"

    def find(self, bus: str, number: int) -> tuple[str, Any] | None:
        """Return UUID and handle of the board at a PCI address; by number where it is not known."""
        for address, uuid, handle in self._handles:
            if bus and address == bus[-12:]:
                return uuid, handle
        if not bus and number < len(self._handles):
            return self._handles[number][1:]
        return None

    def read_step(self, handle: Any) -> tuple[int, int]:
        """Return when a board's counter changed, in ns, and its new value in mJ. Takes up to 0.1 s."""
        first = self._read(handle)
        until = time.monotonic() + 0.3
        while (value := self._read(handle)) == first and time.monotonic() < until:
            time.sleep(0.0005)
        return time.monotonic_ns(), int(value)


def _text(text: str | bytes) -> str:
    return text.decode() if isinstance(text, bytes) else text


class DeviceWork:
    """Device with a queue; what is enqueued there is counted."""

    def __init__(self, number: int, device: cl.Device, context: cl.Context) -> None:
        self.number, self.device, self.context = number, device, context
        self.queue = cl.CommandQueue(context, device)
        self.counts: Counter[str] = Counter()

    def launch(
        self, kernel: cl.Kernel, size: int, *arguments: Any, wait_for: Any = None
    ) -> cl.Event:
        """Enqueue a kernel."""
        self.counts[f"kernel {kernel.function_name}"] += 1
        return kernel(self.queue, (size,), GROUP, *arguments, wait_for=wait_for)

    def count(self, kind: str) -> cl.CommandQueue:
        """Return the queue, and count a command of a kind that the caller enqueues there."""
        self.counts[kind] += 1
        return self.queue


class Record:
    """Record of what a program did: devices, phases, commands by device and energy counters."""

    def __init__(self, works: Sequence[DeviceWork]) -> None:
        self.works, self.phases = works, []
        self._boards = Boards()
        self._handles = {}
        for work in works:
            board = self._boards.find(_bus(work.device), work.number)
            if board is not None:
                self._handles[work.number] = board

    @contextlib.contextmanager
    def phase(
        self, name: str, *, counters: bool = False, **expected: Any
    ) -> Iterator[dict[str, Any]]:
        """Record a phase. `expected` is what a trace should say of it."""
        for work in self.works:
            work.counts.clear()
        steps = self._read_counters() if counters else {}
        entry: dict[str, Any] = {"name": name, "begin_ns": time.monotonic_ns(), **expected}
        self.phases.append(entry)
        yield entry
        for work in self.works:
            work.queue.finish()
        entry["end_ns"] = time.monotonic_ns()
        entry["commands"] = {str(work.number): dict(work.counts) for work in self.works}
        if counters:
            later = self._read_counters()
            entry["counters"] = {number: [steps[number], later[number]] for number in steps}

    def run(self, function: Callable[..., Any], *arguments: Any, **expected: Any) -> None:
        """Run a function as a phase that has its name, with the lines of its source."""
        lines, first = inspect.getsourcelines(function)
        place = [Path(inspect.getfile(function)).name, first, first + len(lines) - 1]
        with self.phase(function.__name__, lines=place, **expected):
            function(*arguments)

    def write(self, path: str) -> None:
        """Write the record as JSON."""
        devices = [
            {
                "number": work.number,
                "name": work.device.name.strip(),
                "bus": _bus(work.device),
                "uuid": self._handles.get(work.number, ("", None))[0],
                "driver": work.device.driver_version,
                "platform": work.device.platform.name,
            }
            for work in self.works
        ]
        reason = getattr(self._boards, "why_none", "")
        record = {
            "pid": os.getpid(),
            "devices": devices,
            "no_counters": reason,
            "phases": self.phases,
        }
        Path(path).write_text(json.dumps(record, indent=1))

    def _read_counters(self) -> dict[str, tuple[int, int]]:
        return {
            str(number): self._boards.read_step(handle)
            for number, (_, handle) in self._handles.items()
        }


def open_devices(platform_name: str) -> list[cl.Device]:
    """Return the first two devices of a platform by a part of its name; parts of one where it has one."""
    platform = next(each for each in cl.get_platforms() if platform_name in each.name)
    devices = platform.get_devices()
    if len(devices) < 2:
        by_counts = cl.device_partition_property
        ending = by_counts.BY_COUNTS_LIST_END
        devices = devices[0].create_sub_devices([by_counts.BY_COUNTS, 1, 1, ending])
    return devices[:2]


def filled(context: cl.Context, elements: int) -> cl.Buffer:
    """Return a buffer of random floats."""
    numbers = np.random.default_rng(1).random(elements, dtype=np.float32) + np.float32(0.25)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(context, flags, hostbuf=numbers)


def fit_trips(
    work: DeviceWork, kernel: cl.Kernel, items: int, buffer: cl.Buffer, seconds: float
) -> Any:
    """Return the trips of a loop with which a launch takes about as long as it should."""
    trips = 64
    for _ in range(6):
        kernel(work.queue, (items,), GROUP, buffer, np.int32(trips))
        work.queue.finish()
        begin = time.perf_counter()
        kernel(work.queue, (items,), GROUP, buffer, np.int32(trips))
        work.queue.finish()
        took = time.perf_counter() - begin
        trips = int(min(max(trips * min(seconds / took, 30), 16), 1 << 24))
    return np.int32(trips)


def _bus(device: cl.Device) -> str:
    """Return the PCI address of a device of NVIDIA, in NVML's form; "" for others."""
    try:
        bus, slot = device.pci_bus_id_nv, device.pci_slot_id_nv
        domain = getattr(device, "pci_domain_id_nv", 0)
    except (cl.Error, AttributeError):
        return ""
    return f"{domain:04x}:{bus:02x}:{slot:02x}.0"
