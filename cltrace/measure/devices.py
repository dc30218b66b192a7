"""The OpenCL devices of this machine, and their properties."""

import pyopencl as cl

from cltrace.errors import DeviceError
from cltrace.profile import DeviceFacts
from cltrace.similar_names import suggest_name


def device_facts(device: cl.Device) -> DeviceFacts:
    """Return the properties of a device."""
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
        max_buffer_bytes=int(device.max_mem_alloc_size),
        local_bytes=int(device.local_mem_size),
        cache_bytes=int(device.global_mem_cache_size),
        line_bytes=int(device.global_mem_cacheline_size),
        max_group_items=int(device.max_work_group_size),
        has_double="cl_khr_fp64" in extensions,
        has_half="cl_khr_fp16" in extensions,
        timer_resolution_ns=int(device.profiling_timer_resolution),
        vector_floats=int(device.native_vector_width_float),
    )


def find_device(name: str = "") -> cl.Device:
    """Return the first device whose name, platform or platform version contains `name`; GPUs first.

    Raises: `DeviceError`, which lists the devices.
    """
    devices = _devices()
    if not devices:
        raise DeviceError("there is no OpenCL device: run `cltrace doctor` to see what is missing")
    matching = [device for device in devices if name.lower() in _description(device).lower()]
    if not matching:
        labels = "; ".join(_label(device) for device in devices)
        names = [text for device in devices for text in (device.name, device.platform.name)]
        suggestion = suggest_name(name, [*names, *" ".join(names).replace("-", " ").split()])
        raise DeviceError(f"no device is called {name!r}{suggestion or ';'} there are: {labels}")
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


def _description(device: cl.Device) -> str:
    return f"{_label(device)} {device.platform.version}"


def _label(device: cl.Device) -> str:
    return f"{device.platform.name.strip()}: {device.name.strip()}"
