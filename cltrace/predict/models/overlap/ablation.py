"""What each part of the model is worth: the same costs, coming in one group after the other."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from cltrace.predict.models.overlap.model import Overlap

_STAGES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("operations and memory", ()),
    ("and dispatch", ("group", "warp", "doubling", "first")),
    ("and sectors of caches", ("sector read", "sector written", "sector part written")),
    ("and banks and lines", ("bank", "line", "line missed", "local")),
    ("and random places", ("scattered read", "scattered written")),
    ("and waiting", ()),
)
"""The stages, and the costs that come in. The last one has all."""
_SECTOR_BYTES: Final = 32
_IN_ORDER: Final[Mapping[str, str]] = {
    "scattered read": "byte read", "scattered written": "byte written",
}  # fmt: skip
"""What random places cost before they come in: as much as others."""


def ablated(model: Overlap) -> Mapping[str, Overlap]:
    """The model by stages, each with what those before it have. Nothing is fitted anew."""
    later = {name for _, names in _STAGES for name in names}
    later |= {name for name in model.costs if name.startswith("wait ")}
    later |= {"turnover", "barrier", "atomic", "steps"}
    found = {}
    for name, names in _STAGES[:-1]:
        later -= set(names)
        costs = {key: 0.0 if key in later else cost for key, cost in model.costs.items()}
        for at_random, in_order in _IN_ORDER.items():
            if at_random in later:
                costs[at_random] = _SECTOR_BYTES * model.costs[in_order]
        found[name] = replace(model, costs=costs)
    return found | {_STAGES[-1][0]: model}
