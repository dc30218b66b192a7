"""Survey of this interpreter's pyopencl, as JSON on stdout: run as a child, because drivers crash.

`python -m cltrace.intercept.survey [--surcharge]`
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyopencl as cl

from cltrace.errors import LayerError
from cltrace.events.statuses import status_name
from cltrace.intercept.hooks.constructors import ConstructorHookError, VectorcallEntry
from cltrace.intercept.native.environment import takes_layers
from cltrace.intercept.native.library import find_pyopencl_loader
from cltrace.intercept.objects.programs import Programs, Texts
from cltrace.intercept.objects.registry import Registry
from cltrace.intercept.objects.slots import NoDestructorCallbackError, ReleaseSlots
from cltrace.intercept.profiling_cost import measure_profiling_cost
from cltrace.intercept.sink import Sink


def survey(*, with_surcharge: bool) -> dict[str, Any]:
    """Return the facts that `cltrace doctor` reports about pyopencl and its devices."""
    return {
        "pyopencl_version": cl.VERSION_TEXT,
        "constructors": _attempt(lambda: VectorcallEntry(cl.CommandQueue, cl.Event)),
        "destructors": _attempt(_watch_destruction),
        "loader": _attempt(_loader_with_layers),
        "platforms": [
            {
                "name": platform.name.strip(),
                "version": platform.version.strip(),
                "devices": [
                    _survey_device(device, with_surcharge=with_surcharge)
                    for device in _devices(platform)
                ],
            }
            for platform in _platforms()
        ],
    }


def _platforms() -> list[cl.Platform]:
    try:
        return cl.get_platforms()
    except cl.Error:
        return []


def _devices(platform: cl.Platform) -> Iterator[cl.Device]:
    try:
        yield from platform.get_devices()
    except cl.Error:
        return


def _survey_device(device: cl.Device, *, with_surcharge: bool) -> dict[str, Any]:
    sink = Sink()
    registry = Registry(sink, Programs(sink, Texts(sink), record_source=False))
    registry.device_id(device)
    record = asdict(sink.records[-1])
    facts = {name: record[name] for name in ("name", "driver_version", "kind", "compute_units")}
    facts["timer_resolution_ns"] = record["timer_resolution_ns"]
    facts["device_and_host_timer"] = _attempt(device.device_and_host_timer)
    facts["profiling"] = _attempt(lambda: _profile_marker(device))
    if with_surcharge:
        facts["surcharge"] = _attempt(lambda: _surcharge(device))
    return facts


def _profile_marker(device: cl.Device) -> str:
    context = cl.Context([device])
    properties = cl.command_queue_properties.PROFILING_ENABLE
    queue = cl.CommandQueue(context, device, properties)
    event = cl.enqueue_marker(queue)
    event.wait()
    stamps = [event.get_profiling_info(stage) for stage in (0x1280, 0x1281, 0x1282, 0x1283)]
    return ",".join(map(str, stamps))


def _surcharge(device: cl.Device) -> str:
    plain_ns, profiling_ns, launches = measure_profiling_cost(device)
    return json.dumps([plain_ns, profiling_ns, launches])


def _watch_destruction() -> None:
    with TemporaryDirectory(prefix="cltrace-") as directory:
        ReleaseSlots(Path(directory))


def _loader_with_layers() -> str:
    """Return the name of pyopencl's loader. Raises: `LayerError` if it does not take the layer."""
    loader = find_pyopencl_loader()
    if loader is None:
        raise LayerError("pyopencl's OpenCL loader was not found")
    if not takes_layers(loader):
        raise LayerError(f"{loader} does not take the layer in")
    return loader.name


def _attempt(read: Callable[[], Any]) -> list[Any]:
    """Return `[true, text]` with the text that `read` returns, if any; `[false, reason]` if it fails."""
    try:
        value = read()
    except cl.Error as error:
        return [False, f"{error.routine} failed: {status_name(int(error.code))}"]
    except (
        ConstructorHookError,
        NoDestructorCallbackError,
        LayerError,
        OSError,
        AttributeError,
    ) as error:
        return [False, str(error)]
    return [True, value if isinstance(value, str) else ""]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(survey(with_surcharge="--surcharge" in sys.argv[1:])))
