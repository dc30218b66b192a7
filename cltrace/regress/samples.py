"""A trace as a sample: the time of each kernel in the run, its work, and the devices.

The first launches of a kernel are dropped: caches, clocks and drivers settle during them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

import numpy as np

from cltrace.power.energy import energy_of
from cltrace.power.results import EnergyLine
from cltrace.regress.counters import count_events
from cltrace.regress.run_records import DeviceIdentity, KernelKey, KernelTime, RunSample
from cltrace.regress.work import SizedKernel, count_work
from cltrace.trace.power import has_power
from cltrace.trace.reader import Trace

DEFAULT_DROP: Final = 5
"""The number of a kernel's first launches that are dropped, at most half of all."""
_S: Final = 1e-9
WHOLE_RUN: Final = SizedKernel("", "")
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


class SampleDetail(StrEnum):
    """Detail with which a trace is read as a sample."""

    TIMES = "times"
    """Times, counters and energy."""
    WORK = "work"
    """Also the work of kernels, counted from their sources, which takes seconds more."""


def read_sample(
    trace: Trace, drop: int = DEFAULT_DROP, detail: SampleDetail = SampleDetail.TIMES
) -> RunSample:
    """Return a trace as the sample of its run. Raises: `TraceError`."""
    durations_ns: dict[KernelKey, list[int]] = {}
    for device, kernel, size, duration_ns in trace.iterate(_LAUNCHES):
        key = KernelKey(str(kernel), str(size), str(device))
        durations_ns.setdefault(key, []).append(int(duration_ns))
    devices = tuple(DeviceIdentity(*map(str, row)) for row in trace.rows(_DEVICES))
    kernels = {key: _kernel_time(all_ns, drop) for key, all_ns in sorted(durations_ns.items())}
    return RunSample(
        devices,
        kernels,
        count_events(trace),
        work=count_work(trace) if detail is SampleDetail.WORK else None,
        energy_j=_read_energy(trace) if has_power(trace) else {},
    )


def _kernel_time(all_ns: Sequence[int], drop: int) -> KernelTime:
    """Return the time of a kernel, of which at least half of the launches count."""
    counted = all_ns[min(drop, len(all_ns) // 2) :]
    return KernelTime(len(all_ns), len(counted), float(np.median(counted)), float(sum(all_ns)))


def _read_energy(trace: Trace) -> Mapping[SizedKernel, float]:
    """Return the energies of a run with power, in J. Raises: `TraceError`."""
    began_ns, ended_ns = trace.meta_int("origin_host_ns"), trace.meta_int("ended_host_ns")
    duration_s = math.inf if began_ns is None or ended_ns is None else (ended_ns - began_ns) * _S
    energy = energy_of(trace)
    energies_j = {WHOLE_RUN: energy.energy_between_j(0.0, duration_s)}
    energies_j.update(kernel_energies(energy.lines))
    return {key: joules for key, joules in energies_j.items() if joules > 0}


def kernel_energies(lines: Iterable[EnergyLine]) -> Mapping[SizedKernel, float]:
    """Return the energy per launch of each kernel that sensors resolve from other work, in J."""
    sums: dict[SizedKernel, tuple[float, int]] = {}
    for line in lines:
        load = line.load
        if line.energy_j is not None and load.size and len(load) and len(load.names) == 1:
            key = SizedKernel(load.name, load.size)
            before_j, launches = sums.get(key, (0.0, 0))
            sums[key] = before_j + line.energy_j, launches + len(load)
    return {key: joules / count for key, (joules, count) in sorted(sums.items())}
