"""Numbers for platforms, devices, contexts, queues and kernels, recorded when they are first seen."""

import time
from collections.abc import Callable
from itertools import count
from typing import Any, Final

import pyopencl as cl

from cltrace.events.records import Context, Device, Kernel, Platform, Queue, WorkGroupInfo
from cltrace.intercept.objects.programs import Programs
from cltrace.intercept.sink import Sink

PROFILING_ENABLE: Final = int(cl.command_queue_properties.PROFILING_ENABLE)

FORCED_QUEUES: Final[dict[int, int]] = {}
"""The queues of this process that have profiling because we added it: by handle, the properties that
the program asked for."""


class Registry:
    """What the process's OpenCL objects are numbered. `queues` has them by handle."""

    def __init__(self, sink: Sink, programs: Programs) -> None:
        self._sink = sink
        self._programs = programs
        self._next_id: dict[type, Callable[[], int]] = {}
        self._platforms: dict[int, int] = {}
        self._devices: dict[int, tuple[int, cl.Device]] = {}
        self._contexts: dict[int, tuple[int, tuple[int, ...]]] = {}
        self._kernels: dict[tuple[int, str], int] = {}
        self.queues: Final[dict[int, int]] = {}
        self._finalised: dict[int, int] = {}
        self._native_queue_info: Callable[..., Any] = cl.CommandQueue.get_info

    def device_id(self, device: cl.Device) -> int:
        """The number of a device. A sub-device is kept: its handle stays its own."""
        handle = device.int_ptr
        if handle not in self._devices:
            number = self._number(Device)
            self._devices[handle] = number, device
            parent = _quietly(lambda: device.parent_device)
            parent_id = self.device_id(parent) if isinstance(parent, cl.Device) else 0
            platform_id = self._platform_id(device.platform)
            self._sink.records.append(_describe_device(number, device, platform_id, parent_id))
        return self._devices[handle][0]

    def known_devices(self) -> list[cl.Device]:
        """The devices that were seen."""
        return [device for _, device in list(self._devices.values())]

    def context_id(self, context: Any) -> int:
        """The number of a context; 0 for anything else.

        A context with other devices than the last of that handle is another one.
        """
        if not isinstance(context, cl.Context):
            return 0
        handle = context.int_ptr
        devices = tuple(self.device_id(device) for device in context.devices)
        known = self._contexts.get(handle)
        if known is not None and known[1] == devices:
            return known[0]
        number = self._number(Context)
        self._contexts[handle] = number, devices
        self._sink.records.append(Context(number, devices))
        return number

    def queue_created(self, queue: cl.CommandQueue) -> int:
        """Register a queue, whatever its handle meant before."""
        self._finalised.pop(id(queue), None)
        handle = queue.int_ptr
        number = self.queues[handle] = self._number(Queue)
        actual = int(self._native_queue_info(queue, cl.command_queue_info.PROPERTIES))
        asked = FORCED_QUEUES.get(handle)
        self._sink.records.append(
            Queue(
                number,
                handle,
                actual if asked is None else asked,
                bool(actual & PROFILING_ENABLE),
                asked is not None,
                time.perf_counter_ns(),
                self.context_id(queue.context),
                self.device_id(queue.device),
            )
        )
        return number

    def queue_handle(self, queue: Any) -> int:
        """The handle of a queue, which is registered if it is not known; 0 for anything else.

        A queue that was used as a context manager warns when it is asked after its block: its handle
        was kept when the block ended.
        """
        if not isinstance(queue, cl.CommandQueue):
            return 0
        handle = self._finalised.get(id(queue)) or queue.int_ptr
        if handle not in self.queues:
            self.queue_created(queue)
        return handle

    def is_forced(self, queue: cl.CommandQueue) -> bool:
        """Whether this queue has profiling because we added it."""
        return (self._finalised.get(id(queue)) or queue.int_ptr) in FORCED_QUEUES

    def queue_wrapped(self, queue: object) -> None:
        """A new object for a queue: what an earlier one at its address was is forgotten."""
        self._finalised.pop(id(queue), None)

    def queue_finalised(self, queue: cl.CommandQueue) -> None:
        """The block of a queue that is a context manager ends."""
        self._finalised[id(queue)] = queue.int_ptr

    def kernel_id(self, kernel: cl.Kernel, name: str) -> int:
        """The number of the kernel function of `kernel`; all kernel objects of it share the number."""
        program_id = self._programs.program_id(
            kernel.get_info(cl.kernel_info.PROGRAM), self.context_id(kernel.context)
        )
        key = (program_id, name)
        if key not in self._kernels:
            number = self._kernels[key] = self._number(Kernel)
            self._sink.records.append(Kernel(number, name, kernel.num_args, program_id))
            for device in kernel.context.devices:
                info = _describe_limits(kernel, device, number, self.device_id(device))
                self._sink.records.append(info)
        return self._kernels[key]

    def _platform_id(self, platform: cl.Platform) -> int:
        handle = platform.int_ptr
        if handle not in self._platforms:
            number = self._platforms[handle] = self._number(Platform)
            words = (platform.name, platform.vendor, platform.version)
            self._sink.records.append(Platform(number, *(word.strip() for word in words)))
        return self._platforms[handle]

    def _number(self, kind: type) -> int:
        if kind not in self._next_id:
            self._next_id[kind] = count(1).__next__
        return self._next_id[kind]()


