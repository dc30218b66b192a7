"""Fit of an energy model to measured powers: least squares of relative errors, no negative energies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.errors import ProfileError, require_module
from cltrace.power.mean_power import Floats
from cltrace.power.model.classes import EnergyWork
from cltrace.power.model.energy_classes import EnergyClass, Resource, parse_class
from cltrace.power.model.rows import group_of
from cltrace.power.solving import solve
from cltrace.profile import DeviceProfile, Parameter

MODEL: Final = "energy"
"""Name of the energies in a profile."""
IDLE: Final = "idle"
IDLE_WITHOUT_CONTEXT: Final = "idle without a context"
LANE_EXPONENT: Final = "lane exponent"
_DEFAULT_EXPONENT: Final = 0.5
"""Lane exponent where only full warps were measured: the middle of its range."""
_EXPONENTS: Final = np.linspace(0.0, 1.0, 11)
_EXPONENT_STEP: Final = 0.01
_REAL_WEIGHT: Final = 3.0
"""Weight of a real kernel, which contains several classes, relative to a probe."""


@dataclass(frozen=True, slots=True)
class Example:
    """Work with a measured power. `is_real` is true for a kernel of a real program, named `program`."""

    name: str
    program: str
    work: EnergyWork
    run_s: float
    power_w: float
    is_real: bool


@dataclass(frozen=True, slots=True)
class EnergyModel:
    """Energies by class in J, the power of an active unit in W, and the idle power with a context.

    `errors_j` are the standard errors of the energies. `lane_exponent` determines the energy of a warp in
    which some lanes are inactive (`Operations.amount`).
    """

    idle_w: float
    lane_exponent: float
    energies_j: Mapping[EnergyClass, float]
    errors_j: Mapping[EnergyClass, float]

    def dynamic_j(self, work: EnergyWork, run_s: float) -> float:
        """Return the energy of a run above idle."""
        return sum(self.parts_j(work, run_s).values())

    def energy_j(self, work: EnergyWork, run_s: float) -> float:
        """Return the total energy of a run that takes `run_s`."""
        return self.idle_w * run_s + self.dynamic_j(work, run_s)

    def parts_j(self, work: EnergyWork, run_s: float) -> Mapping[str, float]:
        """Return the energy of a run above idle, by rows of the table."""
        parts: dict[str, float] = {}
        amounts = work.amounts(self.lane_exponent)
        for name, amount in (*amounts.items(), (Resource.ACTIVE_UNIT, work.units * run_s)):
            energy = self.energies_j.get(name, 0.0) * amount
            if energy:
                group = group_of(name)
                parts[group] = parts.get(group, 0.0) + energy
        return parts

    def parameters(self) -> dict[str, Parameter]:
        """Return the model as parameters of a profile."""
        parameters = {
            IDLE: Parameter(self.idle_w, "W", 0.0, "rest"),
            LANE_EXPONENT: Parameter(self.lane_exponent, "1", 0.0, "lanes"),
        }
        for name, energy in self.energies_j.items():
            unit = "W" if name is Resource.ACTIVE_UNIT else "J"
            error = self.errors_j.get(name, 0.0)
            parameters[str(name)] = Parameter(energy, unit, error, group_of(name))
        return parameters


def transfer_parameter_name(route: str) -> str:
    """Return the name of a transfer's energy in J per byte. A route is host memory and a direction."""
    return f"byte {route}"


def require_scipy() -> None:
    """Raises: `MissingExtraError` where no model can be fitted."""
    require_module("scipy.optimize", "fitting an energy model", "predict")


def fit_energies(examples: Sequence[Example], idle_w: float) -> EnergyModel:
    """Return the energies and the lane exponent with the least relative errors of the powers.

    Raises: `ValueError` without examples, `MissingExtraError` without scipy.
    """
    if not examples:
        raise ValueError("there is nothing to fit to")
    require_scipy()
    used = (example.work.names for example in examples)
    names = sorted(frozenset[EnergyClass]({Resource.ACTIVE_UNIT}).union(*used), key=str)
    target = np.array([example.power_w - idle_w for example in examples])
    weight = np.array(
        [(_REAL_WEIGHT if example.is_real else 1.0) / example.power_w**2 for example in examples]
    )
    exponent = _fit_exponent(examples, names, target, weight)
    matrix = _rates(examples, names, exponent)
    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-300)
    solution = solve(matrix / scale, target, weight, 1, _nnls)
    energies = dict(zip(names, (solution.coefficients / scale).tolist(), strict=True))
    errors = dict(zip(names, (solution.standard_error / scale).tolist(), strict=True))
    return EnergyModel(idle_w, exponent, energies, errors)


def _nnls(matrix: Floats, target: Floats) -> Floats:
    """Solve with columns of norm 1, because the tolerance of scipy is the same for all columns."""
    from scipy.optimize import nnls  # noqa: PLC0415 - optional, and slow to load

    scale = np.sqrt((matrix**2).sum(axis=0))
    scale[scale == 0] = 1.0
    coefficients: Floats = nnls(matrix / scale, target)[0] / scale
    return coefficients


def _fit_exponent(
    examples: Sequence[Example], names: Sequence[EnergyClass], target: Floats, weight: Floats
) -> float:
    """Return the best lane exponent: in steps of 0.1, then in finer steps around the best."""
    if not any(example.work.is_partial for example in examples):
        return _DEFAULT_EXPONENT
    root = np.sqrt(weight)

    def squares(exponent: float) -> float:
        matrix = _rates(examples, names, exponent) * root[:, None]
        residual = target * root - matrix @ _nnls(matrix, target * root)
        return float(residual @ residual)

    rough = min(_EXPONENTS, key=squares)
    near = rough + _EXPONENT_STEP * np.arange(-9, 10)
    return float(min(near[(near >= 0) & (near <= 1)], key=squares))


def model_of(profile: DeviceProfile) -> EnergyModel:
    """Return the energy model of a profile. Raises: `ProfileError` for a profile without energies."""
    parameters = profile.parameters.get(MODEL)
    if not parameters or IDLE not in parameters:
        raise ProfileError(
            f"the profile of {profile.device.name} has no energies: `cltrace power calibrate` adds them"
        )
    others = ("rest", "transfers", "lanes")
    try:
        energies = {
            parse_class(name): parameter
            for name, parameter in parameters.items()
            if parameter.family not in others
        }
    except ValueError as error:
        raise ProfileError(f"the energies of {profile.device.name} are damaged: {error}") from error
    exponent = parameters.get(LANE_EXPONENT)
    return EnergyModel(
        parameters[IDLE].value,
        _DEFAULT_EXPONENT if exponent is None else exponent.value,
        {name: energy.value for name, energy in energies.items()},
        {name: energy.error for name, energy in energies.items()},
    )


def _rates(examples: Sequence[Example], names: Sequence[EnergyClass], exponent: float) -> Floats:
    """Return the amount of each class per second, a row per example."""
    rows = []
    for example in examples:
        units = example.work.units * example.run_s
        amounts = {**example.work.amounts(exponent), Resource.ACTIVE_UNIT: units}
        rows.append([amounts.get(name, 0.0) / example.run_s for name in names])
    return np.array(rows)
