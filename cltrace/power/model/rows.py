"""Rows of an energy table: those of table 6.1 of the 2014 thesis, and the places of memory accesses."""

from collections.abc import Mapping
from typing import Final

from cltrace.power.model.energy_classes import EnergyClass, Resource

GROUPS: Final = (
    "integer",
    "integer division",
    "float",
    "float division",
    "special",
    "double",
    "double division",
    "double special",
    "other",
    "local memory",
    "near cache",
    "shared cache",
    "memory",
    "atomics",
    "launches",
    "active units",
)
"""Rows in the order of the table."""
_RESOURCES: Final[Mapping[Resource, str]] = {
    Resource.LOCAL_MEMORY: "local memory",
    Resource.BARRIER: "local memory",
    Resource.NEAR_CACHE: "near cache",
    Resource.NEAR_CACHE_BANKS: "near cache",
    Resource.NEAR_CACHE_LINES: "near cache",
    Resource.NEAR_CACHE_SECTORS: "near cache",
    Resource.PRIVATE_MEMORY: "near cache",
    Resource.SHARED_CACHE: "shared cache",
    Resource.MEMORY: "memory",
    Resource.ATOMIC: "atomics",
    Resource.WORK_GROUP: "launches",
    Resource.ACTIVE_UNIT: "active units",
}
_DIVISIONS: Final = frozenset(
    {
        "divide", "remainder", "unsigned divide", "divide by a literal", "divide by an invariant",
        "unsigned divide by an invariant",
    }
)  # fmt: skip
_PLAIN: Final = frozenset(
    {"add", "multiply", "multiply-add", "logic", "shift", "compare and select"}
)


def group_of(name: EnergyClass) -> str:
    """Return the row of a class."""
    if isinstance(name, Resource):
        return _RESOURCES[name]
    base = "integer" if name.type in {"int", "long"} else name.type
    if name.operation in _DIVISIONS:
        return f"{base} division"
    if name.operation in _PLAIN:
        return base
    if name.type in {"float", "double"}:
        return "special" if name.type == "float" else "double special"
    return "other"
