"""The costs of a device, fitted to its calibration.

Costs that a family isolates are computed from that family alone and then fixed. The others show only
together with something else. They are fitted to all families at once, by robust least squares of the
logarithm of predicted by measured; every family has the same weight.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import ProfileError
from cltrace.events.cost_names import CostName
from cltrace.kernels.demand.launch import Demand
from cltrace.kernels.demand.operations import ACCESS
from cltrace.predict.curves import require_scipy
from cltrace.predict.models.overlap.costs import Costs, operation_key, wait_key
from cltrace.predict.models.overlap.probes import MeasuredProbe, measured_probes
from cltrace.predict.models.overlap.times import times_of
from cltrace.profile import DeviceFacts, Parameter

__all__ = ["NORMS", "REQUIRED", "fit_costs", "measured_probes"]

_SMALL_ITEMS: Final = 1 << 14
"""Empty launches of no more work-items take the launch overhead."""
_SLOWER: Final = 1.02
"""Factor from which larger work-groups take longer to dispatch."""
_PRIOR: Final = 0.05
"""Weight of a logarithm's distance from its start, beside the residuals of probes."""
_ROBUST: Final = 0.1
_FIRST_WALKS: Final = 8.0
"""Walks through up to so many times the memory of the first one that misses the nearest cache."""
_MAX_EVALUATIONS: Final = 60
NORMS: Final = frozenset({"p dispatch", "p levels", "p pipes", "p waiting", "p body"})


@dataclass(frozen=True, slots=True)
class JointCost:
    """A cost that is fitted together with others. `start` is the start of the search."""

    name: str
    unit: str
    family: str
    start: float


_BYTES: Final = "B"
_JOINT: Final = (
    JointCost("bank", "ns", "global-banks", 0.5),
    JointCost("line", "ns", "global-banks", 0.13),
    JointCost("line missed", "ns", "near-sets", 0.5),
    JointCost("local", "ns", "local-banks", 0.5),
    JointCost("barrier", "ns", "barriers", 1.0),
    JointCost("wait barrier", "ns", "barriers", 40.0),
    JointCost("sector read", "ns", "working-sets", 3.8e-3),
    JointCost("sector written", "ns", "strides", 4e-3),
    JointCost("sector part written", "ns", "strides", 1.4e-2),
    JointCost("byte read", "ns", "working-sets", 2.3e-4),
    JointCost("byte written", "ns", "strides", 2.6e-4),
    JointCost("scattered read", "ns", "scatters", 2.7e-2),
    JointCost("scattered written", "ns", "scatters", 5e-2),
    JointCost("turnover", "ns", "waves", 3.0),
    JointCost("wait memory", "ns", "order", 400.0),
    JointCost("l1 size", _BYTES, "near-sets", 180e3),
    JointCost("l1 sharpness", "", "near-sets", 5.0),
    JointCost("l2 size", _BYTES, "working-sets", 46e6),
    JointCost("l2 sharpness", "", "working-sets", 6.0),
    JointCost("atomic", "ns", "atomics", 0.74),
    JointCost("atomic ways", "", "atomics", 0.06),
    JointCost("p dispatch", "", "waves", 5.0),
    JointCost("p levels", "", "strides", 4.0),
    JointCost("p pipes", "", "several-operations", 3.0),
    JointCost("p waiting", "", "waves", 1.8),
    JointCost("phases", "", "loops", 3.0),
    JointCost("steps", "", "waves", 30.0),
    JointCost("first", "ns", "elementary", 6e3),
    JointCost("window", "", "loops", 200.0),
    JointCost("p body", "", "several-operations", 3.0),
)
REQUIRED: Final = frozenset(cost.name for cost in _JOINT) | {
    "launch",
    "doubling",
    "group",
    "warp",
    "slot",
    "wait l1",
    "wait l2",
    "wait memory",
    "wait local",
    "interval low",
    "interval high",
}
"""The constants without which nothing can be predicted."""
_CPU_ONLY: Final = ("doubling", "first", "window")
_GPU_ONLY: Final = ("warp", "steps")
"""Costs that are 0 on other devices."""
_ISOLATING_FAMILIES: Final = frozenset({"base", "groups", "throughput", "latency", "chases"})
"""Families that isolate costs, which are fixed in the joint fit."""
_SMALLEST_X: Final[Mapping[str, float]] = {"scatters": float(1 << 20)}
"""Families whose points below an x are left out of the joint fit: their writes meet at one place."""
_CPU_STARTS: Final[Mapping[str, float]] = {
    "bank": 0.5, "line": 0.5, "line missed": 0.5, "local": 0.5, "barrier": 5.0, "wait barrier": 1.0,
    "sector read": 0.2, "sector written": 0.3, "sector part written": 0.5,
    "byte read": 2e-2, "byte written": 4e-2, "scattered read": 2.0, "scattered written": 4.0,
    "turnover": 0.1, "l1 size": 48e3, "l2 size": 30e6, "atomic": 10.0, "atomic ways": 0.1,
    "p dispatch": 1.5, "p levels": 2.0, "p pipes": 3.0, "p waiting": 4.0, "p body": 2.0,
}  # fmt: skip
"""Starts of the search for a CPU."""
_INTERVAL_QUANTILES: Final = (0.05, 0.95)
_SLOT: Final = CostName("float", "add")
"""The operation whose throughput is that of issue slots."""


