"""A trace as a sample: how long each kernel took in the run, what it had to do, and on what machine.

The first few launches of a kernel do not count: caches, clocks and drivers settle in them.
"""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

import numpy as np

from cltrace.power.energy import energy_of, has_power
from cltrace.regress.counters import counters_of
from cltrace.regress.runs import DeviceIdentity, KernelKey, KernelTime, RunSample
from cltrace.regress.work import WorkKey, work_of
from cltrace.trace.reader import Trace

DROPPED: Final = 5
"""So many first launches of a kernel count only where there are no others."""
_S: Final = 1e-9
WHOLE_RUN: Final = WorkKey("", "")
"""The key of the energy of a run."""
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


class Depth(StrEnum):
    """How much of a trace becomes a sample."""

    TIMES = "times"
    """Times, counters and energy."""
    WORK = "work"
    """What kernels had to do, too, counted from their sources: seconds more."""


def sample_of(trace: Trace, drop: int = DROPPED, depth: Depth = Depth.TIMES) -> RunSample:
    """What a trace says of its run. Raises: `TraceError`."""
    taken: dict[KernelKey, list[int]] = {}
    for device, kernel, size, duration_ns in trace.iterate(_LAUNCHES):
        key = KernelKey(str(kernel), str(size), str(device))
        taken.setdefault(key, []).append(int(duration_ns))
    devices = tuple(DeviceIdentity(*map(str, row)) for row in trace.rows(_DEVICES))
    kernels = {key: _time(all_ns, drop) for key, all_ns in sorted(taken.items())}
    return RunSample(
        devices,
        kernels,
        counters_of(trace),
        work=work_of(trace) if depth is Depth.WORK else None,
        energy_j=_energy(trace) if has_power(trace) else {},
    )


def _time(all_ns: Sequence[int], drop: int) -> KernelTime:
    """A kernel that was launched seldom has half of its launches at least."""
    counted = all_ns[min(drop, len(all_ns) // 2) :]
    return KernelTime(len(all_ns), len(counted), float(np.median(counted)), float(sum(all_ns)))


def _energy(trace: Trace) -> Mapping[WorkKey, float]:
    """The energy while the command ran, and of a launch of each kernel that sensors tell, in J."""
    found = energy_of(trace)
    began, ended = trace.meta_int("origin_host_ns"), trace.meta_int("ended_host_ns")
    lasted_s = math.inf if began is None or ended is None else (ended - began) * _S
    energy = {WHOLE_RUN: found.during_j(0.0, lasted_s)}
    sums: dict[WorkKey, tuple[float, int]] = {}
    for line in found.lines:
        load = line.load
        if line.energy_j is not None and load.size and len(load) and len(load.names) == 1:
            key = WorkKey(load.name, load.size)
            before, launches = sums.get(key, (0.0, 0))
            sums[key] = before + line.energy_j, launches + len(load)
    energy.update({key: joules / launches for key, (joules, launches) in sorted(sums.items())})
    return {key: joules for key, joules in energy.items() if joules > 0}
