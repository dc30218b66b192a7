"""Probes of energy: work of one kind with an adjustable length."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cltrace.events.workloads import Transfer, Workload

_LOT: Final = (
    "uint lot = (uint)get_global_id(0); lot = (lot ^ (lot >> 7)) * 2246822519u; "
    "lot = (lot ^ (lot >> 13)) * 2654435761u; "
)
LANE_GUARDS: Final[Mapping[str, str]] = {
    "1 lane": "if ((get_local_id(0) & 31u) == 5u) ",
    "8 lanes side by side": "if ((get_local_id(0) & 31u) < 8u) ",
    "8 lanes apart": "if ((get_local_id(0) & 3u) == 1u) ",
    "8 lanes at random": _LOT + "if (lot >> 30 == 0u) ",
    "16 lanes apart": "if ((get_local_id(0) & 1u) == 0u) ",
    "16 lanes at random": _LOT + "if (lot >> 31 == 0u) ",
}
"""Conditions under which some lanes of each warp of 32 are active."""


class Group(StrEnum):
    """Subject of a probe."""

    OPERATIONS = "operations"
    MEMORY = "memory"
    UNITS = "units"
    LANES = "lanes"
    OPERANDS = "operands"
    LAUNCHES = "launches"
    TRANSFERS = "transfers"


@dataclass(frozen=True, slots=True)
class EnergyProbe:
    """Work of one kind. `make(trips)` returns a launch with a time about in proportion to `trips`.

    `trips` is the first number to try. If `is_long`, the number is raised until a launch takes a
    millisecond or two.
    """

    name: str
    group: Group
    make: Callable[[int], Workload | Transfer]
    trips: int = 64
    is_long: bool = True
