"""From readings to joules of kernels and transfers: every joule with its tier and its uncertainty.

Work shorter than a sensor's period is never looked up in its readings. All readings together are
explained by all work together (least squares, in time windows as the sensor sees them): what a class of
commands draws above the idle power follows from many windows in which it was more or less active. Long
stretches of one class are then measured directly: what the readings in them differ from the explanation
is theirs. What is left is told as unattributed. The linear form of Lang and Rünger, Euro-Par 2013.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cltrace.power.activity_shares import Busy, Response
from cltrace.power.alignment import Alignment, aligned, strongest
from cltrace.power.design import FEWEST_UPDATES, Design, Situation
from cltrace.power.load_classes import Load, LoadKind, alone, busy_union, shared_seconds
from cltrace.power.mean_power import Floats, Observations
from cltrace.power.merging import merged, negligible, not_told_apart
from cltrace.power.results import Attribution, Balance, EnergyLine, Tier
from cltrace.power.solving import Solution, student
from cltrace.timeline.clock_fit.points import Bools

_DIRECT_UPDATES: Final = 10
"""A stretch with so many updates of the sensor is measured directly."""
_SEPARABLE: Final = 0.25
"""A class whose power is uncertain by more than so much of it is not told apart from others."""
_TAILS_S: Final = (0.1, 0.3, 1.0, 3.0, 10.0)
_CLEARER: Final = 0.98
"""A tail is one where it leaves less than so much of the squares."""
_STRONGEST: Final = 6
_LAGS_S: Final = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1)
_FURTHEST_S: Final = 0.15
_PERIODS: Final = 2.5
_BREAK: Final = 0.05
"""Launches of a class with gaps below so much of a sensor's period are one stretch."""


def attributed(situation: Situation) -> Attribution | None:
    """The energy of each class of commands; None without readings to speak of.

    Classes that readings do not tell apart, because they always run together, become one.
    """
    if len(situation.seen) < FEWEST_UPDATES:
        return None
    alignment = _alignment(situation, [load.busy for load in situation.loads])
    design, solution = _explained(situation, alignment, (0.0, *_tails(situation)))
    slight = negligible(situation, design, solution)
    left_out = [situation.loads[place] for place in sorted(slight)]
    if slight:
        rest = tuple(one for place, one in enumerate(situation.loads) if place not in slight)
        situation, design = replace(situation, loads=rest), design.without(slight)
        solution = design.solved(situation.seen, situation.block)
    while (pair := not_told_apart(situation.loads, solution, design.first_load)) is not None:
        situation = replace(situation, loads=merged(situation.loads, *pair))
        design = design.merged(*pair)
        solution = design.solved(situation.seen, situation.block)
    found = _told(situation, alignment, design, solution)
    slights = [_slight(one, situation.seen) for one in left_out]
    return replace(found, lines=(*found.lines, *slights))


def _slight(load: Load, seen: Observations) -> EnergyLine:
    share = load.busy.mean(seen.begin_s, seen.end_s, Response())
    coverage = min(float((share * seen.span_s).sum()) / max(load.seconds, 1e-12), 1.0)
    updates = int((share > 0).sum())
    why = "it ran for too little of the time: repeat it, or read more often"
    return EnergyLine(load, Tier.UNRESOLVED, None, None, None, None, coverage, updates, why)


def _explained(
    situation: Situation, alignment: Alignment, tails: Sequence[float]
) -> tuple["Design", Solution]:
    """What explains the readings best, with the tail that does."""
    active = [load.busy for load in situation.loads]
    best: tuple[Design, Solution] | None = None
    for tail_s in tails:
        design = Design.of(situation, active, alignment.response, tail_s)
        solution = design.solved(situation.seen, situation.block)
        if best is None or _squares(situation.seen, solution) < _CLEARER * _squares(
            situation.seen, best[1]
        ):
            best = design, solution
    assert best is not None
    return best


def _squares(seen: Observations, solution: Solution) -> float:
    return float((seen.span_s * solution.residual**2).sum())


def _alignment(situation: Situation, active: Sequence[Busy]) -> Alignment:
    lags = (situation.stated.lag_s,) if situation.is_lag_stated else _LAGS_S
    return aligned(
        situation.seen,
        strongest(active, _STRONGEST),
        stated=situation.stated,
        furthest_s=max(_FURTHEST_S, _PERIODS * situation.period_s),
        lags_s=lags,
        block=situation.block,
    )


