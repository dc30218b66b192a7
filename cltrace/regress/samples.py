"""One run of a program as a sample: how long each kernel took in it, and on what machine.

Launches of one process hang together, so a run is one value a kernel: the median of its launches, without
the first few, in which caches, clocks and drivers settle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.regress.counters import Counters, counters_of
from cltrace.trace.reader import Trace

DROPPED: Final = 5
"""So many first launches of a kernel count only where there are no others."""
_LAUNCHES: Final = """
    SELECT coalesce(d.name, ''), coalesce(c.kernel, ''), coalesce(l.global_size, ''), c.duration_ns
    FROM v_command c LEFT JOIN v_launch l ON l.launch_id = c.launch_id
    LEFT JOIN v_device d ON d.device_id = c.device_id
    WHERE c.kind = 'kernel' AND c.duration_ns > 0 ORDER BY c.process_id, c.enter_host_ns, c.command_id
"""
_DEVICES: Final = """
    SELECT DISTINCT d.name, d.platform, coalesce(d.driver_version, ''), coalesce(p.version, '')
    FROM v_device d LEFT JOIN v_platform p ON p.platform_id = d.platform_id
    WHERE d.device_id IN (SELECT device_id FROM v_command) ORDER BY 1, 2, 3, 4
"""


@dataclass(frozen=True, slots=True, order=True)
class DeviceIdentity:
    """What has to be the same for times to be compared."""

    name: str
    platform: str
    driver: str
    platform_version: str


@dataclass(frozen=True, slots=True, order=True)
class KernelKey:
    """A kernel with the global size of its launches, as a JSON array, on a device."""

    kernel: str
    global_size: str
    device: str


@dataclass(frozen=True, slots=True)
class KernelTime:
    """How long a kernel took in a run: the median of `counted` of its launches, the sum of all, in ns."""

    launches: int
    counted: int
    median_ns: float
    total_ns: float


@dataclass(frozen=True, slots=True)
class RunSample:
    """A run of a program."""

    devices: tuple[DeviceIdentity, ...]
    kernels: Mapping[KernelKey, KernelTime]
    counters: Counters


def sample_of(trace: Trace, drop: int = DROPPED) -> RunSample:
    """What a trace says of its run. Raises: `DamagedTraceError`."""
    taken: dict[KernelKey, list[int]] = {}
    for device, kernel, size, duration_ns in trace.iterate(_LAUNCHES):
        key = KernelKey(str(kernel), str(size), str(device))
        taken.setdefault(key, []).append(int(duration_ns))
    devices = tuple(DeviceIdentity(*map(str, row)) for row in trace.rows(_DEVICES))
    kernels = {key: _time(all_ns, drop) for key, all_ns in sorted(taken.items())}
    return RunSample(devices, kernels, counters_of(trace))


def _time(all_ns: Sequence[int], drop: int) -> KernelTime:
    """A kernel that was launched seldom has half of its launches at least."""
    counted = all_ns[min(drop, len(all_ns) // 2) :]
    return KernelTime(len(all_ns), len(counted), float(np.median(counted)), float(sum(all_ns)))
