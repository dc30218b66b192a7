"""What a probe of energy is: work of one kind, whose length can be chosen."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from cltrace.events.workloads import Transfer, Workload


class Group(StrEnum):
    """What a probe tells about."""

    OPERATIONS = "operations"
    MEMORY = "memory"
    UNITS = "units"
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
