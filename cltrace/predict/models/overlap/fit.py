"""The costs of a device from its calibration.

What a family isolates is worked out from that family alone and held. What is left, which shows only
together with something else, is fitted to all families at once, by robust least squares of the
logarithm of predicted by measured; each family counts as much as another.
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
from cltrace.kernels.demand.launch import Demand
from cltrace.predict.curves import require_scipy
from cltrace.predict.models.overlap.probes import Measured, measured_probes
from cltrace.predict.models.overlap.times import times_of
from cltrace.profile import DeviceFacts, Parameter

__all__ = ["NORMS", "REQUIRED", "fitted_costs", "measured_probes"]

_SMALL_ITEMS: Final = 1 << 14
"""Empty launches of no more work-items take what any launch takes."""
_MORE: Final = 1.02
_PRIOR: Final = 0.05
"""How much a logarithm's distance from where it starts counts beside those of the probes."""
_ROBUST: Final = 0.1
_MOST_STEPS: Final = 60
NORMS: Final = frozenset({"p dispatch", "p levels", "p pipes", "p waiting", "p body"})


@dataclass(frozen=True, slots=True)
class Joint:
    """A cost that is fitted together with others. `start` is where the search begins."""

    name: str
    unit: str
    family: str
    start: float


_BYTES: Final = "B"
_JOINT: Final = (
    Joint("bank", "ns", "global-banks", 0.5),
    Joint("line", "ns", "global-banks", 0.13),
    Joint("line missed", "ns", "near-sets", 0.5),
    Joint("local", "ns", "local-banks", 0.5),
    Joint("barrier", "ns", "barriers", 1.0),
    Joint("wait barrier", "ns", "barriers", 40.0),
    Joint("sector read", "ns", "working-sets", 3.8e-3),
    Joint("sector written", "ns", "strides", 4e-3),
    Joint("sector part written", "ns", "strides", 1.4e-2),
    Joint("byte read", "ns", "working-sets", 2.3e-4),
    Joint("byte written", "ns", "strides", 2.6e-4),
    Joint("scattered read", "ns", "scatters", 2.7e-2),
    Joint("scattered written", "ns", "scatters", 5e-2),
    Joint("turnover", "ns", "waves", 3.0),
    Joint("l1 size", _BYTES, "near-sets", 180e3),
    Joint("l1 sharpness", "", "near-sets", 5.0),
    Joint("l2 size", _BYTES, "working-sets", 46e6),
    Joint("l2 sharpness", "", "working-sets", 6.0),
    Joint("atomic", "ns", "atomics", 0.74),
    Joint("atomic ways", "", "atomics", 0.06),
    Joint("p dispatch", "", "waves", 5.0),
    Joint("p levels", "", "strides", 4.0),
    Joint("p pipes", "", "several-operations", 3.0),
    Joint("p waiting", "", "waves", 1.8),
    Joint("phases", "", "loops", 3.0),
    Joint("steps", "", "waves", 30.0),
    Joint("first", "ns", "elementary", 6e3),
    Joint("window", "", "loops", 200.0),
    Joint("p body", "", "several-operations", 3.0),
)
REQUIRED: Final = frozenset(one.name for one in _JOINT) | {
    "launch", "doubling", "group", "warp", "slot", "wait l1", "wait l2", "wait memory", "wait local",
    "interval low", "interval high",
}  # fmt: skip
"""The costs without which nothing can be predicted."""
_CPU_ALONE: Final = ("doubling", "first", "window")
_GPU_ALONE: Final = ("warp", "steps")
"""Costs that are nothing on other devices."""
_HELD: Final = frozenset({"base", "groups", "throughput", "latency", "chases"})
"""Families that isolate what is held."""
_UNSEEN: Final[Mapping[str, float]] = {"scatters": float(1 << 20)}
"""Families of which points below an x are left out: there writes meet at one place."""


_OF_CPU: Final[Mapping[str, float]] = {
    "bank": 0.5, "line": 0.5, "line missed": 0.5, "local": 0.5, "barrier": 5.0, "wait barrier": 1.0,
    "sector read": 0.2, "sector written": 0.3, "sector part written": 0.5,
    "byte read": 2e-2, "byte written": 4e-2, "scattered read": 2.0, "scattered written": 4.0,
    "turnover": 0.1, "l1 size": 48e3, "l2 size": 30e6, "atomic": 10.0, "atomic ways": 0.1,
    "p dispatch": 1.5, "p levels": 2.0, "p pipes": 3.0, "p waiting": 4.0, "p body": 2.0,
}  # fmt: skip
"""Where the search begins for a CPU."""
_NINE_OF_TEN: Final = (0.05, 0.95)