def fit_costs(probes: Sequence[MeasuredProbe], device: DeviceFacts) -> Mapping[str, Parameter]:
    """Return all costs by their stored names.

    Raises: `ProfileError` if the calibration lacks a family.
    """
    is_cpu = device.kind == "cpu"
    fitted = dict(_cpu_launches(probes) if is_cpu else _gpu_launches(probes))
    fitted |= _operations(probes, "throughput", operation_key, _throughput)
    fitted |= _operations(probes, "latency", wait_key, _waits)
    fitted |= dict(_read_latencies(probes))
    slot = fitted.get(operation_key(_SLOT))
    if slot is None:
        raise ProfileError(f"the calibration has no throughput of {_SLOT}")
    fitted["slot"] = Parameter(slot.value, "ns", slot.error, f"throughput of {_SLOT}")
    absent = _GPU_ONLY if is_cpu else _CPU_ONLY
    fitted |= dict.fromkeys(absent, Parameter(0.0, "", 0.0, ""))
    joint = [cost for cost in _JOINT if cost.name not in absent]
    used = _joint_probes(probes)
    fitted |= _joint(used, joint, Costs.of(fitted), _CPU_STARTS if is_cpu else {})
    return fitted | dict(_interval(used, Costs.of(fitted)))


def _joint_probes(probes: Sequence[MeasuredProbe]) -> Sequence[MeasuredProbe]:
    """Return the probes of the joint fit."""
    return [
        probe
        for probe in probes
        if probe.family not in _ISOLATING_FAMILIES and probe.x >= _SMALLEST_X.get(probe.family, 0.0)
    ]


def _interval(probes: Sequence[MeasuredProbe], costs: Costs) -> Iterable[tuple[str, Parameter]]:
    """Yield the factors between which nine of ten probes lie, every family with the same weight."""
    factors = np.asarray(
        [probe.time_ns / times_of(probe.demand, costs).total_ns for probe in probes], np.float64
    )
    order = np.argsort(factors)
    below = np.cumsum(_weights(probes)[order] ** 2)
    below /= below[-1]
    for name, quantile in zip(("low", "high"), _INTERVAL_QUANTILES, strict=True):
        at = min(int(np.searchsorted(below, quantile)), len(order) - 1)
        yield f"interval {name}", Parameter(float(factors[order[at]]), "", 0.0, "all")


