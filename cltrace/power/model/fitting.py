"""Fitting energies to measured powers: least squares of relative errors, without negative energies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.errors import ProfileError
from cltrace.power.mean_power import Floats
from cltrace.power.model.classes import Work
from cltrace.power.model.rows import UNIT, group_of
from cltrace.power.solving import non_negative, solved
from cltrace.profile import DeviceProfile, Parameter

MODEL: Final = "energy"
"""The name under which a profile keeps the energies."""
IDLE: Final = "idle"
WITHOUT: Final = "idle without a context"
LANE_EXPONENT: Final = "lane exponent"
_UNKNOWN_EXPONENT: Final = 0.5
"""Where only full warps were measured: half way between lanes that do not matter and nothing else."""
_EXPONENTS: Final = np.linspace(0.0, 1.0, 11)
_EXPONENT_STEP: Final = 0.01
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

    `errors_j` are the standard errors of the energies. `lane_exponent` says what a warp costs of which
    some lanes work (`Operations.amount`).
    """

    idle_w: float
    lane_exponent: float
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
        amounts = work.amounts(self.lane_exponent)
        for name, amount in (*amounts.items(), (UNIT, work.units * run_s)):
            energy = self.energies_j.get(name, 0.0) * amount
            if energy:
                group = group_of(name)
                found[group] = found.get(group, 0.0) + energy
        return found

    def parameters(self) -> dict[str, Parameter]:
        """As a profile keeps them."""
        found = {
            IDLE: Parameter(self.idle_w, "W", 0.0, "rest"),
            LANE_EXPONENT: Parameter(self.lane_exponent, "1", 0.0, "lanes"),
        }
        for name, energy in self.energies_j.items():
            unit = "W" if name == UNIT else "J"
            found[name] = Parameter(energy, unit, self.errors_j.get(name, 0.0), group_of(name))
        return found


def byte_name(route: str) -> str:
    """The name of what a transfer adds to rest, in J a byte: by host memory and direction."""
    return f"byte {route}"


def fitted(examples: Sequence[Example], idle_w: float) -> EnergyModel:
    """The energies and the exponent that explain the powers of the examples best, relatively.

    Raises: `ValueError` without examples.
    """
    if not examples:
        raise ValueError("there is nothing to fit to")
    names = sorted({UNIT}.union(*(one.work.names for one in examples)))
    wanted = np.array([one.power_w - idle_w for one in examples])
    weight = np.array([(_REAL_WEIGHT if one.is_real else 1.0) / one.power_w**2 for one in examples])
    exponent = _exponent(examples, names, wanted, weight)
    matrix = _matrix(examples, names, exponent)
    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-300)
    found = solved(matrix / scale, wanted, weight, 1)
    energies = dict(zip(names, (found.value / scale).tolist(), strict=True))
    errors = dict(zip(names, (found.standard_error / scale).tolist(), strict=True))
    return EnergyModel(idle_w, exponent, energies, errors)


def _exponent(
    examples: Sequence[Example], names: Sequence[str], wanted: Floats, weight: Floats
) -> float:
    """What fits best: by steps of 0.1, and around the best one finer."""
    if not any(one.work.is_partial for one in examples):
        return _UNKNOWN_EXPONENT
    root = np.sqrt(weight)

    def cost(exponent: float) -> float:
        matrix = _matrix(examples, names, exponent) * root[:, None]
        left = wanted * root - matrix @ non_negative(matrix, wanted * root)
        return float(left @ left)

    rough = min(_EXPONENTS, key=cost)
    near = rough + _EXPONENT_STEP * np.arange(-9, 10)
    return float(min(near[(near >= 0) & (near <= 1)], key=cost))


def model_of(profile: DeviceProfile) -> EnergyModel:
    """The energies that a profile has. Raises: `ProfileError` for one without."""
    known = profile.parameters.get(MODEL)
    if not known or IDLE not in known:
        raise ProfileError(
            f"the profile of {profile.device.name} has no energies: `cltrace power calibrate` adds them"
        )
    rest = ("rest", "transfers", "lanes")
    classes = {name: one for name, one in known.items() if one.family not in rest}
    exponent = known.get(LANE_EXPONENT)
    return EnergyModel(
        known[IDLE].value,
        _UNKNOWN_EXPONENT if exponent is None else exponent.value,
        {name: one.value for name, one in classes.items()},
        {name: one.error for name, one in classes.items()},
    )


def _matrix(examples: Sequence[Example], names: Sequence[str], exponent: float) -> Floats:
    """The rate of each class in each example, in what it is counted by a second."""
    rows = []
    for one in examples:
        amounts = {**one.work.amounts(exponent), UNIT: one.work.units * one.run_s}
        rows.append([amounts.get(name, 0.0) / one.run_s for name in names])
    return np.array(rows)
