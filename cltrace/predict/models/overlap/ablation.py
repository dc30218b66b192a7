"""Ablation of the model: the same costs, added in stages, show the worth of each part."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.models.overlap.model import Overlap

_SECTORS: Final = (
    *("sector read", "line read", "sector written", "sector part written"),
    *("line l2", "jump l2", "line l3", "jump l3"),
)
_STAGES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("operations and memory", ()),
    ("and dispatch", ("group", "warp", "doubling", "first")),
    ("and sectors of caches", _SECTORS),
    (
        "and banks and lines",
        ("bank", "item access", "line", "line missed", "line written", "local"),
    ),
    ("and random places", ("scattered read", "scattered written", "jump memory")),
    ("and waiting", ()),
)
"""The stages, and the costs that each adds. The last stage has all costs."""
_SECTOR_BYTES: Final = 32
_IN_ORDER: Final[Mapping[str, tuple[str, float]]] = {
    "scattered read": ("byte read", _SECTOR_BYTES),
    "scattered written": ("byte written", _SECTOR_BYTES),
    "jump memory": ("line memory", 1.0),
}
"""Costs of random places, by those of accesses in order, times a factor, which they equal before."""


def ablation_stages(model: Overlap) -> Mapping[str, Overlap]:
    """Return the model by stages, each with the costs of all stages before it. Nothing is fitted anew."""
    later = {name for _, names in _STAGES for name in names}
    later |= {name for name in model.costs.constants if name.startswith("wait ")}
    later |= {"turnover", "barrier", "atomic", "steps", "lock step groups"}
    stages = {}
    for stage, names in _STAGES[:-1]:
        later -= set(names)
        stages[stage] = replace(model, costs=_without(model.costs, later))
    return stages | {_STAGES[-1][0]: model}


def _without(costs: Costs, later: set[str]) -> Costs:
    """Return costs without waits and without the constants `later`."""
    constants = {name: 0.0 if name in later else cost for name, cost in costs.constants.items()}
    for at_random, (in_order, factor) in _IN_ORDER.items():
        if at_random in later and in_order in costs.constants:
            constants[at_random] = factor * costs[in_order]
    return replace(costs, constants=constants, waits={})
