"""Curves fitted to measured points by least squares of relative errors: small values weigh as much."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import require_module

_Floats = NDArray[np.float64]
_MAX_LOG: Final = 60.0
"""Bound of logarithms in the fit of decays: points that show no decay leave its parameters free."""
_VERY_STRONG: Final = 10.0
"""Difference of two information criteria that is very strong evidence (Kass and Raftery 1995)."""


def require_scipy() -> None:
    """Raises: `MissingExtraError` if scipy is not installed, which fits need."""
    require_module("scipy.optimize", "fitting a model", "predict")


@dataclass(frozen=True, slots=True)
class Line:
    """`slope` x + `constant`, neither below zero, and the standard errors of both."""

    slope: float
    constant: float
    slope_error: float
    constant_error: float

    def __call__(self, x: float) -> float:
        """Return the value at x."""
        return self.slope * x + self.constant


def fit_line(x: Sequence[float], y: Sequence[float], scale: Sequence[float] | None = None) -> Line:
    """Fit the line with the least errors relative to `scale`, or to the values themselves.

    Differences need a scale: they may be 0 or less.
    Raises: `ValueError` for fewer than two points, or a scale of 0 or less.
    """
    require_scipy()
    from scipy.optimize import nnls  # noqa: PLC0415 - optional, and slow to load

    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    divisor = ys if scale is None else np.asarray(scale, np.float64)
    if len(xs) < 2 or not (divisor > 0).all():
        raise ValueError("a line needs two points above 0")
    rows = np.stack([xs / divisor, 1.0 / divisor], axis=1)
    solution, _ = nnls(rows, ys / divisor)
    residuals = rows @ solution - ys / divisor
    spread = float(residuals @ residuals) / max(len(xs) - 2, 1)
    covariance = np.linalg.pinv(rows.T @ rows) * spread
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return Line(float(solution[0]), float(solution[1]), float(errors[0]), float(errors[1]))


@dataclass(frozen=True, slots=True)
class Decay:
    """B1 exp(-x / t1) + B2 exp(-x / t2) + y0 (Pöppl 2014, 5.6)."""

    b1: float
    t1: float
    b2: float
    t2: float
    y0: float

    def __call__(self, x: float) -> float:
        """Return the value at x."""
        return float(self.b1 * np.exp(-x / self.t1) + self.b2 * np.exp(-x / self.t2) + self.y0)


def fit_decay(x: Sequence[float], y: Sequence[float]) -> Decay:
    """Fit the curve of two decays with the least relative errors."""
    require_scipy()
    from scipy.optimize import least_squares  # noqa: PLC0415 - optional, and slow to load

    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)

    def residuals(logs: _Floats) -> _Floats:
        b1, t1, b2, t2, y0 = np.exp(np.clip(logs, -_MAX_LOG, _MAX_LOG))
        relative: _Floats = np.log(b1 * np.exp(-xs / t1) + b2 * np.exp(-xs / t2) + y0) - np.log(ys)
        return relative

    top, bottom = float(ys.max()), float(ys.min())
    start = np.log([top, 2.0, max(top / 10, bottom), 20.0, bottom])
    best = least_squares(residuals, start, loss="soft_l1", f_scale=0.1)
    return Decay(*(float(value) for value in np.exp(np.clip(best.x, -_MAX_LOG, _MAX_LOG))))


def utilisation(group_items: float, units: int) -> float:
    """Return the busy share of execution units while work-groups of a size run (Pöppl 2014, 7.1).

    Groups run in passes of `units` work-items; the last pass of a group may be partly filled. 7.1
    is printed without the number of passes as divisor of its first term, and exceeds 1 for some
    sizes; with this divisor, its terms add up to the shares of its text, 17/32 and 33/48 for 16 units.
    """
    return group_items / (units * math.ceil(group_items / units))


@dataclass(frozen=True, slots=True)
class Multiplicity:
    """Time at full utilisation divided by the utilisation (Pöppl 2014, 7.2): a saw-tooth.

    Raises: `ValueError` for fewer than one unit, or a time of 0 or less.
    """

    full_ns: float
    units: int

    def __post_init__(self) -> None:
        if self.units < 1:
            raise ValueError(f"a device has at least one execution unit, not {self.units}")
        if not self.full_ns > 0:
            raise ValueError(f"a time at full utilisation is above 0, not {self.full_ns} ns")

    def __call__(self, x: float) -> float:
        """Return the value at work-groups of x work-items."""
        return self.full_ns / utilisation(x, self.units)


def fit_multiplicity(x: Sequence[float], y: Sequence[float]) -> Multiplicity:
    """Fit the saw-tooth with the least relative errors, of 1 unit to as many as the largest x."""
    ys = np.asarray(y, np.float64)
    best, min_error = Multiplicity(float(ys.mean()), 1), np.inf
    for units in range(1, int(max(x)) + 1):
        logs = np.log(ys) + np.log([utilisation(size, units) for size in x])
        error = float(logs.var())
        if error < min_error:
            best, min_error = Multiplicity(float(np.exp(logs.mean())), units), error
    return best


GroupCurve: TypeAlias = Decay | Multiplicity
"""Times by the size of work-groups: a decay on the published model's device, a saw-tooth on others."""


