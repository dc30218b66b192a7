"""Models of how much longer a launch takes beside others.

`equal`, `accesses` and `collisions` are the three of Büsser, Memory access collisions (2018), equations
4.1 to 4.3; each constant is the median over launches at once of one number (5.2.1). `collisions + line`
adds the line along which the errors of the third lie in figure 5.6.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

import numpy as np

from cltrace.errors import ProfileError
from cltrace.kernels.counts.access_density import TENTHS
from cltrace.kernels.counts.branch_rules import BranchRule
from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.neighbours.records import Beside, Reading
from cltrace.predict.neighbours.shares import Neighbourhood, SharedTimes, solve_shares

Constants: TypeAlias = Mapping[str, float]
"""Constants of a model by name."""


class NeighbourModel(Protocol):
    """A model of the time that neighbours cost."""

    @property
    def name(self) -> str:
        """Name in tables and profiles."""

    def train(self, launches: Sequence[Beside]) -> Constants:
        """Return the constants for measured launches. Raises: `ProfileError` without any to train on."""

    def increase_ns(self, launch: Beside, constants: Constants) -> float:
        """Return how much longer a launch takes beside its neighbours, in ns."""


_SUPPLIES: Final = tuple(1.08**step for step in range(-14, 10))
"""Supplies that are tried: from a third to twice of what the costs say."""
_SCARCE: Final[Constants] = dict.fromkeys(
    ("memory", "L2", "atomics", "L1", "local memory", "pipes"), 0.6
)
"""Supplies at which the part shows that launches ask most for."""

Predictor: TypeAlias = Callable[[Beside], float]


@dataclass(frozen=True, slots=True)
class ProportionalModel:
    """A model with one factor: the median of increases by the model's quantity."""

    name: str
    quantity: Predictor

    def train(self, launches: Sequence[Beside]) -> Constants:
        """Return the factor."""
        ratios = [
            launch.increase_ns / quantity
            for launch in launches
            if (quantity := self.quantity(launch))
        ]
        if not ratios:
            raise ProfileError(f"there is no launch beside others to train {self.name} on")
        return {"c": float(np.median(ratios))}

    def increase_ns(self, launch: Beside, constants: Constants) -> float:
        """Return the factor times the quantity."""
        return constants["c"] * self.quantity(launch)


@dataclass(frozen=True, slots=True)
class LineModel:
    """A model with a factor and a constant: the line of least squares through the increases."""

    name: str
    quantity: Predictor

    def train(self, launches: Sequence[Beside]) -> Constants:
        """Return the slope and the height of the line."""
        x = np.asarray([self.quantity(launch) for launch in launches], np.float64)
        y = np.asarray([launch.increase_ns for launch in launches], np.float64)
        if len(set(x.tolist())) < 2:
            raise ProfileError(f"{self.name} needs launches of two kinds to be trained on")
        centre_x, centre_y = float(x.mean()), float(y.mean())
        slope = float(((x - centre_x) * (y - centre_y)).sum() / ((x - centre_x) ** 2).sum())
        return {"c": slope, "line": centre_y - slope * centre_x}

    def increase_ns(self, launch: Beside, constants: Constants) -> float:
        """Return the height of the line at the quantity."""
        return constants["c"] * self.quantity(launch) + constants["line"]


