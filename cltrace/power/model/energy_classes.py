"""Classes that have an energy each: operations by the names of their costs, and other resources."""

from enum import StrEnum
from typing import Final, TypeAlias

from cltrace.events.cost_names import CostName


class Resource(StrEnum):
    """A resource with an energy of its own that launches use besides operations."""

    ACTIVE_UNIT = "active unit"
    """A compute unit that is active for a second."""
    ATOMIC = "atomic"
    BARRIER = "barrier"
    LOCAL_MEMORY = "local memory"
    MEMORY = "memory"
    NEAR_CACHE = "near cache"
    """Requests of warps to the near cache (L1)."""
    NEAR_CACHE_BANKS = "near cache banks"
    NEAR_CACHE_LINES = "near cache lines"
    NEAR_CACHE_SECTORS = "near cache sectors"
    PRIVATE_MEMORY = "private memory"
    SHARED_CACHE = "shared cache"
    WORK_GROUP = "work-group"


EnergyClass: TypeAlias = CostName | Resource
_RESOURCES: Final = {str(resource): resource for resource in Resource}


def parse_class(text: str) -> EnergyClass:
    """Return the class whose `str()` is `text`. Raises: `ValueError` for the name of no class."""
    resource = _RESOURCES.get(text)
    return CostName.parse(text) if resource is None else resource