def fit_group_curve(x: Sequence[float], y: Sequence[float]) -> GroupCurve:
    """Fit both curves of work-groups. Return the saw-tooth where the evidence for it is very strong.

    Sizes that are powers of two alone give none: they lie on a tooth's edge, where both curves agree.
    """
    decay = fit_decay(x, y)
    if all(size.is_integer() and _is_power_of_two(int(size)) for size in map(float, x)):
        return decay
    multiplicity = fit_multiplicity(x, y)
    gain = _criterion(decay, 5, x, y) - _criterion(multiplicity, 2, x, y)
    return multiplicity if gain > _VERY_STRONG else decay


def _is_power_of_two(size: int) -> bool:
    return size > 0 and size.bit_count() == 1


def _criterion(
    curve: Callable[[float], float], parameters: int, x: Sequence[float], y: Sequence[float]
) -> float:
    """Return the Bayesian information criterion of the curve's relative errors."""
    logs = np.log([curve(at) for at in x]) - np.log(y)
    floor = np.finfo(np.float64).eps  # errors below it are rounding
    return float(len(x) * np.log(max(float((logs**2).mean()), floor)) + parameters * np.log(len(x)))


def fit_rising(y: Sequence[float], weights: Sequence[float]) -> tuple[float, ...]:
    """Return the values that never fall and have the least weighted squared distance from y.

    Values that fall are replaced by their weighted mean, again and again (pool adjacent violators, Barlow
    and others 1972). `weights` are above 0.
    """
    pools: list[tuple[float, float, int]] = []  # mean, weight, number of values
    for pair in zip(y, weights, strict=True):
        mean, weight, count = (*pair, 1)
        while pools and pools[-1][0] > mean:
            earlier, earlier_weight, earlier_count = pools.pop()
            both = earlier_weight + weight
            mean = (earlier * earlier_weight + mean * weight) / both
            weight, count = both, count + earlier_count
        pools.append((mean, weight, count))
    return tuple(mean for mean, _, count in pools for _ in range(count))


@dataclass(frozen=True, slots=True)
class Knee:
    """Constant up to `saturation`, then rising by `slope`: hidden work at first (Pöppl 2014, 5.9)."""

    constant: float
    saturation: float
    slope: float

    def __call__(self, x: float) -> float:
        """Return the value at x."""
        return self.constant + self.slope * max(x - self.saturation, 0.0)


def fit_knee(x: Sequence[float], y: Sequence[float]) -> Knee:
    """Fit the knee with the least relative errors, with a saturation from 0.5 to the largest x."""
    require_scipy()
    from scipy.optimize import nnls  # noqa: PLC0415 - optional, and slow to load

    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    best, min_error = Knee(float(ys.mean()), float(xs.max()), 0.0), np.inf
    for saturation in np.geomspace(0.5, xs.max(), 60):
        rows = np.stack([np.maximum(xs - saturation, 0.0) / ys, 1.0 / ys], axis=1)
        (slope, constant), _ = nnls(rows, np.ones(len(rows)))
        error = float(((rows @ [slope, constant] - 1.0) ** 2).sum())
        if error < min_error:
            best, min_error = Knee(float(constant), float(saturation), float(slope)), error
    return best