@dataclass(frozen=True, slots=True)
class ShareModel:
    """Each part's supply divided in proportion to demand, and the durations solved again.

    Its constants are what parts supply to several launches, by what they supply to one: those that fit
    best, part by part, the launches for which the part decides.
    """

    costs: Costs
    name: str = field(default="share", init=False)

    def train(self, launches: Sequence[Beside]) -> Constants:
        """Return the supplies of parts by name, without those for which no launch is there."""
        by_part: dict[str, list[Beside]] = {}
        for launch in launches:
            factors = self.times(launch, _SCARCE).factors
            by_part.setdefault(max(factors, key=factors.__getitem__), []).append(launch)
        return {
            part: min(_SUPPLIES, key=lambda supply: self._error(own, {part: supply}))
            for part, own in by_part.items()
            if any(factor > 1.0 for factor in self.times(own[0], _SCARCE).factors.values())
        }

    def _error(self, launches: Sequence[Beside], supplies: Constants) -> float:
        """Return the sum of the relative errors of durations, on a logarithmic scale."""
        return sum(
            abs(math.log((launch.alone_ns + self.increase_ns(launch, supplies)) / launch.beside_ns))
            for launch in launches
        )

    def increase_ns(self, launch: Beside, constants: Constants) -> float:
        """Return the increase by which the predicted duration grows in proportion."""
        times = self.times(launch, constants)
        return launch.alone_ns * (times.beside_ns[0] / times.alone_ns[0] - 1.0)

    def times(self, launch: Beside, constants: Constants) -> SharedTimes:
        """Return the predicted durations of a launch and its neighbours. Raises: `ValueError`."""
        demands = [member.demand for member in launch.members if member.demand is not None]
        if len(demands) < launch.threads:
            raise ValueError("a launch without counts shares nothing")
        around = Neighbourhood(launch.has_own_units, launch.is_memory_shared)
        return solve_shares(demands, self.costs, around, constants)


def _equal(launch: Beside) -> float:
    """Return (T - 1) t (equation 4.1)."""
    return (launch.threads - 1) * launch.alone_ns


def _accesses(reading: Reading, rule: BranchRule = BranchRule.EXACT) -> Predictor:
    """Return the function to (T - 1) N (equation 4.2)."""
    return lambda launch: (launch.threads - 1) * launch.members[0].accesses_by(rule)[reading]


def collisions(reading: Reading, rule: BranchRule = BranchRule.EXACT) -> Predictor:
    """Return the function to N_k Σ N_i / t_i: the collisions that equation 4.3 expects."""

    def expected(launch: Beside) -> float:
        own, *others = launch.members
        rates = sum(other.accesses_by(rule)[reading] / other.alone_ns for other in others)
        return own.accesses_by(rule)[reading] * rates

    return expected


def collisions_by_tenths(reading: Reading) -> Predictor:
    """Return the function to the expected collisions where the density of accesses varies.

    As in equation 4.3, for each tenth of a launch and what the others, which begin with it, access
    meanwhile (6, as further work).
    """

    def expected(launch: Beside) -> float:
        own, *others = launch.members
        ends_ns = np.linspace(0.0, own.alone_ns, TENTHS + 1)
        shares = np.diff(own.accesses_until(ends_ns))
        rates = sum(
            other.accesses[reading] * np.diff(other.accesses_until(ends_ns)) for other in others
        ) / (own.alone_ns / TENTHS)
        return float((own.accesses[reading] * shares * rates).sum())

    return expected


_PUBLISHED: Final[tuple[NeighbourModel, ...]] = (
    ProportionalModel("equal", _equal),
    *(ProportionalModel(f"accesses, {each}", _accesses(each)) for each in Reading),
    *(ProportionalModel(f"collisions, {each}", collisions(each)) for each in Reading),
    *(
        ProportionalModel(f"collisions by tenths, {each}", collisions_by_tenths(each))
        for each in Reading
    ),
    *(LineModel(f"collisions + line, {each}", collisions(each)) for each in Reading),
)
_RULES: Final = (BranchRule.WORST, BranchRule.MEAN)
_RULED: Final[Mapping[BranchRule, tuple[NeighbourModel, ...]]] = {
    rule: tuple(
        ProportionalModel(f"{name}, {each}, {rule} branches", quantity(each, rule))
        for name, quantity in (("accesses", _accesses), ("collisions", collisions))
        for each in Reading
    )
    for rule in _RULES
}
"""Models whose accesses follow a rule for branches, as the study's do."""


def neighbour_models(costs: Costs, launches: Sequence[Beside] = ()) -> Mapping[str, NeighbourModel]:
    """Return the models by name, for a device of some costs; the default is the last.

    Models with a rule for branches are among them if it changes the accesses of one of `launches`.
    """
    ruled = [
        model
        for rule, models in _RULED.items()
        if any(
            member.accesses_by(rule) != member.accesses
            for launch in launches
            for member in launch.members
        )
        for model in models
    ]
    models = (*_PUBLISHED, *ruled, ShareModel(costs))
    return {model.name: model for model in models}