def _tails(situation: Situation) -> list[float]:
    """Tails that could be told from idle: there is enough time both in them and after them."""
    start, end = busy_union(situation.loads)
    if not len(start):
        return []
    until = np.append(start[1:], max(float(situation.seen.end_s[-1]), float(end[-1])))
    gaps = until - end
    enough = 5 * situation.period_s
    return [
        tail
        for tail in _TAILS_S
        if tail >= 2 * situation.period_s and float(np.maximum(gaps - tail, 0).sum()) > enough
    ]


def _told(
    situation: Situation, alignment: Alignment, design: Design, solution: Solution
) -> Attribution:
    found = situation.loads
    shared = shared_seconds(found)
    moved = _moved(situation, alignment, design, solution)
    factor = student(solution.freedom)
    lines, extra = [], np.zeros(len(found))
    for place in range(len(found)):
        part = _Part(situation, design, solution, alignment.response, place)
        extra[place], share = part.direct()
        lines.append(_line(part, shared[place], extra[place], share, factor, moved[place]))
    balance = _balance(situation, design, solution, lines, extra)
    return Attribution(tuple(lines), balance, alignment, situation.period_s)


def _moved(
    situation: Situation, alignment: Alignment, design: Design, solution: Solution
) -> Floats:
    """By how much the power of each load changes where the response is off by as much as it may be."""
    if not situation.loads:
        return np.zeros(0)
    active = [load.busy for load in situation.loads]
    found, width = alignment.response, alignment.within_s
    if not alignment.is_found:
        width = situation.period_s
    others = [
        [Response(found.delay_s + sign * width, found.lag_s) for sign in (-1, 1)],
        [_slower(found, sign * alignment.lag_within_s) for sign in (-1, 1)],
    ]
    squares = np.zeros(len(active))
    for pair in others:
        changes = []
        for response in pair:
            other = Design.of(situation, active, response, design.tail_s)
            value = other.solved(situation.seen, situation.block).value
            changes.append(np.abs(value[other.first_load :] - solution.value[design.first_load :]))
        squares += np.max(changes, axis=0) ** 2
    most: Floats = np.sqrt(squares)
    return most


def _slower(found: Response, by_s: float) -> Response:
    """A response with another time constant that is as late in the mean."""
    lag_s = max(found.lag_s + by_s, 0.0)
    return Response(found.delay_s + found.lag_s - lag_s, lag_s)


@dataclass(frozen=True, slots=True)
class _Part:
    """A load's part of an explanation."""

    situation: Situation
    design: Design
    solution: Solution
    response: Response
    place: int

    @property
    def load(self) -> Load:
        """The load."""
        return self.situation.loads[self.place]

    @property
    def column(self) -> Floats:
        """The share of each reading in which it was active."""
        shares: Floats = self.design.matrix[:, self.design.first_load + self.place]
        return shares

    @property
    def updates(self) -> int:
        """Readings in which it was active."""
        return int((self.column > 1e-6).sum())

    def coverage(self) -> float:
        """The share of its time that has readings."""
        seconds = self.load.seconds
        return min(float((self.column * self.situation.seen.span_s).sum()) / seconds, 1.0)

    def direct(self) -> tuple[float, float]:
        """What readings in long stretches of it alone differ from the explanation, in J.

        And how much of its time lies in such stretches.
        """
        is_alone = alone(self.load, [one for one in self.situation.loads if one is not self.load])
        start, end = _stretches(self.load, is_alone, self.situation.period_s)
        long = end - start >= _DIRECT_UPDATES * self.situation.period_s
        start, end = start[long], end[long]
        if not len(start):
            return 0.0, 0.0
        seen = self.situation.seen
        inside = Busy.of(start, end).mean(seen.begin_s, seen.end_s, self.response)
        extra = self.solution.residual * seen.span_s * np.where(inside > 0.99, 1.0, 0.0)
        return float(extra.sum()), float((end - start).sum()) / max(self.load.seconds, 1e-12)


def _stretches(load: Load, is_alone: Bools, period_s: float) -> tuple[Floats, Floats]:
    """Back-to-back launches of a load as one stretch each."""
    start, end = load.start_s[is_alone], load.end_s[is_alone]
    if not len(start):
        return start, end
    begins = np.concatenate([[True], start[1:] - end[:-1] > _BREAK * period_s])
    last = np.append(np.flatnonzero(begins)[1:] - 1, len(end) - 1)
    return start[begins], end[last]


