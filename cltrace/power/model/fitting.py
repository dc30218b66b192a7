"""Fitting energies to measured powers: least squares of relative errors, without negative energies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.errors import ProfileError
from cltrace.power.model.classes import Work
from cltrace.power.model.rows import UNIT, group_of
from cltrace.power.solving import solved
from cltrace.profile import DeviceProfile, Parameter

MODEL: Final = "energy"
"""The name under which a profile keeps the energies."""
IDLE: Final = "idle"
WITHOUT: Final = "idle without a context"
_REAL_WEIGHT: Final = 3.0
"""So many probes count as much as one real kernel, which has more than one class in it."""


@dataclass(frozen=True, slots=True)
class Example:
    """Work whose power is known. `is_real` says that it is a real kernel's, `program` which one's."""

    name: str
    program: str
    work: Work
    run_s: float
    power_w: float
    is_real: bool


@dataclass(frozen=True, slots=True)
class EnergyModel:
    """Energies by class in J, the power of an active unit in W, and that of rest with a context.

    `errors` are the standard errors of the energies.
    """

    idle_w: float
    energies_j: Mapping[str, float]
    errors_j: Mapping[str, float]

    def dynamic_j(self, work: Work, run_s: float) -> float:
        """What a run adds to rest."""
        return sum(self.parts_j(work, run_s).values())

    def energy_j(self, work: Work, run_s: float) -> float:
        """What is drawn in a run that takes so long."""
        return self.idle_w * run_s + self.dynamic_j(work, run_s)

    def parts_j(self, work: Work, run_s: float) -> Mapping[str, float]:
        """What a run adds to rest, by the rows of the table."""
        found: dict[str, float] = {}
        for name, amount in (*work.amounts.items(), (UNIT, work.units * run_s)):
            energy = self.energies_j.get(name, 0.0) * amount
            if energy:
                group = group_of(name)
                found[group] = found.get(group, 0.0) + energy
        return found

    def parameters(self) -> dict[str, Parameter]:
        """As a profile keeps them."""
        found = {IDLE: Parameter(self.idle_w, "W", 0.0, "rest")}
        for name, energy in self.energies_j.items():
            unit = "W" if name == UNIT else "J"
            found[name] = Parameter(energy, unit, self.errors_j.get(name, 0.0), group_of(name))
        return found


def byte_name(route: str) -> str:
    """The name of what a transfer adds to rest, in J a byte: by host memory and direction."""
    return f"byte {route}"


def fitted(examples: Sequence[Example], idle_w: float) -> EnergyModel:
    """The energies that explain the powers of the examples best, relatively.

    Raises: `ValueError` without examples.
    """
    if not examples:
        raise ValueError("there is nothing to fit to")
    names = sorted({name for one in examples for name in one.work.amounts} | {UNIT})
    matrix = np.array([_row(one, names) for one in examples])
    power = np.array([one.power_w for one in examples])
    weight = np.array([_REAL_WEIGHT if one.is_real else 1.0 for one in examples]) / power**2
    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-300)
    found = solved(matrix / scale, power - idle_w, weight, 1)
    energies = dict(zip(names, (found.value / scale).tolist(), strict=True))
    errors = dict(zip(names, (found.standard_error / scale).tolist(), strict=True))
    return EnergyModel(idle_w, energies, errors)


def model_of(profile: DeviceProfile) -> EnergyModel:
    """The energies that a profile has. Raises: `ProfileError` for one without."""
    known = profile.parameters.get(MODEL)
    if not known or IDLE not in known:
        raise ProfileError(
            f"the profile of {profile.device.name} has no energies: `cltrace power calibrate` adds them"
        )
    rest = ("rest", "transfers")
    classes = {name: one for name, one in known.items() if one.family not in rest}
    return EnergyModel(
        known[IDLE].value,
        {name: one.value for name, one in classes.items()},
        {name: one.error for name, one in classes.items()},
    )


def _row(example: Example, names: Sequence[str]) -> list[float]:
    """The rate of each class, in what it is counted by a second."""
    amounts = {**example.work.amounts, UNIT: example.work.units * example.run_s}
    return [amounts.get(name, 0.0) / example.run_s for name in names]
