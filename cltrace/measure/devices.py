"""The devices that can be measured, and what they say of themselves."""

import pyopencl as cl

from cltrace.errors import DeviceError
from cltrace.profile import DeviceFacts


def device_facts(device: cl.Device) -> DeviceFacts:
    """What `device` says of itself."""
    extensions = set(device.extensions.split())
    return DeviceFacts(
        platform=device.platform.name.strip(),
        name=device.name.strip(),
        vendor=device.vendor.strip(),
        driver=device.driver_version.strip(),
        version=device.version.strip(),
        kind=_kind(device),
        compute_units=int(device.max_compute_units),
        clock_mhz=int(device.max_clock_frequency),
        global_bytes=int(device.global_mem_size),
        most_buffer_bytes=int(device.max_mem_alloc_size),
        local_bytes=int(device.local_mem_size),
        cache_bytes=int(device.global_mem_cache_size),
        line_bytes=int(device.global_mem_cacheline_size),
        most_group_items=int(device.max_work_group_size),
        has_double="cl_khr_fp64" in extensions,
        has_half="cl_khr_fp16" in extensions,
        timer_resolution_ns=int(device.profiling_timer_resolution),
    )


def find_device(wanted: str = "") -> cl.Device:
    """The first device whose name, platform or its version contains `wanted`; a GPU before others.

    Raises: `DeviceError`, which lists what there is.
    """
    devices = _devices()
    if not devices:
        raise DeviceError("there is no OpenCL device; `cltrace doctor` says what is missing")
    matching = [device for device in devices if wanted.lower() in _words(device).lower()]
    if not matching:
        there = "; ".join(_label(device) for device in devices)
        raise DeviceError(f"no device is called {wanted!r}; there are: {there}")
    gpus = [device for device in matching if device.type & cl.device_type.GPU]
    return (gpus or matching)[0]


def _kind(device: cl.Device) -> str:
    for name in ("gpu", "cpu", "accelerator"):
        if device.type & getattr(cl.device_type, name.upper()):
            return name
    return "custom"


def _devices() -> list[cl.Device]:
    try:
        return [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error:
        return []


def _words(device: cl.Device) -> str:
    return f"{_label(device)} {device.platform.version}"


def _label(device: cl.Device) -> str:
    return f"{device.platform.name.strip()}: {device.name.strip()}"