def _gpu_launches(probes: Sequence[MeasuredProbe]) -> Iterable[tuple[str, Parameter]]:
    """Yield the launch overhead, the cost of a group, and that of each of its warps if it is larger."""
    small = [
        probe.time_ns for probe in probes if probe.family == "base" and probe.x <= _SMALL_ITEMS
    ]
    groups = [probe for probe in probes if probe.family == "groups"]
    if not small or not groups:
        raise ProfileError("the calibration has no empty launches")
    launch = median(small)
    spread = float(np.std(small)) / math.sqrt(len(small))
    yield "launch", Parameter(launch, "ns", spread, "base")
    max_groups = max(probe.demand.groups for probe in groups)
    per_group = {
        probe.demand.group_warps: max(probe.time_ns - launch, 0.0) / probe.demand.groups
        for probe in groups
        if probe.demand.groups == max_groups
    }
    fastest, largest = min(per_group.values()), max(per_group)
    yield "group", Parameter(fastest, "ns", 0.0, "groups")
    is_slower = per_group[largest] > _SLOWER * fastest
    per_warp = per_group[largest] / largest if is_slower else 0.0
    yield "warp", Parameter(per_warp, "ns", 0.0, "groups")


def _cpu_launches(probes: Sequence[MeasuredProbe]) -> Iterable[tuple[str, Parameter]]:
    """Yield the cost of a launch, of each doubling of its work-groups, and of each work-group.

    Threads are woken and take several work-groups at a time, ever fewer towards the end: the number of
    these hand-outs grows with the logarithm of the number of work-groups.
    """
    require_scipy()
    from scipy.optimize import nnls  # noqa: PLC0415 - optional, and slow to load

    empty = [probe for probe in probes if probe.family in {"base", "groups"}]
    if len({probe.family for probe in empty}) < 2:
        raise ProfileError("the calibration has no empty launches")
    times = np.asarray([probe.time_ns for probe in empty])
    groups = np.asarray([float(probe.demand.groups) for probe in empty])
    columns = np.stack([np.ones(len(empty)), np.log2(groups), groups], axis=1)
    costs, residual = nnls(columns / times[:, None], np.ones(len(empty)))
    error = float(residual) / math.sqrt(len(empty))
    for name, cost in zip(("launch", "doubling", "group"), costs, strict=True):
        value = max(float(cost), 1.0) if name == "launch" else float(cost)
        yield name, Parameter(value, "ns", value * error, "groups")


def _read_latencies(probes: Sequence[MeasuredProbe]) -> Iterable[tuple[str, Parameter]]:
    """Yield the latency of a read that depends on the last one, for each level of caches.

    Walks through the smallest memory stay in the nearest cache. The first walks that miss it hit the
    shared cache; longer ones also miss the translations of addresses that a single work-item keeps, which
    many share.
    """
    walks = sorted(
        (probe for probe in probes if probe.family == "chases" and probe.series != "local"),
        key=lambda probe: probe.x,
    )
    near = [probe for probe in probes if probe.family == "chases" and probe.series == "local"]
    if len(walks) < 3:
        raise ProfileError("the calibration has no family chases")
    latencies = [probe.time_ns / max(probe.demand.rounds, 1.0) for probe in walks]
    missing = [
        (probe.x, latency)
        for probe, latency in zip(walks, latencies, strict=True)
        if latency > 2.0 * latencies[0]
    ]
    first = [latency for x, latency in missing if x <= _FIRST_WALKS * missing[0][0]]
    yield "wait l1", Parameter(latencies[0], "ns", 0.0, "chases")
    yield "wait l2", Parameter(median(first or latencies), "ns", 0.0, "chases")
    for probe in near:
        yield "wait local", Parameter(probe.time_ns / probe.demand.rounds, "ns", 0.0, "chases")


_CountOperations = Callable[[Demand], Mapping[CostName, float]]


def _throughput(demand: Demand) -> Mapping[CostName, float]:
    return {work.name: work.warp_total / demand.units for work in demand.work}


def _waits(demand: Demand) -> Mapping[CostName, float]:
    return {wait.name: wait.per_warp * demand.serial_warps for wait in demand.waits}