def _quietly(read: Callable[[], Any]) -> Any:
    """What `read` returns, or `None` when the driver does not know the property."""
    try:
        return read()
    except (cl.Error, AttributeError):
        return None


def _whole(read: Callable[[], Any]) -> int | None:
    value = _quietly(read)
    return int(value) if isinstance(value, int) else None


def _kind(device: cl.Device) -> str:
    """The bits of `CL_DEVICE_TYPE` that say something, as words."""
    names = ("CPU", "GPU", "ACCELERATOR", "CUSTOM")
    found = [name for name in names if device.type & getattr(cl.device_type, name, 0)]
    return " | ".join(found) or "unknown"


def _describe_device(number: int, device: cl.Device, platform_id: int, parent_id: int) -> Device:
    return Device(
        id=number,
        name=device.name.strip(),
        vendor=device.vendor.strip(),
        version=device.version.strip(),
        driver_version=device.driver_version.strip(),
        kind=_kind(device),
        compute_units=_whole(lambda: device.max_compute_units),
        clock_mhz=_whole(lambda: device.max_clock_frequency),
        global_memory_bytes=_whole(lambda: device.global_mem_size),
        local_memory_bytes=_whole(lambda: device.local_mem_size),
        max_group_size=_whole(lambda: device.max_work_group_size),
        timer_resolution_ns=_whole(lambda: device.profiling_timer_resolution),
        bus=_bus_address(device),
        uuid=_uuid(device),
        extensions=device.extensions.strip(),
        platform_id=platform_id,
        parent_device_id=parent_id,
    )


def _bus_address(device: cl.Device) -> str | None:
    """The PCI address as `domain:bus:device.function`, where a vendor's extension gives it.

    NVIDIA's slot is the device's number (an H200 at 00:06.0 has slot 6), its function is 0.
    """
    bus = _whole(lambda: device.pci_bus_id_nv)
    slot = _whole(lambda: device.pci_slot_id_nv)
    if bus is not None and slot is not None:
        domain = _whole(lambda: device.pci_domain_id_nv) or 0
        return f"{domain:04x}:{bus:02x}:{slot:02x}.0"
    topology = _quietly(lambda: device.topology_amd)
    if isinstance(topology, cl.DeviceTopologyAmd):
        return f"0000:{topology.bus & 255:02x}:{topology.device:02x}.{topology.function:x}"
    return None


_UUID_KHR: Final = 0x106A
_UUID_BYTES: Final = 16


def _uuid(device: cl.Device) -> str | None:
    if "cl_khr_device_uuid" not in device.extensions:
        return None
    value = _quietly(lambda: device.get_info(_UUID_KHR))  # type: ignore[arg-type]
    raw = bytes(value) if isinstance(value, (bytes, list, tuple)) else b""
    return raw.hex() if len(raw) == _UUID_BYTES else None


def _describe_limits(
    kernel: cl.Kernel, device: cl.Device, kernel_id: int, device_id: int
) -> WorkGroupInfo:
    info = cl.kernel_work_group_info
    asked = (
        info.WORK_GROUP_SIZE,
        info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
        info.LOCAL_MEM_SIZE,
        info.PRIVATE_MEM_SIZE,
    )
    group, multiple, local_bytes, private_bytes = (
        _whole(lambda one=one: kernel.get_work_group_info(one, device))  # type: ignore[misc]
        for one in asked
    )
    return WorkGroupInfo(group, multiple, local_bytes, private_bytes, kernel_id, device_id)