def fitted_costs(probes: Sequence[Measured], device: DeviceFacts) -> Mapping[str, Parameter]:
    """All costs. Raises: `ProfileError` if the calibration lacks a family."""
    is_cpu = device.kind == "cpu"
    found = dict(_waking(probes) if is_cpu else _launching(probes))
    found |= _operations(probes, "throughput", "", _throughput)
    found |= _operations(probes, "latency", "wait ", _waiting)
    found |= dict(_distances(probes))
    slot = found.get("float add")
    if slot is None:
        raise ProfileError("the calibration has no throughput of float add")
    found["slot"] = Parameter(slot.value, "ns", slot.error, "throughput of float add")
    others = _GPU_ALONE if is_cpu else _CPU_ALONE
    found |= dict.fromkeys(others, Parameter(0.0, "", 0.0, ""))
    joint = [one for one in _JOINT if one.name not in others]
    known = {name: parameter.value for name, parameter in found.items()}
    found |= _joint(_used(probes), joint, known, _OF_CPU if is_cpu else {})
    costs = {name: parameter.value for name, parameter in found.items()}
    return found | dict(_interval(_used(probes), costs))


def _used(probes: Sequence[Measured]) -> Sequence[Measured]:
    return [
        one for one in probes if one.family not in _HELD and one.x >= _UNSEEN.get(one.family, 0.0)
    ]


def _interval(
    used: Sequence[Measured], costs: Mapping[str, float]
) -> Iterable[tuple[str, Parameter]]:
    """Factors between which nine of ten probes lie, each family counting as much as another."""
    factors = np.asarray(
        [one.time_ns / times_of(one.demand, costs).total_ns for one in used], np.float64
    )
    order = np.argsort(factors)
    below = np.cumsum(_weights(used)[order] ** 2)
    below /= below[-1]
    for name, quantile in zip(("low", "high"), _NINE_OF_TEN, strict=True):
        at = min(int(np.searchsorted(below, quantile)), len(order) - 1)
        yield f"interval {name}", Parameter(float(factors[order[at]]), "", 0.0, "all")


def _launching(probes: Sequence[Measured]) -> Iterable[tuple[str, Parameter]]:
    """What a launch takes at least, and each group, and each of its warps where that is more."""
    small = [one.time_ns for one in probes if one.family == "base" and one.x <= _SMALL_ITEMS]
    groups = [one for one in probes if one.family == "groups"]
    if not small or not groups:
        raise ProfileError("the calibration has no empty launches")
    launch = median(small)
    spread = float(np.std(small)) / math.sqrt(len(small))
    yield "launch", Parameter(launch, "ns", spread, "base")
    most = max(one.demand.groups for one in groups)
    each = {
        one.demand.group_warps: max(one.time_ns - launch, 0.0) / one.demand.groups
        for one in groups
        if one.demand.groups == most
    }
    least, largest = min(each.values()), max(each)
    yield "group", Parameter(least, "ns", 0.0, "groups")
    is_more = each[largest] > _MORE * least
    yield "warp", Parameter(each[largest] / largest if is_more else 0.0, "ns", 0.0, "groups")


def _waking(probes: Sequence[Measured]) -> Iterable[tuple[str, Parameter]]:
    """What a launch takes, each doubling of its work-groups, and each of them.

    Threads are woken, and take work-groups by the handful, ever fewer at a time: that takes longer with
    the logarithm of how many there are.
    """
    require_scipy()
    from scipy.optimize import nnls  # noqa: PLC0415 - optional, and slow to load

    empty = [one for one in probes if one.family in {"base", "groups"}]
    if len({one.family for one in empty}) < 2:
        raise ProfileError("the calibration has no empty launches")
    taken = np.asarray([one.time_ns for one in empty])
    groups = np.asarray([float(one.demand.groups) for one in empty])
    columns = np.stack([np.ones(len(empty)), np.log2(groups), groups], axis=1)
    costs, rest = nnls(columns / taken[:, None], np.ones(len(empty)))
    error = float(rest) / math.sqrt(len(empty))
    for name, cost in zip(("launch", "doubling", "group"), costs, strict=True):
        value = max(float(cost), 1.0) if name == "launch" else float(cost)
        yield name, Parameter(value, "ns", value * error, "groups")


