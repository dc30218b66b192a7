"""Assumptions about values that depend on unknown contents.

Unknown addresses are assumed to be coalesced in one scenario and random within their memory in
another. Unknown branches are taken in both directions, and unknown loops have an assumed number of
trips. The scenarios together bound the counts.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

MIN_TRIPS: Final = 2
TYPICAL_TRIPS: Final = 16
MAX_TRIPS: Final = 64


class AddressAssumption(Enum):
    """Assumed addresses of lanes at an access with an unknown address."""

    COALESCED = auto()
    """Each lane next to the preceding lane."""
    RUNS = auto()
    """Runs of a few neighbouring lanes, each at a random address."""
    RANDOM = auto()
    """Random addresses in the memory object."""
    WINDOWS = auto()
    """Each lane next to the preceding lane, and each access next to the one before it."""


class BranchAssumption(Enum):
    """Assumed direction of lanes at an unknown branch."""

    SHORTER = auto()
    LONGER = auto()
    BOTH = auto()
    """Half of the lanes in each direction, at random."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A set of assumptions, with the number of trips per entry of an unknown loop.

    Lanes that write without atomics have addresses of their own, so their programs compute them: a
    partition or a compaction moves neighbours together. Reads and atomics have no such order, but the
    `texels`: reads of images, into which programs put what they read around places, and of places that
    fractions move away from ids.
    """

    addresses: AddressAssumption
    writes: AddressAssumption
    texels: AddressAssumption
    branches: BranchAssumption
    trips: int


TYPICAL_SCENARIO: Final = Scenario(
    addresses=AddressAssumption.RANDOM,
    writes=AddressAssumption.RUNS,
    texels=AddressAssumption.WINDOWS,
    branches=BranchAssumption.BOTH,
    trips=TYPICAL_TRIPS,
)
MIN_SCENARIO: Final = Scenario(
    addresses=AddressAssumption.COALESCED,
    writes=AddressAssumption.COALESCED,
    texels=AddressAssumption.WINDOWS,
    branches=BranchAssumption.SHORTER,
    trips=MIN_TRIPS,
)
MAX_SCENARIO: Final = Scenario(
    addresses=AddressAssumption.RANDOM,
    writes=AddressAssumption.RANDOM,
    texels=AddressAssumption.RANDOM,
    branches=BranchAssumption.LONGER,
    trips=MAX_TRIPS,
)


def scale_trips(average: int, scenario: Scenario) -> int:
    """Return the trips of a loop that has `average` ones, in proportion to the trips of a scenario."""
    return max(round(average * scenario.trips / TYPICAL_TRIPS), 1)
