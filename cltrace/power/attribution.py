"""Attribution of measured energy to kernels and transfers, each with its tier and its uncertainty.

Work that is shorter than a sensor's period is never looked up in single readings. Instead, a regression
explains all readings together by all work together: the windows of the readings, in which a class of
commands was more or less active, determine its power above idle power (least squares; the linear form of
Lang and Rünger, Euro-Par 2013). Long stretches of a single class are also measured directly: the
residuals of their readings are added to this class. Energy that remains is reported as unattributed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cltrace.power.activity_shares import ActiveTime, SensorResponse
from cltrace.power.design import MIN_UPDATES, AttributionInput, DesignMatrix
from cltrace.power.load_classes import (
    Load,
    LoadKind,
    active_intervals,
    runs_alone,
    shared_seconds,
)
from cltrace.power.mean_power import Floats, Observations
from cltrace.power.merging import find_inseparable, find_negligible, merge_pair
from cltrace.power.results import Attribution, Balance, EnergyLine, Tier
from cltrace.power.sensor_response import ResponseFit, align, keep_strongest
from cltrace.power.solving import Solution
from cltrace.power.without_scipy import student_t_95
from cltrace.timeline.columns import Bools

_DIRECT_UPDATES: Final = 10
"""Minimum number of the sensor's updates in a stretch that is measured directly."""
_MAX_RELATIVE_ERROR: Final = 0.25
"""A class with a larger relative uncertainty of its energy is unresolved."""
_TAILS_S: Final = (0.1, 0.3, 1.0, 3.0, 10.0)
_TAIL_IMPROVEMENT: Final = 0.98
"""A tail is accepted if it leaves less than this share of the sum of squares."""
_MAX_ACTIVITIES: Final = 6
_LAGS_S: Final = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1)
_MAX_SHIFT_S: Final = 0.15
_MAX_SHIFT_PERIODS: Final = 2.5
_MAX_GAP_PERIODS: Final = 0.05
"""Launches of a class with smaller gaps, in periods of the sensor, form one stretch."""


def attribute(problem: AttributionInput) -> Attribution | None:
    """Return the energy of each class of commands, `None` with fewer than `MIN_UPDATES` readings.

    Classes that readings do not distinguish, because they always run together, are merged.
    """
    if len(problem.observations) < MIN_UPDATES:
        return None
    alignment = _align(problem, [load.active_time for load in problem.loads])
    design, solution = _fit_with_tail(problem, alignment, (0.0, *_possible_tails(problem)))
    negligible = find_negligible(problem, design, solution)
    left_out = [problem.loads[place] for place in sorted(negligible)]
    if negligible:
        rest = tuple(load for place, load in enumerate(problem.loads) if place not in negligible)
        problem, design = replace(problem, loads=rest), design.without(negligible)
        solution = design.solve(problem.observations, problem.block)
    while (pair := find_inseparable(problem.loads, solution, design.first_load)) is not None:
        problem = replace(problem, loads=merge_pair(problem.loads, *pair))
        design = design.merge_pair(*pair)
        solution = design.solve(problem.observations, problem.block)
    attribution = _attribution_of(problem, alignment, design, solution)
    left_out_lines = [_negligible_line(load, problem.observations) for load in left_out]
    return replace(attribution, lines=(*attribution.lines, *left_out_lines))


def _negligible_line(load: Load, observations: Observations) -> EnergyLine:
    share = load.active_time.mean(observations.begin_s, observations.end_s, SensorResponse())
    covered_s = float((share * observations.span_s).sum())
    return EnergyLine.unresolved(
        load,
        "it ran for too little of the time: repeat it, or read more often",
        coverage=min(covered_s / max(load.seconds, 1e-12), 1.0),
        updates=int((share > 0).sum()),
    )


def _fit_with_tail(
    problem: AttributionInput, alignment: ResponseFit, tails: Sequence[float]
) -> tuple[DesignMatrix, Solution]:
    """Return the regression with the tail that explains the readings best."""
    activities = [load.active_time for load in problem.loads]
    best: tuple[DesignMatrix, Solution] | None = None
    least = math.inf
    for tail_s in tails:
        design = DesignMatrix.of(problem, activities, alignment.response, tail_s)
        solution = design.solve(problem.observations, problem.block)
        squares = float((problem.observations.span_s * solution.residual**2).sum())
        if best is None or squares < _TAIL_IMPROVEMENT * least:
            best, least = (design, solution), squares
    assert best is not None
    return best


def _align(problem: AttributionInput, activities: Sequence[ActiveTime]) -> ResponseFit:
    return align(
        problem.observations,
        keep_strongest(activities, _MAX_ACTIVITIES),
        declared=problem.declared,
        max_shift_s=max(_MAX_SHIFT_S, _MAX_SHIFT_PERIODS * problem.period_s),
        lags_s=(problem.declared.lag_s,) if problem.is_lag_declared else _LAGS_S,
        block=problem.block,
    )