def _line(
    part: _Part, shared_s: float, extra_j: float, direct: float, factor: float, moved_w: float
) -> EnergyLine:
    load, design, solution = part.load, part.design, part.solution
    at = design.first_load + part.place
    power_w = float(solution.value[at])
    gradient = np.zeros(len(solution.value))
    gradient[at] = load.seconds
    dynamic_error = float(solution.standard_error[at]) * load.seconds
    static_w = float(solution.value[0])
    gradient[0] = shared_s
    if design.context_at is not None:
        gradient[design.context_at] = shared_s
        static_w += float(solution.value[design.context_at])
    error = math.sqrt(max(float(gradient @ solution.covariance @ gradient), 0.0))
    off_j = moved_w * load.seconds
    dynamic_j = power_w * load.seconds + extra_j
    dynamic_within = float(np.hypot(factor * dynamic_error, off_j))
    within_j = float(np.hypot(factor * error, off_j))
    energy_j = dynamic_j + static_w * shared_s
    why = _why_unresolved(part, energy_j, within_j)
    if why:
        return EnergyLine(
            load, Tier.UNRESOLVED, None, None, None, None, part.coverage(), part.updates, why
        )
    tier = Tier.DIRECT if direct >= 0.5 else Tier.REGRESSED
    return EnergyLine(
        load, tier, energy_j, within_j, max(dynamic_j, 0.0), dynamic_within, part.coverage(),
        part.updates,
    )  # fmt: skip


def _why_unresolved(part: _Part, energy_j: float, within_j: float) -> str:
    if part.updates < FEWEST_UPDATES:
        return f"active in {part.updates} readings of the sensor: repeat it, or read more often"
    if within_j > _SEPARABLE * max(energy_j, 0.0):
        return "not told apart from other work that always ran with it, or too little of it"
    return ""


def _balance(
    situation: Situation,
    design: Design,
    solution: Solution,
    lines: Sequence[EnergyLine],
    extra_j: Floats,
) -> Balance:
    seen, value = situation.seen, solution.value
    energy = (design.matrix * value * seen.span_s[:, None]).sum(axis=0)
    static_j, static_busy_j = _static_j(situation, design, solution)
    shared = np.array(shared_seconds(situation.loads))
    loads_j = energy[design.first_load :] + extra_j
    if shared.sum() > 0:
        loads_j = loads_j + static_busy_j * shared / shared.sum()
    is_told = np.array([one.energy_j is not None for one in lines], np.bool_)
    is_kernel = np.array([one.load.kind is LoadKind.KERNEL for one in lines], np.bool_)
    kernels, transfers = (float(loads_j[is_told & kind].sum()) for kind in (is_kernel, ~is_kernel))
    unresolved = float(loads_j[~is_told].sum())
    tail = float(energy[design.tail_at]) if design.tail_at is not None else 0.0
    idle = static_j - static_busy_j
    measured = seen.energy_j
    return Balance(
        measured_j=measured,
        measured_within_j=_measured_within_j(situation),
        covered_s=float(seen.span_s.sum()),
        kernels_j=kernels,
        transfers_j=transfers,
        transfers_within_j=math.hypot(
            *(one.within_j or 0.0 for one in lines if one.load.kind is LoadKind.TRANSFER)
        ),
        unresolved_j=unresolved,
        tail_j=tail,
        idle_j=idle,
        unattributed_j=measured - kernels - transfers - unresolved - tail - idle,
        idle_w=float(value[0]),
        idle_within_w=student(solution.freedom) * float(solution.standard_error[0]),
        context_w=float(value[design.context_at]) if design.context_at is not None else 0.0,
        tail_s=design.tail_s,
    )


def _static_j(situation: Situation, design: Design, solution: Solution) -> tuple[float, float]:
    """What was drawn at rest, and the part of it while something ran."""
    seen, value = situation.seen, solution.value
    start, end = busy_union(situation.loads)
    busy = Busy.of(start, end).mean(seen.begin_s, seen.end_s, Response())
    static = np.full(len(seen), value[0])
    if design.context_at is not None:
        static += design.matrix[:, design.context_at] * value[design.context_at]
    return float((static * seen.span_s).sum()), float((static * busy * seen.span_s).sum())


def _measured_within_j(situation: Situation) -> float:
    """How far off the sum of all readings may be: its ends, and the steps of the sensor."""
    seen = situation.seen
    first, last = (seen.power_w[[0, -1]] * situation.period_s / 2).tolist()
    noise = math.sqrt(float(((seen.sigma_w * seen.span_s) ** 2).sum()))
    return math.hypot(first, last, 2 * noise)
