"""Numbers of platforms, devices, contexts, queues and kernels, which are recorded at their first use."""

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
"""Queues of this process that have profiling only because cltrace enabled it: by handle, the properties
that the program requested."""


class Registry:
    """Numbers of the process's OpenCL objects. `queues` has those of queues, by handle."""

    def __init__(self, sink: Sink, programs: Programs) -> None:
        self._sink = sink
        self._programs = programs
        self._next_id: dict[type, Callable[[], int]] = {}
        self._platforms: dict[int, int] = {}
        self._devices: dict[int, tuple[int, cl.Device]] = {}
        self._contexts: dict[int, tuple[int, tuple[int, ...]]] = {}
        self._context_ids: dict[int, int] = {}
        self.watches_contexts = False
        """True while `forget_context` is called for every new context."""
        self._kernels: dict[tuple[int, str], int] = {}
        self._programs_of_kernels: dict[int, int] = {}
        self.queues: Final[dict[int, int]] = {}
        self.finalised: Final[dict[int, int]] = {}
        """Handles of queue objects whose `with` block has ended, by the address of the object."""
        self._native_queue_info: Callable[..., Any] = cl.CommandQueue.get_info

    def device_id(self, device: cl.Device) -> int:
        """Return the number of a device. A sub-device is kept alive, so that its handle is not reused."""
        handle = device.int_ptr
        if handle not in self._devices:
            number = self._next_number(Device)
            self._devices[handle] = number, device
            parent = _read_or_none(lambda: device.parent_device)
            parent_id = self.device_id(parent) if isinstance(parent, cl.Device) else 0
            platform_id = self._platform_id(device.platform)
            self._sink.records.append(_describe_device(number, device, platform_id, parent_id))
        return self._devices[handle][0]

    def registered_devices(self) -> list[cl.Device]:
        """Return all devices that have a number."""
        return [device for _, device in list(self._devices.values())]

    def context_id(self, context: Any) -> int:
        """Return the number of a context; 0 for any other object.

        A context whose devices differ from those of the last context with its handle is a new one. They
        are compared again once `forget_context` was called.
        """
        if not isinstance(context, cl.Context):
            return 0
        handle = context.int_ptr
        number = self._context_ids.get(handle)
        if number is None:
            number = self._register_context(context, handle)
            if self.watches_contexts:
                self._context_ids[handle] = number
        return number

    def forget_context(self, context: cl.Context) -> None:
        """Look again at the context with this handle: it is a new one."""
        self._context_ids.pop(context.int_ptr, None)

    def _register_context(self, context: cl.Context, handle: int) -> int:
        devices = tuple(self.device_id(device) for device in context.devices)
        registered = self._contexts.get(handle)
        if registered is not None and registered[1] == devices:
            return registered[0]
        number = self._next_number(Context)
        self._contexts[handle] = number, devices
        self._sink.records.append(Context(number, devices))
        return number

    def register_queue(self, queue: cl.CommandQueue) -> int:
        """Register a new queue, even if its handle is registered for an earlier one."""
        self.finalised.pop(id(queue), None)
        handle = queue.int_ptr
        number = self.queues[handle] = self._next_number(Queue)
        # pyopencl's attributes keep the context and the device in the queue: the program could see that.
        info = cl.command_queue_info
        actual, context, device = (
            self._native_queue_info(queue, parameter)
            for parameter in (info.PROPERTIES, info.CONTEXT, info.DEVICE)
        )
        profiling = bool(actual & PROFILING_ENABLE)
        requested = FORCED_QUEUES.get(handle)
        self._sink.records.append(
            Queue(
                id=number,
                handle=handle,
                properties=int(actual) if requested is None else requested,
                profiling=profiling,
                profiling_forced=requested is not None,
                known_host_ns=time.perf_counter_ns(),
                context_id=self.context_id(context),
                device_id=self.device_id(device),
            )
        )
        return number

    def queue_handle(self, queue: Any) -> int:
        """Return the handle of a queue, and register it if it is new; 0 for any other object.

        A queue that was used as a context manager warns when its handle is read after its block. So the
        handle was stored when the block ended.
        """
        if not isinstance(queue, cl.CommandQueue):
            return 0
        handle = self.finalised.get(id(queue)) or queue.int_ptr
        if handle not in self.queues:
            self.register_queue(queue)
        return handle

    def has_forced_profiling(self, queue: cl.CommandQueue) -> bool:
        """Return whether this queue has profiling only because cltrace enabled it."""
        return (self.finalised.get(id(queue)) or queue.int_ptr) in FORCED_QUEUES

    def forget_finalised(self, queue: object) -> None:
        """Drop the stored handle of an earlier queue object at the address of this new one."""
        self.finalised.pop(id(queue), None)

    def store_finalised(self, queue: cl.CommandQueue) -> None:
        """Store the handle of a queue whose `with` block ends."""
        self.finalised[id(queue)] = queue.int_ptr

    def store_program(self, kernel: cl.Kernel, program: Any) -> None:
        """Store the program that a new kernel was made from."""
        number = self._programs.find_id(program)
        if number is not None:
            self._programs_of_kernels[kernel.int_ptr] = number

    def forget_program(self, kernel: cl.Kernel) -> None:
        """Drop the program of an earlier kernel that had the handle of this new one."""
        self._programs_of_kernels.pop(kernel.int_ptr, None)

    def kernel_id(self, kernel: cl.Kernel, name: str) -> int:
        """Return the number of the kernel function of `kernel`, which all of its kernel objects share."""
        program_id = self._program_of(kernel)
        key = (program_id, name)
        if key not in self._kernels:
            number = self._kernels[key] = self._next_number(Kernel)
            self._sink.records.append(Kernel(number, name, kernel.num_args, program_id))
            for device in kernel.context.devices:
                info = _describe_limits(kernel, device, number, self.device_id(device))
                self._sink.records.append(info)
        return self._kernels[key]

    def _program_of(self, kernel: cl.Kernel) -> int:
        """Return the number of a kernel's program; 0 if it was not stored and the driver hides it.

        Intel's runtime names a program that cannot be used any more when the application has released it.
        """
        stored = self._programs_of_kernels.get(kernel.int_ptr)
        if stored is not None:
            return stored
        program = _read_or_none(lambda: kernel.get_info(cl.kernel_info.PROGRAM))
        if program is None:
            return 0
        return self._programs.program_id(program, self.context_id(kernel.context))

    def _platform_id(self, platform: cl.Platform) -> int:
        handle = platform.int_ptr
        if handle not in self._platforms:
            number = self._platforms[handle] = self._next_number(Platform)
            words = (platform.name, platform.vendor, platform.version)
            self._sink.records.append(Platform(number, *(word.strip() for word in words)))
        return self._platforms[handle]

    def _next_number(self, kind: type) -> int:
        if kind not in self._next_id:
            self._next_id[kind] = count(1).__next__
        return self._next_id[kind]()


