"""Costs of neighbours in a trace: launches that ran at the same time on the same device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

import numpy as np

from cltrace.kernels import KernelCounts
from cltrace.kernels.demand.launch import Demand, demand_of
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.neighbours.fit import constants_of
from cltrace.predict.neighbours.segments import Segments, segments_of
from cltrace.predict.neighbours.shares import Neighbourhood, solve_shares
from cltrace.profile import DeviceProfile
from cltrace.trace.reader import Trace

_RUNS: Final = """
    SELECT launch_id, start_device_ns, end_device_ns FROM v_command
    WHERE launch_id IS NOT NULL AND duration_ns > 0 {on_devices} ORDER BY command_id
"""
_SEVERAL_QUEUES: Final = """
    SELECT device_id FROM v_command WHERE launch_id IS NOT NULL
    GROUP BY device_id HAVING min(queue_id) < max(queue_id)
"""
_MAX_RUNS: Final = 200_000
"""Launches of a device whose neighbours are looked for; the later ones count as alone."""
_MAX_SETS: Final = 300
"""Sets of launches whose durations are predicted together: those with the most time."""
_MAX_AT_ONCE: Final = 16
"""Launches at once of which more are not predicted together."""
_INTERVAL: Final = (0.5, 2.0)
"""Bounds by the predicted time: within these lie nine of ten launches beside others on an H200."""


@dataclass(frozen=True, slots=True)
class NeighbourTime:
    """How much longer the calls of a launch took because others ran at the same time, all calls together.

    `longer_ns` is the prediction, `interval_ns` its bounds. `beside_ns` is the time for which others ran
    as well, which neither exceeds. `who` are the kernels of these others, the one with the most time
    first.
    """

    longer_ns: float
    interval_ns: tuple[float, float]
    beside_ns: int
    who: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaunchesAtOnce:
    """Kernels that ran at the same time, for `time_ns` in all, and the numbers of their groups.

    `gain` is how many times faster that is than one after the other, by the prediction: below 1, they
    would have been faster one after the other.
    """

    kernels: tuple[str, ...]
    numbers: frozenset[int]
    time_ns: int
    gain: float


@dataclass(frozen=True, slots=True)
class TracedNeighbours:
    """Costs of neighbours on a device by number of the groups, and what ran at once, longest first.

    Groups that ran alone have no cost.
    """

    costs: Mapping[int, NeighbourTime]
    at_once: tuple[LaunchesAtOnce, ...]


@dataclass(frozen=True, slots=True)
class TracedGroup:
    """Launches of a trace with the same counts and the same buffers.

    Groups with the same `number` have the same counts.
    """

    number: int
    kernel: str
    launch_ids: tuple[int, ...]
    counts: KernelCounts
    buffers: frozenset[int]


def neighbour_times(
    segments: Segments,
    groups: Sequence[TracedGroup],
    profile: DeviceProfile,
    end_s: float | None = None,
) -> TracedNeighbours:
    """Return what neighbours cost the launches of a device.

    Sets that are not solved when the monotonic clock reads `end_s` cost nothing.
    Raises: `ProfileError` if the profile is not fitted.
    """
    if not segments.total_ns:
        return TracedNeighbours({}, ())
    slowing = _Slowing(groups, profile)
    found: dict[int, list[tuple[int, float, tuple[int, ...]]]] = {}
    at_once: list[LaunchesAtOnce] = []
    ranked = sorted(segments.by_set.items(), key=lambda item: -item[1])
    for number, (members, time_ns) in enumerate(ranked):
        if len(members) < 2:
            continue
        is_late = end_s is not None and monotonic() > end_s
        is_solved = number < _MAX_SETS and len(members) <= _MAX_AT_ONCE and not is_late
        factors = slowing.factors(members) if is_solved else (1.0,) * len(members)
        for at, (member, factor) in enumerate(zip(members, factors, strict=True)):
            is_large = len(members) > _MAX_AT_ONCE
            others = members if is_large else members[:at] + members[at + 1 :]
            if member >= 0:
                found.setdefault(groups[member].number, []).append((time_ns, factor, others))
        if is_solved and min(members) >= 0:
            own = [groups[member] for member in members]
            kernels = tuple(sorted(group.kernel for group in own))
            numbers = frozenset(group.number for group in own)
            gain = sum(1.0 / each for each in factors)
            at_once.append(LaunchesAtOnce(kernels, numbers, time_ns, gain))
    costs = {number: _sum(rows, groups) for number, rows in found.items()}
    return TracedNeighbours(costs, _by_kernels(at_once))


def _by_kernels(at_once: Sequence[LaunchesAtOnce]) -> tuple[LaunchesAtOnce, ...]:
    """Return the sets of the same kernels and counts together, the one with the most time first."""
    merged: dict[tuple[tuple[str, ...], frozenset[int]], LaunchesAtOnce] = {}
    for each in at_once:
        key = (each.kernels, each.numbers)
        before = merged.get(key)
        if before is None:
            merged[key] = each
        else:
            time_ns = before.time_ns + each.time_ns
            gain = (before.gain * before.time_ns + each.gain * each.time_ns) / time_ns
            merged[key] = replace(before, time_ns=time_ns, gain=gain)
    return tuple(sorted(merged.values(), key=lambda each: -each.time_ns))


def slower_beside_like(
    counts: KernelCounts, profile: DeviceProfile, most: int
) -> Mapping[int, float]:
    """Return how many times longer a launch takes beside others like it with buffers of their own.

    The keys are the numbers of launches at once, from two to `most`. Empty where one launch has more
    work-groups than the device has compute units. Raises: `ProfileError` if the profile is not fitted.
    """
    costs = OVERLAP.for_device(profile).costs
    supplies = constants_of(profile).get("share", {})
    demand = demand_of(counts, costs.operations)
    if demand.groups > demand.compute_units:
        return {}
    factors = {}
    for count in range(2, most + 1):
        has_own_units = count * demand.units <= demand.compute_units
        around = Neighbourhood(has_own_units, is_memory_shared=False)
        times = solve_shares([demand] * count, costs, around, supplies)
        factors[count] = max(times.beside_ns[0] / times.alone_ns[0], 1.0)
    return factors


def has_several_queues(trace: Trace) -> bool:
    """Return True if a device ran launches of several queues, which may have run at once."""
    return bool(trace.rows(_SEVERAL_QUEUES))


def runs_of(trace: Trace, groups: Sequence[TracedGroup], on_devices: str) -> Segments:
    """Return the times at which launches ran at once; launches without counts have the group -1.

    `on_devices` is the SQL condition that names one device: launches of several are no neighbours.
    """
    group_of = {
        launch_id: number for number, group in enumerate(groups) for launch_id in group.launch_ids
    }
    rows = [
        row
        for _, row in zip(
            range(_MAX_RUNS), trace.iterate(_RUNS.format(on_devices=on_devices)), strict=False
        )
        if all(isinstance(value, int) for value in row)
    ]
    times = np.asarray(rows, np.int64).reshape(-1, 3)
    owners = [group_of.get(launch_id, -1) for launch_id in times[:, 0].tolist()]
    return segments_of(times[:, 1], times[:, 2], owners)


def _sum(
    rows: Sequence[tuple[int, float, tuple[int, ...]]], groups: Sequence[TracedGroup]
) -> NeighbourTime:
    """Return the sum over sets of time, factor and others."""
    beside = sum(time for time, _, _ in rows)
    low, longer, high = (
        sum(time * _lost_share(factor, scale) for time, factor, _ in rows)
        for scale in (_INTERVAL[0], 1.0, _INTERVAL[1])
    )
    by_kernel: dict[str, int] = {}
    for time, _, others in rows:
        for other in dict.fromkeys(others):
            name = groups[other].kernel if other >= 0 else "unknown"
            by_kernel[name] = by_kernel.get(name, 0) + time
    who = tuple(sorted(by_kernel, key=lambda name: -by_kernel[name]))
    return NeighbourTime(longer, (low, high), beside, who)


def _lost_share(factor: float, scale: float) -> float:
    """Return the share of a launch's time that it lost, where its duration is longer by a factor."""
    return 1.0 - 1.0 / max(factor * scale, 1.0)


