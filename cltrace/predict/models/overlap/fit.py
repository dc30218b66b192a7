"""The costs of a device, fitted to its calibration.

Costs that a family isolates are computed from that family alone and then fixed. The others show only
together with something else. They are fitted to all families at once, by robust least squares of the
logarithm of predicted by measured; every family has the same weight.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import ProfileError
from cltrace.events.cost_names import CostName
from cltrace.predict.models.defaults import LATER_COSTS, Gaps
from cltrace.predict.models.overlap.costs import Costs, operation_key
from cltrace.predict.models.overlap.isolated_costs import isolated_costs
from cltrace.predict.models.overlap.joint_search import SearchLimits, search_minimum
from cltrace.predict.models.overlap.probes import MeasuredProbe
from cltrace.predict.models.overlap.times import times_of
from cltrace.profile import DEFAULT_PREFIX, DeviceFacts, Parameter

_PRIOR: Final = 0.05
"""Weight of a logarithm's distance from its start, beside the residuals of probes."""
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
_ISOLATING_FAMILIES: Final = frozenset(
    {"base", "groups", "throughput", "latency", "chases", "idle", "first", "images"}
)
"""Families that isolate costs, which are fixed in the joint fit."""
_CHECKING_FAMILIES: Final = frozenset({"private"})
"""Families that show how well the costs of others explain them: those of caches, for private arrays."""
_SMALLEST_X: Final[Mapping[str, float]] = {"scatters": float(1 << 20)}
"""Families whose points below an x are left out of the joint fit: their writes meet at one place."""
_CPU_STARTS: Final[dict[str, float]] = {
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


def fit_costs(
    probes: Sequence[MeasuredProbe], device: DeviceFacts, gaps: Gaps, limits: SearchLimits
) -> Mapping[str, Parameter]:
    """Return all costs by their stored names. `limits` are those of the joint fit.

    Raises: `ProfileError` if the calibration lacks a family that has no `gaps`.
    """
    is_cpu = device.kind == "cpu"
    fitted = {} if is_cpu else dict(LATER_COSTS)
    fitted |= dict(isolated_costs(probes, gaps, is_cpu=is_cpu))
    slot = fitted.get(operation_key(_SLOT))
    if slot is None:
        raise ProfileError(f"the calibration has no throughput of {_SLOT}")
    prefix = DEFAULT_PREFIX if slot.is_default else ""
    fitted["slot"] = Parameter(slot.value, "ns", slot.error, f"{prefix}throughput of {_SLOT}")
    absent = _GPU_ONLY if is_cpu else _CPU_ONLY
    fitted |= dict.fromkeys(absent, Parameter(0.0, "", 0.0, ""))
    used = _joint_probes(probes)
    joint = [cost for cost in _JOINT if cost.name not in absent and cost.name not in fitted]
    defaults = _joint_defaults(used, joint, gaps)
    starts = (_CPU_STARTS if is_cpu else {}) | {name: cost.value for name, cost in defaults.items()}
    fitted |= _joint(used, joint, Costs.of(fitted), starts, limits)
    fitted |= {name: replace(fitted[name], family=cost.family) for name, cost in defaults.items()}
    if used:
        fitted |= dict(_interval(used, Costs.of(fitted)))
    return {**gaps.defaults_of(sorted(REQUIRED)), **fitted}


def _joint_defaults(
    probes: Sequence[MeasuredProbe], joint: Sequence[JointCost], gaps: Gaps
) -> Mapping[str, Parameter]:
    """Return the defaults of joint costs whose families have no probes, where the search starts."""
    families = {probe.family for probe in probes}
    missing = [cost.name for cost in joint if cost.family not in families]
    return {name: cost for name, cost in gaps.defaults_of(missing).items() if cost.value > 0}


def _joint_probes(probes: Sequence[MeasuredProbe]) -> Sequence[MeasuredProbe]:
    """Return the probes of the joint fit."""
    return [
        probe
        for probe in probes
        if probe.family not in _ISOLATING_FAMILIES | _CHECKING_FAMILIES
        and probe.x >= _SMALLEST_X.get(probe.family, 0.0)
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


def _joint(
    probes: Sequence[MeasuredProbe],
    joint: Sequence[JointCost],
    isolated: Costs,
    starts: Mapping[str, float],
    limits: SearchLimits,
) -> Mapping[str, Parameter]:
    """Return the costs that show only together. `starts` overrides the start of the search."""
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

    result = search_minimum(residuals, start, limits)
    costs = _by_name(joint, result.values)
    return {
        cost.name: Parameter(
            costs[cost.name], cost.unit, costs[cost.name] * float(error), cost.family
        )
        for cost, error in zip(joint, result.errors, strict=True)
    }


def _by_name(joint: Sequence[JointCost], logs: NDArray[np.float64]) -> dict[str, float]:
    costs = {cost.name: math.exp(log) for cost, log in zip(joint, logs, strict=True)}
    return {name: max(cost, 1.0) if name in NORMS else cost for name, cost in costs.items()}


def _weights(probes: Sequence[MeasuredProbe]) -> NDArray[np.float64]:
    """Return weights that make all families equal, and keep the total weight of all points."""
    sizes = Counter(probe.family for probe in probes)
    weights = np.asarray([1.0 / math.sqrt(sizes[probe.family]) for probe in probes])
    return weights * math.sqrt(len(probes) / max(len(sizes), 1))
