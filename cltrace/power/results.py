"""Results of an attribution: energies with tiers and uncertainties, and a balance that adds up."""

from dataclasses import dataclass
from enum import StrEnum

from cltrace.power.load_classes import Load
from cltrace.power.sensor_response import ResponseFit


class Tier(StrEnum):
    """Method by which an energy was obtained, the most reliable first."""

    RUN = "run"
    """Sum of the readings of the whole run."""
    DIRECT = "direct"
    """Sum of the readings in stretches that are long compared with the sensor's period."""
    REGRESSED = "regressed"
    """Regression of all readings on all work."""
    CALIBRATED = "calibrated"
    """Measurement of the same launch alone, for seconds, in another trace."""
    MODELLED = "modelled"
    """Prediction of an energy model."""
    UNRESOLVED = "unresolved"
    """No result: the energy is unknown, not 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyLine:
    """Energy of a class of commands on a device.

    `energy_j` is the energy during its commands, idle power included, and `dynamic_j` the part above
    idle; `within_j` and `dynamic_within_j` are their 95 % half-widths. All are `None` where unresolved.
    `coverage` is the share of its time with readings, and `updates` the number of readings in which it
    was active. `why` is the reason for an unresolved energy.
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

    @classmethod
    def unresolved(
        cls, load: Load, why: str, *, coverage: float = 0.0, updates: int = 0
    ) -> "EnergyLine":
        """Return a line without an energy, and the reason."""
        return cls(
            load=load,
            tier=Tier.UNRESOLVED,
            energy_j=None,
            within_j=None,
            dynamic_j=None,
            dynamic_within_j=None,
            coverage=coverage,
            updates=updates,
            why=why,
        )

    @property
    def power_w(self) -> float | None:
        """Mean power of its commands, as if each ran alone."""
        seconds = self.load.seconds
        return None if self.energy_j is None or not seconds else self.energy_j / seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Balance of the energy in the time with readings, in J. The parts add up to `measured_j`.

    `kernels_j` and `transfers_j` are of the resolved classes, and `unresolved_j` of all others;
    `transfers_within_j` is the 95 % half-width of `transfers_j`. `idle_j` is the energy while no command
    ran, and `tail_j` the energy above idle soon after commands.
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
    """Energies that a channel's readings attribute to commands. `period_s` is its sampling period."""

    lines: tuple[EnergyLine, ...]
    balance: Balance
    alignment: ResponseFit
    period_s: float
