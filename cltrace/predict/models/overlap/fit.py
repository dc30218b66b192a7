"""The costs of a device, fitted to its calibration.

Costs that a family isolates are computed from that family alone and then fixed. The others show only
together with something else. They are fitted to all families at once, by robust least squares of the
logarithm of predicted by measured; every family has the same weight.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import ProfileError
from cltrace.predict.models.defaults import LATER_COSTS, LATER_PROCESSOR_COSTS, Gaps
from cltrace.predict.models.overlap.arrivals import ARRIVAL_FAMILIES
from cltrace.predict.models.overlap.costs import Costs, operation_key
from cltrace.predict.models.overlap.isolated_costs import SLOT, isolated_costs
from cltrace.predict.models.overlap.joint_costs import (
    NORMS,
    JointCost,
    joint_costs,
    required_constants,
)
from cltrace.predict.models.overlap.joint_search import SearchLimits, search_minimum
from cltrace.predict.models.overlap.kept_parts import KeptParts
from cltrace.predict.models.overlap.pipe_overlap import MIXTURES, pipe_overlap
from cltrace.predict.models.overlap.probes import MeasuredProbe
from cltrace.predict.models.overlap.processor_costs import PROCESSOR_COSTS
from cltrace.predict.models.overlap.times import times_again, times_of
from cltrace.profile import DEFAULT_PREFIX, DeviceFacts, Parameter

_ISOLATING_FAMILIES: Final = frozenset(
    {
        "base",
        "groups",
        "throughput",
        "latency",
        "chases",
        "images",
        *PROCESSOR_COSTS,
        MIXTURES,
        *ARRIVAL_FAMILIES,
    }
)
"""Families that isolate costs, which are fixed in the joint fit."""
_CHECKING_FAMILIES: Final = frozenset({"private"})
"""Families that show how well the costs of others explain them: those of caches, for private arrays."""
_SMALLEST_X: Final[Mapping[str, float]] = {"scatters": float(1 << 20)}
"""Families whose points below an x are left out of the joint fit: their writes meet at one place."""
_INTERVAL_QUANTILES: Final = (0.05, 0.95)
_BEYOND_PROBES: Final = 1.8
"""Errors on programs by those on probes, to which costs are fitted, as logarithms, on a GPU.

With it, intervals on an H200 hold nine of ten launches of programs that were not used in development,
if those with known causes are left out, and 95 % of the programs of development.
"""


def fit_costs(
    probes: Sequence[MeasuredProbe], device: DeviceFacts, gaps: Gaps, limits: SearchLimits
) -> Mapping[str, Parameter]:
    """Return all costs by their stored names. `limits` are those of the joint fit.

    Raises: `ProfileError` if the calibration lacks a family that has no `gaps`.
    """
    is_cpu = device.kind == "cpu"
    fitted = dict(LATER_PROCESSOR_COSTS if is_cpu else LATER_COSTS)
    fitted |= dict(isolated_costs(probes, gaps, is_cpu=is_cpu))
    slot = fitted.get(operation_key(SLOT))
    if slot is None:
        raise ProfileError(f"the calibration has no throughput of {SLOT}")
    prefix = DEFAULT_PREFIX if slot.is_default else ""
    fitted["slot"] = Parameter(slot.value, "ns", slot.error, f"{prefix}throughput of {SLOT}")
    if not is_cpu:
        fitted |= dict(pipe_overlap(probes, Costs.of(fitted)))
    used = _joint_probes(probes)
    joint = [cost for cost in joint_costs(is_cpu=is_cpu) if cost.name not in fitted]
    defaults = _joint_defaults(used, joint, gaps)
    starts = {name: cost.value for name, cost in defaults.items()}
    fitted |= _joint(used, joint, Costs.of(fitted), starts, limits)
    fitted |= {name: replace(fitted[name], family=cost.family) for name, cost in defaults.items()}
    if used:
        widening = 1.0 if is_cpu else _BEYOND_PROBES
        fitted |= dict(_interval(used, Costs.of(fitted), widening))
    return {**gaps.defaults_of(sorted(required_constants(is_cpu=is_cpu))), **fitted}


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


def _interval(
    probes: Sequence[MeasuredProbe], costs: Costs, widening: float
) -> Iterable[tuple[str, Parameter]]:
    """Yield the factors between which nine of ten launches lie.

    They follow from the probes, every family with the same weight.
    """
    factors = np.asarray(
        [probe.time_ns / times_of(probe.demand, costs).total_ns for probe in probes], np.float64
    )
    order = np.argsort(factors)
    below = np.cumsum(_weights(probes)[order] ** 2)
    below /= below[-1]
    for name, quantile in zip(("low", "high"), _INTERVAL_QUANTILES, strict=True):
        at = min(int(np.searchsorted(below, quantile)), len(order) - 1)
        factor = float(factors[order[at]]) ** widening
        yield f"interval {name}", Parameter(factor, "", 0.0, "all")


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
    priors = np.asarray([cost.prior for cost in joint])
    logs = np.log([probe.time_ns for probe in probes])
    parts = [KeptParts(probe.demand) for probe in probes]

    def residuals(values: NDArray[np.float64]) -> NDArray[np.float64]:
        costs = isolated.with_constants(_by_name(joint, values))
        predicted = np.log([times_again(kept, costs).total_ns for kept in parts])
        combined: NDArray[np.float64] = np.concatenate(
            [weights * (predicted - logs), priors * (values - start)]
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
