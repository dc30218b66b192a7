"""Classes of work that readings do not tell apart, because they always ran together, made one."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from cltrace.power.design import Design, Situation
from cltrace.power.load_classes import TOGETHER, Load, together
from cltrace.power.mean_power import Floats
from cltrace.power.solving import Solution, student

_UNCLEAR: Final = 0.25
"""A class is unclear whose energy is uncertain by more than so much of it."""
_NOTABLE: Final = 0.02
"""Classes with less of the time are left as they are: unresolved, without dragging others with them."""
_SLIGHT: Final = 0.001
"""So much of the time with readings is too little to tell anything of."""


def negligible(situation: Situation, design: Design, solution: Solution) -> frozenset[int]:
    """The places of the shortest classes that are unclear: what they draw cannot be told, and is little.

    Any power could be given to what ran for so short a time, to explain the noise of readings: in the
    explanation of what matters these have no place. Together they are little of the time.
    """
    seconds = np.array([one.seconds for one in situation.loads])
    unclear = _unclear(solution, design.first_load) > _UNCLEAR
    most_s = _SLIGHT * float(situation.seen.span_s.sum())
    order = np.argsort(seconds)
    is_short = np.cumsum(seconds[order]) <= most_s
    return frozenset(place for place in order[is_short].tolist() if unclear[place])


def _unclear(solution: Solution, first: int) -> Floats:
    """How uncertain the power of each class is, by that power with what is drawn at rest."""
    error = student(solution.freedom) * solution.standard_error[first:]
    unclear: Floats = error / np.maximum(solution.value[first:] + solution.value[0], 1e-9)
    return unclear


def not_told_apart(loads: Sequence[Load], solution: Solution, first: int) -> tuple[int, int] | None:
    """The places of the two classes that are least told apart; None where all that matter are clear.

    `first` is where the powers of the classes begin in `solution`.
    """
    seconds = np.array([one.seconds for one in loads])
    unclear = _unclear(solution, first)
    unclear[seconds < _NOTABLE * seconds.sum()] = 0.0
    for place in np.argsort(-unclear).tolist():
        if unclear[place] <= _UNCLEAR:
            return None
        other = _rival(loads, solution, first, place)
        if other is not None:
            return min(place, other), max(place, other)
    return None


def _rival(loads: Sequence[Load], solution: Solution, first: int, place: int) -> int | None:
    """The class of the same kind whose power would have to fall most if this one's rose."""
    covariance = solution.covariance[first:, first:]
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance[place] / (spread[place] * spread)
    best, found = 0.0, None
    for number, one in enumerate(loads):
        is_alike = number != place and one.kind is loads[place].kind
        if is_alike and one.device == loads[place].device and correlation[number] < best:
            best, found = float(correlation[number]), number
    return found


def merged(loads: Sequence[Load], one: int, other: int) -> tuple[Load, ...]:
    """The classes with two as one, in the place of the first of them."""
    names = [name for place in (one, other) for name in loads[place].names]
    made = together([loads[one], loads[other]], TOGETHER.join(dict.fromkeys(names)))
    return (*loads[:one], made, *loads[one + 1 : other], *loads[other + 1 :])
