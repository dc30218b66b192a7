"""Costs by the part of a launch's time that they make up."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from cltrace.events.cost_names import CostName
from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.models.overlap.processor_costs import PROCESSOR_COSTS

OPERATIONS: Final = "operations"
"""All pipes together: an operation takes an issue slot beside its own pipe."""
_CHAINS: Final = "chains of operations"
PART_CONSTANTS: Final[Mapping[str, tuple[str, ...]]] = {
    "launch": ("launch", "first", "queued launch"),
    "first launch": ("first launch",),
    "idle device": ("idle",),
    "changed images": ("image change",),
    "dispatch": ("group", "warp", "doubling"),
    OPERATIONS: ("slot", "item operation", "misprediction"),
    _CHAINS: (),
    "local memory and barriers": ("local", "barrier"),
    "L1": (
        "bank",
        "item access",
        "line",
        "line missed",
        "line written",
        "texel",
        *PROCESSOR_COSTS["images"],
        "masked store",
    ),
    "L2": (
        "sector read",
        "line read",
        "sector written",
        "sector part written",
        "line l2",
        "jump l2",
        "line l3",
        "jump l3",
    ),
    "memory": (
        "byte read",
        "byte written",
        "scattered read",
        "scattered written",
        "line memory",
        "jump memory",
    ),
    "latency": (
        "wait l1",
        "wait l2",
        "wait l3",
        "wait memory",
        "wait local",
        "wait barrier",
        "turnover",
    ),
    "atomics": ("atomic", "atomic alone"),
}
"""Constants that a part's time is proportional to, by the part's name in a prediction."""
SHAPE_CONSTANTS: Final = frozenset(
    {
        *(
            "p dispatch",
            "p levels",
            "p pipes",
            "p waiting",
            "p near",
            "p phases",
            "p local",
            "p body",
        ),
        *("loaded", "phases", "steps", "window", "lock step groups"),
        *("l1 size", "l1 sharpness", "l2 size", "l2 sharpness", "l3 size", "l3 sharpness"),
        *("atomic ways", "writing"),
        *("idle time", "interval low", "interval high"),
    }
)
"""Constants of no single part: exponents, sizes, and the bounds of the interval."""


def scale_part(costs: Costs, part: str, factor: float) -> Costs:
    """Return costs with which a part of `PART_CONSTANTS` takes `factor` times as long by itself."""
    constants = {
        name: costs[name] * factor for name in PART_CONSTANTS[part] if name in costs.constants
    }
    return replace(
        costs.with_constants(constants),
        operations=_scale(costs.operations, factor if part == OPERATIONS else 1.0),
        waits=_scale(costs.waits, factor if part == _CHAINS else 1.0),
    )


def _scale(values: Mapping[CostName, float], factor: float) -> Mapping[CostName, float]:
    return {name: value * factor for name, value in values.items()}
