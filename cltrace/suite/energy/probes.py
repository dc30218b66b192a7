"""What a probe of energy is: work of one kind, whose length can be chosen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cltrace.events.workloads import Transfer, Workload

_LOT: Final = (
    "uint lot = (uint)get_global_id(0); lot = (lot ^ (lot >> 7)) * 2246822519u; "
    "lot = (lot ^ (lot >> 13)) * 2654435761u; "
)
SOME_LANES: Final[Mapping[str, str]] = {
    "1 lane": "if ((get_local_id(0) & 31u) == 5u) ",
    "8 lanes side by side": "if ((get_local_id(0) & 31u) < 8u) ",
    "8 lanes apart": "if ((get_local_id(0) & 3u) == 1u) ",
    "8 lanes at random": _LOT + "if (lot >> 30 == 0u) ",
    "16 lanes apart": "if ((get_local_id(0) & 1u) == 0u) ",
    "16 lanes at random": _LOT + "if (lot >> 31 == 0u) ",
}  # fmt: skip
"""What lets some lanes of each warp of 32 work."""


class Group(StrEnum):
    """What a probe tells about."""

    OPERATIONS = "operations"
    MEMORY = "memory"
    UNITS = "units"
    LANES = "lanes"
    OPERANDS = "operands"
    LAUNCHES = "launches"
    TRANSFERS = "transfers"


@dataclass(frozen=True, slots=True)
class EnergyProbe:
    """Work of one kind. `make(trips)` is a launch whose time is about proportional to `trips`.

    `trips` is where to begin; a launch is made longer until it takes a millisecond or two, if `is_long`
    says that it can be.
    """

    name: str
    group: Group
    make: Callable[[int], Workload | Transfer]
    trips: int = 64
    is_long: bool = True