def _possible_tails(problem: AttributionInput) -> list[float]:
    """Return the tails that readings can distinguish from idle: enough time is in and after them."""
    start, end = active_intervals(problem.loads)
    if not len(start):
        return []
    last_s = max(float(problem.observations.end_s[-1]), float(end[-1]))
    gaps = np.append(start[1:], last_s) - end
    min_rest_s = 5 * problem.period_s
    return [
        tail
        for tail in _TAILS_S
        if tail >= 2 * problem.period_s and float(np.maximum(gaps - tail, 0).sum()) > min_rest_s
    ]


def _attribution_of(
    problem: AttributionInput, alignment: ResponseFit, design: DesignMatrix, solution: Solution
) -> Attribution:
    loads = problem.loads
    shared_s = shared_seconds(loads)
    response_error_w = _response_errors(problem, alignment, design, solution)
    lines, extra_j = [], np.zeros(len(loads))
    for place in range(len(loads)):
        estimate = _LoadEstimate(problem, design, solution, alignment.response, place)
        extra_j[place], direct_share = estimate.direct()
        lines.append(
            _line_of(
                estimate, shared_s[place], extra_j[place], direct_share, response_error_w[place]
            )
        )
    balance = _balance_of(problem, design, solution, lines, extra_j)
    return Attribution(tuple(lines), balance, alignment, problem.period_s)


def _response_errors(
    problem: AttributionInput, alignment: ResponseFit, design: DesignMatrix, solution: Solution
) -> Floats:
    """Return the change of each load's power, in W, for a response at the ends of its intervals."""
    if not problem.loads:
        return np.zeros(0)
    activities = [load.active_time for load in problem.loads]
    response, width_s = alignment.response, alignment.within_s
    if not alignment.is_measured:
        width_s = problem.period_s
    ends = [
        [SensorResponse(response.delay_s + sign * width_s, response.lag_s) for sign in (-1, 1)],
        [_with_longer_lag(response, sign * alignment.lag_within_s) for sign in (-1, 1)],
    ]
    squares = np.zeros(len(activities))
    for pair in ends:
        changes = []
        for end in pair:
            other = DesignMatrix.of(problem, activities, end, design.tail_s)
            powers = other.solve(problem.observations, problem.block).coefficients
            change = powers[other.first_load :] - solution.coefficients[design.first_load :]
            changes.append(np.abs(change))
        squares += np.max(changes, axis=0) ** 2
    errors: Floats = np.sqrt(squares)
    return errors


def _with_longer_lag(response: SensorResponse, change_s: float) -> SensorResponse:
    """Return a response with another time constant and the same mean age."""
    lag_s = max(response.lag_s + change_s, 0.0)
    return SensorResponse(response.delay_s + response.lag_s - lag_s, lag_s)


@dataclass(frozen=True, slots=True)
class _LoadEstimate:
    """Estimate of a load: the regression, and the load's place in it."""

    problem: AttributionInput
    design: DesignMatrix
    solution: Solution
    response: SensorResponse
    place: int

    @property
    def load(self) -> Load:
        return self.problem.loads[self.place]

    @property
    def column(self) -> Floats:
        """Share of each reading in which the load was active."""
        shares: Floats = self.design.matrix[:, self.design.first_load + self.place]
        return shares

    @property
    def updates(self) -> int:
        """Number of readings in which the load was active."""
        return int((self.column > 1e-6).sum())

    def coverage(self) -> float:
        """Return the share of the load's time that has readings."""
        covered_s = float((self.column * self.problem.observations.span_s).sum())
        return min(covered_s / self.load.seconds, 1.0)

    def direct(self) -> tuple[float, float]:
        """Return the residual energy in J of its long stretches alone, and their share of its time."""
        problem = self.problem
        others = [load for load in problem.loads if load is not self.load]
        start, end = _stretches(self.load, runs_alone(self.load, others), problem.period_s)
        is_long = end - start >= _DIRECT_UPDATES * problem.period_s
        start, end = start[is_long], end[is_long]
        if not len(start):
            return 0.0, 0.0
        observations = problem.observations
        share = ActiveTime.of(start, end).mean(
            observations.begin_s, observations.end_s, self.response
        )
        extra = self.solution.residual * observations.span_s * np.where(share > 0.99, 1.0, 0.0)
        return float(extra.sum()), float((end - start).sum()) / max(self.load.seconds, 1e-12)


def _stretches(load: Load, is_alone: Bools, period_s: float) -> tuple[Floats, Floats]:
    """Return the begins and ends of stretches: runs of back-to-back launches of a load alone."""
    start, end = load.start_s[is_alone], load.end_s[is_alone]
    if not len(start):
        return start, end
    is_first = np.concatenate([[True], start[1:] - end[:-1] > _MAX_GAP_PERIODS * period_s])
    last = np.append(np.flatnonzero(is_first)[1:] - 1, len(end) - 1)
    return start[is_first], end[last]


