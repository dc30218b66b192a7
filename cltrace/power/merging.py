"""Merging of classes of commands that readings do not distinguish, because they always ran together."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from cltrace.power.design import AttributionInput, DesignMatrix
from cltrace.power.load_classes import Load, merge_loads
from cltrace.power.mean_power import Floats
from cltrace.power.solving import Solution
from cltrace.power.without_scipy import student_t_95

_MAX_RELATIVE_ERROR: Final = 0.25
"""A class with a larger relative uncertainty of its power is uncertain."""
_MIN_SHARE: Final = 0.02
"""Uncertain classes with a smaller share of the time stay unresolved, and are not merged with others."""
_NEGLIGIBLE_SHARE: Final = 0.001
"""Maximum share of the time with readings that all negligible classes take together."""


def find_negligible(
    problem: AttributionInput, design: DesignMatrix, solution: Solution
) -> frozenset[int]:
    """Return the places of the shortest classes whose power is uncertain.

    The regression could assign any power to such a short time to explain the noise of readings, so the
    explanation of the other classes leaves these out. Together they are a small share of the time.
    """
    seconds = np.array([load.seconds for load in problem.loads])
    is_uncertain = _relative_errors(solution, design.first_load) > _MAX_RELATIVE_ERROR
    max_s = _NEGLIGIBLE_SHARE * float(problem.observations.span_s.sum())
    order = np.argsort(seconds)
    is_short = np.cumsum(seconds[order]) <= max_s
    return frozenset(place for place in order[is_short].tolist() if is_uncertain[place])


def _relative_errors(solution: Solution, first_load: int) -> Floats:
    """Return the uncertainty of each class's power, relative to this power plus idle power."""
    error = student_t_95(solution.degrees_of_freedom) * solution.standard_error[first_load:]
    power = solution.coefficients[first_load:] + solution.coefficients[0]
    relative: Floats = error / np.maximum(power, 1e-9)
    return relative


def find_inseparable(
    loads: Sequence[Load], solution: Solution, first_load: int
) -> tuple[int, int] | None:
    """Return the places of the two classes to merge next, `None` where all relevant ones are certain.

    `first_load` is the place of the first class's power in `solution`.
    """
    seconds = np.array([load.seconds for load in loads])
    errors = _relative_errors(solution, first_load)
    errors[seconds < _MIN_SHARE * seconds.sum()] = 0.0
    for place in np.argsort(-errors).tolist():
        if errors[place] <= _MAX_RELATIVE_ERROR:
            return None
        other = _find_confused_class(loads, solution, first_load, place)
        if other is not None:
            return min(place, other), max(place, other)
    return None


def _find_confused_class(
    loads: Sequence[Load], solution: Solution, first_load: int, place: int
) -> int | None:
    """Return the place of the class of the same kind and device that a class is confused with most.

    This is the class whose power has the most negative correlation with that of the class at `place`.
    """
    covariance = solution.covariance[first_load:, first_load:]
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance[place] / (deviation[place] * deviation)
    lowest, best = 0.0, None
    for number, load in enumerate(loads):
        is_alike = number != place and load.kind is loads[place].kind
        if is_alike and load.device == loads[place].device and correlation[number] < lowest:
            lowest, best = float(correlation[number]), number
    return best


def merge_pair(loads: Sequence[Load], first: int, second: int) -> tuple[Load, ...]:
    """Return the classes with two of them merged, at the place of the first."""
    names = [name for place in (first, second) for name in loads[place].names]
    merged = merge_loads([loads[first], loads[second]], tuple(dict.fromkeys(names)))
    return (*loads[:first], merged, *loads[first + 1 : second], *loads[second + 1 :])