class _Slowing:
    """Factors by which launches are slower together than alone, solved once for each set."""

    def __init__(self, groups: Sequence[TracedGroup], profile: DeviceProfile) -> None:
        self._groups = groups
        self._costs = OVERLAP.for_device(profile).costs
        self._supplies = constants_of(profile).get("share", {})
        self._demands: dict[int, Demand] = {}

    def factors(self, members: tuple[int, ...]) -> tuple[float, ...]:
        """Return the factor of each member, at least 1; 1 for those without counts."""
        known = [member for member in members if member >= 0]
        if len(known) < 2:
            return (1.0,) * len(members)
        demands = [self._demand(member) for member in known]
        shared = frozenset.intersection(*(self._groups[member].buffers for member in known))
        units = sum(demand.units for demand in demands)
        around = Neighbourhood(units <= demands[0].compute_units, bool(shared))
        times = solve_shares(demands, self._costs, around, self._supplies)
        pairs = zip(times.beside_ns, times.alone_ns, strict=True)
        factors = iter([max(beside / alone, 1.0) for beside, alone in pairs])
        return tuple(next(factors) if member >= 0 else 1.0 for member in members)

    def _demand(self, member: int) -> Demand:
        group = self._groups[member]
        if group.number not in self._demands:
            self._demands[group.number] = demand_of(group.counts, self._costs.operations)
        return self._demands[group.number]
