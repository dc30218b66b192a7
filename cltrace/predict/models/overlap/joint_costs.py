"""Costs that are fitted together: their names, units, families, and where the search starts."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class JointCost:
    """A cost that is fitted together with others. `start` is the start of the search.

    `prior` is the weight of the logarithm's distance from the start, beside the residuals of probes.
    """

    name: str
    unit: str
    family: str
    start: float
    prior: float = 0.05


NORMS: Final = frozenset(
    {"p dispatch", "p levels", "p pipes", "p waiting", "p near", "p phases", "p local", "p body"}
)
"""Exponents, which are at least 1."""
_BYTES: Final = "B"
_FIRM: Final = 0.5
"""Prior of costs that other probes than those of their own family would pull away."""
_FIRMEST: Final = 6.0
"""Prior of costs that stand in for each other where a work-group computes, waits and writes in turn."""
_GPU: Final = (
    JointCost("bank", "ns", "global-banks", 0.5),
    JointCost("line", "ns", "global-banks", 0.13),
    JointCost("line missed", "ns", "near-sets", 0.5),
    JointCost("line written", "ns", "few-units", 1.0),
    JointCost("local", "ns", "local-banks", 0.5),
    JointCost("barrier", "ns", "barriers", 1.0),
    JointCost("wait barrier", "ns", "barriers", 40.0),
    JointCost("sector read", "ns", "working-sets", 3.8e-3),
    JointCost("line read", "ns", "few-units", 6e-3),
    JointCost("sector written", "ns", "strides", 4e-3),
    JointCost("sector part written", "ns", "strides", 1.4e-2),
    JointCost("byte read", "ns", "working-sets", 2.3e-4),
    JointCost("byte written", "ns", "strides", 2.6e-4),
    JointCost("scattered read", "ns", "scatters", 2.7e-2),
    JointCost("scattered written", "ns", "scatters", 5e-2),
    JointCost("turnover", "ns", "waves", 1.2, _FIRMEST),
    JointCost("wait memory", "ns", "order", 400.0),
    JointCost("l1 size", _BYTES, "near-sets", 180e3),
    JointCost("l1 sharpness", "", "near-sets", 5.0),
    JointCost("l2 size", _BYTES, "working-sets", 46e6),
    JointCost("l2 sharpness", "", "working-sets", 6.0),
    JointCost("atomic", "ns", "atomics", 0.74),
    JointCost("atomic ways", "", "atomics", 0.06),
    JointCost("p dispatch", "", "waves", 6.0, _FIRMEST),
    JointCost("p levels", "", "strides", 4.0),
    JointCost("p pipes", "", "several-operations", 3.0),
    JointCost("p waiting", "", "waves", 1.8, 3.0),
    JointCost("p near", "", "few-units", 3.0),
    JointCost("p phases", "", "widths", 3.5),
    JointCost("loaded", "", "widths", 0.8),
    JointCost("p local", "", "local-banks", 3.0, 0.7),
    JointCost("phases", "", "loops", 5.0, _FIRMEST),
    JointCost("steps", "", "waves", 24.0, _FIRMEST),
    JointCost("lock step groups", "", "waves", 2.2, _FIRMEST),
    JointCost("p body", "", "several-operations", 1.8, _FIRMEST),
)
_CPU: Final = (
    JointCost("bank", "ns", "several-accesses", 0.25, _FIRM),
    JointCost("item access", "ns", "loops", 0.2, _FIRM),
    JointCost("barrier", "ns", "barriers", 3.0),
    JointCost("line l2", "ns", "working-sets", 0.6),
    JointCost("jump l2", "ns", "working-sets", 1.0),
    JointCost("line l3", "ns", "working-sets", 2.0),
    JointCost("jump l3", "ns", "scatters", 6.0),
    JointCost("line memory", "ns", "working-sets", 2.0),
    JointCost("jump memory", "ns", "scatters", 8.0),
    JointCost("writing", "", "strides", 1.2),
    JointCost("wait memory", "ns", "scatters", 30.0),
    JointCost("l3 size", _BYTES, "working-sets", 100e6),
    JointCost("l3 sharpness", "", "working-sets", 2.0),
    JointCost("atomic", "ns", "atomics", 10.0),
    JointCost("atomic alone", "ns", "atomics", 5.0),
    JointCost("first", "ns", "elementary", 300.0),
    JointCost("window", "", "several-operations", 70.0, _FIRM),
    JointCost("p dispatch", "", "waves", 2.0, _FIRM),
    JointCost("p levels", "", "strides", 2.0, _FIRM),
    JointCost("p waiting", "", "several-operations", 6.0, _FIRM),
    JointCost("p body", "", "several-operations", 2.0, _FIRM),
)
_ISOLATED: Final = (
    "launch",
    "group",
    "wait l1",
    "wait l2",
    "wait local",
    "interval low",
    "interval high",
)
_GPU_ISOLATED: Final = ("slot", "warp")
_CPU_ISOLATED: Final = ("doubling", "l1 size", "l2 size", "wait l3")


def joint_costs(*, is_cpu: bool) -> tuple[JointCost, ...]:
    """Return the costs of a kind of device that are fitted together."""
    return _CPU if is_cpu else _GPU


def required_constants(*, is_cpu: bool) -> frozenset[str]:
    """Return the constants without which nothing can be predicted for a kind of device."""
    joint = (cost.name for cost in joint_costs(is_cpu=is_cpu))
    isolated = (*_ISOLATED, *(_CPU_ISOLATED if is_cpu else _GPU_ISOLATED))
    return frozenset((*joint, *isolated))