def _distances(probes: Sequence[Measured]) -> Iterable[tuple[str, Parameter]]:
    """How long a read takes that depends on the last one, from each place where it may be found.

    Walks through the least memory stay in the nearest cache, those through the most find none there
    nor in the shared one; half of the walks between find it in the shared one.
    """
    walks = sorted(
        (one for one in probes if one.family == "chases" and one.series != "local"),
        key=lambda one: one.x,
    )
    near = [one for one in probes if one.family == "chases" and one.series == "local"]
    if len(walks) < 3:
        raise ProfileError("the calibration has no family chases")
    each = [one.time_ns / max(one.demand.rounds, 1.0) for one in walks]
    between = [value for value in each if value > 2.0 * each[0]]
    yield "wait l1", Parameter(each[0], "ns", 0.0, "chases")
    yield "wait l2", Parameter(median(between or each), "ns", 0.0, "chases")
    yield "wait memory", Parameter(each[-1], "ns", 0.0, "chases")
    for one in near:
        yield "wait local", Parameter(one.time_ns / one.demand.rounds, "ns", 0.0, "chases")


_Asked = Callable[[Demand], Mapping[str, float]]


def _throughput(demand: Demand) -> Mapping[str, float]:
    return {work.name: work.warp_total / demand.units for work in demand.work}


def _waiting(demand: Demand) -> Mapping[str, float]:
    return {wait.name: wait.per_warp * demand.turns for wait in demand.waits}


def _operations(
    probes: Sequence[Measured], family: str, prefix: str, asked: _Asked
) -> Mapping[str, Parameter]:
    """What operations cost: from what a long loop takes more than a short one, all series at once."""
    require_scipy()
    from scipy.optimize import nnls  # noqa: PLC0415 - optional, and slow to load

    rows: list[dict[str, float]] = []
    taken: list[float] = []
    by_series: dict[str, list[Measured]] = {}
    for one in probes:
        if one.family == family:
            by_series.setdefault(one.series, []).append(one)
    for points in by_series.values():
        few, many = min(points, key=lambda one: one.x), max(points, key=lambda one: one.x)
        more = many.time_ns - few.time_ns
        if few.x == many.x or more <= 0:
            continue
        less = asked(few.demand)
        rows.append({k: v - less.get(k, 0.0) for k, v in asked(many.demand).items()})
        taken.append(more)
    names = sorted({name for row in rows for name in row} - {"access"})
    matrix = np.asarray([[row.get(name, 0.0) for name in names] for row in rows])
    by = np.asarray(taken)
    if not len(by):
        raise ProfileError(f"the calibration has no family {family}")
    values, rest = nnls(matrix / by[:, None], np.ones(len(by)))
    error = rest / math.sqrt(len(by))
    return {
        prefix + name: Parameter(float(value), "ns", float(value) * float(error), family)
        for name, value in zip(names, values, strict=True)
        if value > 0
    }


def _joint(
    used: Sequence[Measured],
    joint: Sequence[Joint],
    known: Mapping[str, float],
    starts: Mapping[str, float],
) -> Mapping[str, Parameter]:
    """The costs that show only together. `starts` are where a search begins that is not the usual."""
    require_scipy()
    from scipy.optimize import least_squares  # noqa: PLC0415 - optional, and slow to load

    weights = _weights(used)
    start = np.log([starts.get(one.name, one.start) for one in joint])
    logs = np.log([one.time_ns for one in used])

    def off(values: NDArray[np.float64]) -> NDArray[np.float64]:
        costs = {**known, **_named(joint, values)}
        predicted = np.log([times_of(one.demand, costs).total_ns for one in used])
        found: NDArray[np.float64] = np.concatenate(
            [weights * (predicted - logs), _PRIOR * (values - start)]
        )
        return found

    best = least_squares(off, start, loss="soft_l1", f_scale=_ROBUST, max_nfev=_MOST_STEPS)
    costs = _named(joint, best.x)
    errors = _errors(best.jac, best.fun)
    return {
        one.name: Parameter(costs[one.name], one.unit, costs[one.name] * float(error), one.family)
        for one, error in zip(joint, errors, strict=True)
    }


def _named(joint: Sequence[Joint], values: NDArray[np.float64]) -> dict[str, float]:
    found = {one.name: math.exp(value) for one, value in zip(joint, values, strict=True)}
    return {name: max(cost, 1.0) if name in NORMS else cost for name, cost in found.items()}


def _weights(used: Sequence[Measured]) -> NDArray[np.float64]:
    """Such that each family counts as much as another, all together as much as their points."""
    sizes = Counter(one.family for one in used)
    found = np.asarray([1.0 / math.sqrt(sizes[one.family]) for one in used])
    return found * math.sqrt(len(used) / len(sizes))


def _errors(jacobian: NDArray[np.float64], rest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Relative standard errors of fitted logarithms."""
    spread = float(rest @ rest) / max(len(rest) - jacobian.shape[1], 1)
    covariance = np.linalg.pinv(jacobian.T @ jacobian) * spread
    found: NDArray[np.float64] = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return found
