"""Curves through measured points, by least squares of relative errors: small values count as much."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import MissingExtraError

_Floats = NDArray[np.float64]
_FARTHEST = 60.0
"""Logarithms beyond are as good as none: a decay that nothing shows may have any."""


def require_scipy() -> None:
    """Raises: `MissingExtraError` where curves cannot be fitted."""
    try:
        import_module("scipy.optimize")
    except ImportError as error:
        raise MissingExtraError("fitting a model", "predict", error) from error


@dataclass(frozen=True, slots=True)
class Line:
    """`slope` x + `constant`, neither below zero, and the standard errors of both."""

    slope: float
    constant: float
    slope_error: float
    constant_error: float

    def __call__(self, x: float) -> float:
        """The value at x."""
        return self.slope * x + self.constant


def line_through(
    x: Sequence[float], y: Sequence[float], scale: Sequence[float] | None = None
) -> Line:
    """The line with the least errors relative to `scale`, or to the values themselves.

    A scale is needed where values are differences, which may be 0 or less.
    Raises: `ValueError` for fewer than two points, or a scale of 0 or less.
    """
    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    by = ys if scale is None else np.asarray(scale, np.float64)
    if len(xs) < 2 or not (by > 0).all():
        raise ValueError("a line needs two points above 0")
    rows = np.stack([xs / by, 1.0 / by], axis=1)
    found = _not_negative(rows, ys / by)
    rest = rows @ found - ys / by
    spread = float(rest @ rest) / max(len(xs) - 2, 1)
    covariance = np.linalg.pinv(rows.T @ rows) * spread
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return Line(float(found[0]), float(found[1]), float(errors[0]), float(errors[1]))


def _not_negative(rows: _Floats, wanted: _Floats) -> _Floats:
    """The least squares of which no unknown is below zero. Two unknowns."""
    both = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    if (both >= 0).all():
        return np.asarray(both, np.float64)
    alone = np.maximum(rows.T @ wanted / (rows * rows).sum(axis=0), 0.0)
    off = [float(((rows[:, k] * alone[k] - wanted) ** 2).sum()) for k in range(2)]
    best = int(np.argmin(off))
    one: _Floats = np.zeros(2)
    one[best] = alone[best]
    return one


@dataclass(frozen=True, slots=True)
class Decay:
    """B1 exp(-x / t1) + B2 exp(-x / t2) + y0 (Pöppl 2014, 5.6)."""

    b1: float
    t1: float
    b2: float
    t2: float
    y0: float

    def __call__(self, x: float) -> float:
        """The value at x."""
        return float(self.b1 * np.exp(-x / self.t1) + self.b2 * np.exp(-x / self.t2) + self.y0)


def decay_through(x: Sequence[float], y: Sequence[float]) -> Decay:
    """The curve of two decays with the least relative errors."""
    require_scipy()
    from scipy.optimize import least_squares  # noqa: PLC0415 - optional, and slow to load

    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)

    def off(logs: _Floats) -> _Floats:
        b1, t1, b2, t2, y0 = np.exp(np.clip(logs, -_FARTHEST, _FARTHEST))
        found: _Floats = np.log(b1 * np.exp(-xs / t1) + b2 * np.exp(-xs / t2) + y0) - np.log(ys)
        return found

    top, bottom = float(ys.max()), float(ys.min())
    start = np.log([top, 2.0, max(top / 10, bottom), 20.0, bottom])
    best = least_squares(off, start, loss="soft_l1", f_scale=0.1)
    return Decay(*(float(value) for value in np.exp(np.clip(best.x, -_FARTHEST, _FARTHEST))))


@dataclass(frozen=True, slots=True)
class Knee:
    """Flat up to `saturation`, then rising by `slope`: what is hidden at first (Pöppl 2014, 5.9)."""

    constant: float
    saturation: float
    slope: float

    def __call__(self, x: float) -> float:
        """The value at x."""
        return self.constant + self.slope * max(x - self.saturation, 0.0)


def knee_through(x: Sequence[float], y: Sequence[float]) -> Knee:
    """The knee with the least relative errors, of saturations from nothing to the largest x."""
    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    best, least = Knee(float(ys.mean()), float(xs.max()), 0.0), np.inf
    for saturation in np.geomspace(0.5, xs.max(), 60):
        rows = np.stack([np.maximum(xs - saturation, 0.0) / ys, 1.0 / ys], axis=1)
        slope, constant = _not_negative(rows, np.ones(len(rows)))
        error = float(((rows @ [slope, constant] - 1.0) ** 2).sum())
        if error < least:
            best, least = Knee(float(constant), float(saturation), float(slope)), error
    return best