def _read_or_none(read: Callable[[], Any]) -> Any:
    """Return the result of `read`, or `None` when the driver does not know the property."""
    try:
        return read()
    except (cl.Error, AttributeError):
        return None


def _read_integer(read: Callable[[], Any]) -> int | None:
    value = _read_or_none(read)
    return int(value) if isinstance(value, int) else None


def _kind(device: cl.Device) -> str:
    """Return the meaningful bits of `CL_DEVICE_TYPE` as words."""
    names = ("CPU", "GPU", "ACCELERATOR", "CUSTOM")
    kinds = [name for name in names if device.type & getattr(cl.device_type, name, 0)]
    return " | ".join(kinds) or "unknown"


def _describe_device(number: int, device: cl.Device, platform_id: int, parent_id: int) -> Device:
    return Device(
        id=number,
        name=device.name.strip(),
        vendor=device.vendor.strip(),
        version=device.version.strip(),
        driver_version=device.driver_version.strip(),
        kind=_kind(device),
        compute_units=_read_integer(lambda: device.max_compute_units),
        clock_mhz=_read_integer(lambda: device.max_clock_frequency),
        global_memory_bytes=_read_integer(lambda: device.global_mem_size),
        local_memory_bytes=_read_integer(lambda: device.local_mem_size),
        max_group_size=_read_integer(lambda: device.max_work_group_size),
        timer_resolution_ns=_read_integer(lambda: device.profiling_timer_resolution),
        bus=_bus_address(device),
        uuid=_uuid(device),
        extensions=device.extensions.strip(),
        platform_id=platform_id,
        parent_device_id=parent_id,
    )


def _bus_address(device: cl.Device) -> str | None:
    """Return the PCI address as `domain:bus:device.function`, if a vendor's extension gives it.

    NVIDIA's slot is the device's number (an H200 at 00:06.0 has slot 6), and its function is 0.
    """
    bus = _read_integer(lambda: device.pci_bus_id_nv)
    slot = _read_integer(lambda: device.pci_slot_id_nv)
    if bus is not None and slot is not None:
        domain = _read_integer(lambda: device.pci_domain_id_nv) or 0
        return f"{domain:04x}:{bus:02x}:{slot:02x}.0"
    topology = _read_or_none(lambda: device.topology_amd)
    if isinstance(topology, cl.DeviceTopologyAmd):
        return f"0000:{topology.bus & 255:02x}:{topology.device:02x}.{topology.function:x}"
    return None


_UUID_KHR: Final = 0x106A
_UUID_BYTES: Final = 16


def _uuid(device: cl.Device) -> str | None:
    if "cl_khr_device_uuid" not in device.extensions:
        return None
    value = _read_or_none(lambda: device.get_info(_UUID_KHR))  # type: ignore[arg-type]
    raw = bytes(value) if isinstance(value, (bytes, list, tuple)) else b""
    return raw.hex() if len(raw) == _UUID_BYTES else None


def _describe_limits(
    kernel: cl.Kernel, device: cl.Device, kernel_id: int, device_id: int
) -> WorkGroupInfo:
    info = cl.kernel_work_group_info
    properties = (
        info.WORK_GROUP_SIZE,
        info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
        info.LOCAL_MEM_SIZE,
        info.PRIVATE_MEM_SIZE,
    )
    group, multiple, local_bytes, private_bytes = (
        _read_integer(
            lambda key=key: kernel.get_work_group_info(key, device)  # type: ignore[misc]
        )
        for key in properties
    )
    return WorkGroupInfo(group, multiple, local_bytes, private_bytes, kernel_id, device_id)
