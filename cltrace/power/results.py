"""Joules with what they are worth: tiers, uncertainties, and a balance that adds up."""

from dataclasses import dataclass
from enum import StrEnum

from cltrace.power.alignment import Alignment
from cltrace.power.load_classes import Load


class Tier(StrEnum):
    """How a number of joules was come by. From the best to none."""

    RUN = "run"
    """Of the whole run: readings added up."""
    DIRECT = "direct"
    """Readings added up over stretches that are long for the sensor."""
    REGRESSED = "regressed"
    """What explains all readings together."""
    CALIBRATED = "calibrated"
    """The same launch, measured by itself for seconds."""
    MODELLED = "modelled"
    """An energy model's."""
    UNRESOLVED = "unresolved"
    """Nothing tells: it is not 0."""


@dataclass(frozen=True, slots=True)
class EnergyLine:
    """Energy of a class of commands on a device.

    `energy_j` is all that was drawn while it ran, idle power included, `dynamic_j` what it added; None
    where unresolved. `within_j` and `dynamic_within_j` are how far off these may be: 95 %. `coverage` is
    the share of its time with readings, `updates` the readings in which it was active.
    """

    load: Load
    tier: Tier
    energy_j: float | None
    within_j: float | None
    dynamic_j: float | None
    dynamic_within_j: float | None
    coverage: float
    updates: int
    why: str = ""

    @property
    def power_w(self) -> float | None:
        """The mean power while it ran, were it alone."""
        seconds = self.load.seconds
        return None if self.energy_j is None or not seconds else self.energy_j / seconds


@dataclass(frozen=True, slots=True)
class Balance:
    """Where the energy of the time with readings went, in J. The parts add up to `measured_j`.

    `kernels_j` and `transfers_j` are of the classes that are told, `unresolved_j` of all others;
    `transfers_within_j` is how far off `transfers_j` may be. `idle_j` is what was drawn while nothing
    ran, `tail_j` what was drawn above that soon after work.
    """

    measured_j: float
    measured_within_j: float
    covered_s: float
    kernels_j: float
    transfers_j: float
    transfers_within_j: float
    unresolved_j: float
    tail_j: float
    idle_j: float
    unattributed_j: float
    idle_w: float
    idle_within_w: float
    context_w: float
    tail_s: float


@dataclass(frozen=True, slots=True)
class Attribution:
    """What a channel tells of some commands."""

    lines: tuple[EnergyLine, ...]
    balance: Balance
    alignment: Alignment
    period_s: float