def _operations(
    probes: Sequence[MeasuredProbe],
    family: str,
    key: Callable[[CostName], str],
    count: _CountOperations,
) -> Mapping[str, Parameter]:
    """Return the costs of operations, by `key` of their names.

    They explain the differences between a long and a short loop of each series, of all series at once.
    """
    require_scipy()
    from scipy.optimize import nnls  # noqa: PLC0415 - optional, and slow to load

    rows, times = _loop_differences(probes, family, count)
    names = sorted({name for row in rows for name in row} - {ACCESS}, key=str)
    matrix = np.asarray([[row.get(name, 0.0) for name in names] for row in rows])
    scale = np.asarray(times)
    if not len(scale):
        raise ProfileError(f"the calibration has no family {family}")
    costs, residual = nnls(matrix / scale[:, None], np.ones(len(scale)))
    error = float(residual) / math.sqrt(len(scale))
    return {
        key(name): Parameter(float(cost), "ns", float(cost) * error, family)
        for name, cost in zip(names, costs, strict=True)
        if cost > 0
    }


def _loop_differences(
    probes: Sequence[MeasuredProbe], family: str, count: _CountOperations
) -> tuple[list[dict[CostName, float]], list[float]]:
    """Return the operations and the ns by which the longest loop of each series exceeds the shortest."""
    rows: list[dict[CostName, float]] = []
    times: list[float] = []
    by_series: dict[str, list[MeasuredProbe]] = {}
    for probe in probes:
        if probe.family == family:
            by_series.setdefault(probe.series, []).append(probe)
    for points in by_series.values():
        shortest = min(points, key=lambda probe: probe.x)
        longest = max(points, key=lambda probe: probe.x)
        more_ns = longest.time_ns - shortest.time_ns
        if shortest.x == longest.x or more_ns <= 0:
            continue
        base = count(shortest.demand)
        longest_counts = count(longest.demand).items()
        rows.append({name: number - base.get(name, 0.0) for name, number in longest_counts})
        times.append(more_ns)
    return rows, times


def _joint(
    probes: Sequence[MeasuredProbe],
    joint: Sequence[JointCost],
    isolated: Costs,
    starts: Mapping[str, float],
) -> Mapping[str, Parameter]:
    """Return the costs that show only together. `starts` overrides the start of the search."""
    require_scipy()
    from scipy.optimize import least_squares  # noqa: PLC0415 - optional, and slow to load

    weights = _weights(probes)
    start = np.log([starts.get(cost.name, cost.start) for cost in joint])
    logs = np.log([probe.time_ns for probe in probes])

    def residuals(values: NDArray[np.float64]) -> NDArray[np.float64]:
        costs = isolated.with_constants(_by_name(joint, values))
        predicted = np.log([times_of(probe.demand, costs).total_ns for probe in probes])
        combined: NDArray[np.float64] = np.concatenate(
            [weights * (predicted - logs), _PRIOR * (values - start)]
        )
        return combined

    best = least_squares(
        residuals, start, loss="soft_l1", f_scale=_ROBUST, max_nfev=_MAX_EVALUATIONS
    )
    costs = _by_name(joint, best.x)
    errors = _errors(best.jac, best.fun)
    return {
        cost.name: Parameter(
            costs[cost.name], cost.unit, costs[cost.name] * float(error), cost.family
        )
        for cost, error in zip(joint, errors, strict=True)
    }


def _by_name(joint: Sequence[JointCost], logs: NDArray[np.float64]) -> dict[str, float]:
    costs = {cost.name: math.exp(log) for cost, log in zip(joint, logs, strict=True)}
    return {name: max(cost, 1.0) if name in NORMS else cost for name, cost in costs.items()}


def _weights(probes: Sequence[MeasuredProbe]) -> NDArray[np.float64]:
    """Return weights that make all families equal, and keep the total weight of all points."""
    sizes = Counter(probe.family for probe in probes)
    weights = np.asarray([1.0 / math.sqrt(sizes[probe.family]) for probe in probes])
    return weights * math.sqrt(len(probes) / len(sizes))


def _errors(jacobian: NDArray[np.float64], residuals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard errors of fitted logarithms, which are relative errors of the costs."""
    spread = float(residuals @ residuals) / max(len(residuals) - jacobian.shape[1], 1)
    covariance = np.linalg.pinv(jacobian.T @ jacobian) * spread
    errors: NDArray[np.float64] = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return errors