def _line_of(
    estimate: _LoadEstimate,
    shared_s: float,
    extra_j: float,
    direct_share: float,
    response_error_w: float,
) -> EnergyLine:
    load, design, solution = estimate.load, estimate.design, estimate.solution
    t_factor = student_t_95(solution.degrees_of_freedom)
    column = design.first_load + estimate.place
    gradient = np.zeros(len(solution.coefficients))
    gradient[column] = load.seconds
    gradient[0] = shared_s
    static_w = float(solution.coefficients[0])
    if design.context_column is not None:
        gradient[design.context_column] = shared_s
        static_w += float(solution.coefficients[design.context_column])
    error_j = math.sqrt(max(float(gradient @ solution.covariance @ gradient), 0.0))
    dynamic_error_j = float(solution.standard_error[column]) * load.seconds
    response_error_j = response_error_w * load.seconds
    within_j = float(np.hypot(t_factor * error_j, response_error_j))
    dynamic_j = float(solution.coefficients[column]) * load.seconds + extra_j
    energy_j = dynamic_j + static_w * shared_s
    coverage, updates = estimate.coverage(), estimate.updates
    why = _why_unresolved(updates, energy_j, within_j)
    if why:
        return EnergyLine.unresolved(load, why, coverage=coverage, updates=updates)
    return EnergyLine(
        load=load,
        tier=Tier.DIRECT if direct_share >= 0.5 else Tier.REGRESSED,
        energy_j=energy_j,
        within_j=within_j,
        dynamic_j=max(dynamic_j, 0.0),
        dynamic_within_j=float(np.hypot(t_factor * dynamic_error_j, response_error_j)),
        coverage=coverage,
        updates=updates,
    )


def _why_unresolved(updates: int, energy_j: float, within_j: float) -> str:
    if updates < MIN_UPDATES:
        return f"active in {updates} readings of the sensor: repeat it, or read more often"
    if within_j > _MAX_RELATIVE_ERROR * max(energy_j, 0.0):
        return "not distinguishable from other work that always ran with it, or too little of it"
    return ""


def _balance_of(
    problem: AttributionInput,
    design: DesignMatrix,
    solution: Solution,
    lines: Sequence[EnergyLine],
    extra_j: Floats,
) -> Balance:
    observations, powers_w = problem.observations, solution.coefficients
    column_j = (design.matrix * powers_w * observations.span_s[:, None]).sum(axis=0)
    static_j, static_busy_j = _static_energy(problem, design, solution)
    loads_j = column_j[design.first_load :] + extra_j + _split(static_busy_j, problem.loads)
    is_resolved = np.array([line.energy_j is not None for line in lines], np.bool_)
    is_kernel = np.array([line.load.kind is LoadKind.KERNEL for line in lines], np.bool_)
    kernels_j, transfers_j = (
        float(loads_j[is_resolved & mask].sum()) for mask in (is_kernel, ~is_kernel)
    )
    unresolved_j = float(loads_j[~is_resolved].sum())
    tail, context = design.tail_column, design.context_column
    tail_j = float(column_j[tail]) if tail is not None else 0.0
    idle_j = static_j - static_busy_j
    measured_j = observations.energy_j
    return Balance(
        measured_j=measured_j,
        measured_within_j=_measured_within_j(problem),
        covered_s=float(observations.span_s.sum()),
        kernels_j=kernels_j,
        transfers_j=transfers_j,
        transfers_within_j=math.hypot(
            *(line.within_j or 0.0 for line in lines if line.load.kind is LoadKind.TRANSFER)
        ),
        unresolved_j=unresolved_j,
        tail_j=tail_j,
        idle_j=idle_j,
        unattributed_j=measured_j - kernels_j - transfers_j - unresolved_j - tail_j - idle_j,
        idle_w=float(powers_w[0]),
        idle_within_w=student_t_95(solution.degrees_of_freedom) * float(solution.standard_error[0]),
        context_w=float(powers_w[context]) if context is not None else 0.0,
        tail_s=design.tail_s,
    )


def _split(energy_j: float, loads: Sequence[Load]) -> Floats:
    """Return the parts of an energy that is split in proportion to the loads' shared time."""
    shared_s = np.array(shared_seconds(loads))
    if shared_s.sum() <= 0:
        return np.zeros(len(loads))
    parts_j: Floats = energy_j * shared_s / shared_s.sum()
    return parts_j


def _static_energy(
    problem: AttributionInput, design: DesignMatrix, solution: Solution
) -> tuple[float, float]:
    """Return the energy at rest in J, and the part of it during commands."""
    observations, powers_w = problem.observations, solution.coefficients
    busy_share = ActiveTime.of(*active_intervals(problem.loads)).mean(
        observations.begin_s, observations.end_s, SensorResponse()
    )
    static_w = np.full(len(observations), powers_w[0])
    if design.context_column is not None:
        static_w += design.matrix[:, design.context_column] * powers_w[design.context_column]
    span_s = observations.span_s
    return float((static_w * span_s).sum()), float((static_w * busy_share * span_s).sum())


def _measured_within_j(problem: AttributionInput) -> float:
    """Return the half-width of the total energy: from its ends, and the steps of the sensor."""
    observations = problem.observations
    first_j, last_j = (observations.power_w[[0, -1]] * problem.period_s / 2).tolist()
    noise_j = math.sqrt(float(((observations.sigma_w * observations.span_s) ** 2).sum()))
    return math.hypot(first_j, last_j, 2 * noise_j)
