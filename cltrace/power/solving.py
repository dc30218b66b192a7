"""Least squares without negative results, and how far off these may be where errors hang together."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.power.mean_power import Floats

_TOLERANCE: Final = 1e-9
_MOST_ROUNDS: Final = 500
_FEWEST_BLOCKS: Final = 8


@dataclass(frozen=True, slots=True)
class Solution:
    """`value` (m,) with its covariance (m, m), and the residuals (n,) of what it was fitted to.

    `freedom` is how many errors that do not hang together the covariance is made of, less 1.
    """

    value: Floats
    covariance: Floats
    residual: Floats
    freedom: int

    @property
    def standard_error(self) -> Floats:
        """Of each value."""
        error: Floats = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return error


def non_negative(matrix: Floats, wanted: Floats) -> Floats:
    """The values from 0 on that bring `matrix @ value` nearest to `wanted`, by least squares.

    The active-set method of Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23.
    """
    columns = matrix.shape[1]
    scale = np.sqrt((matrix**2).sum(axis=0))
    scale[scale == 0] = 1.0
    scaled = matrix / scale
    value, is_free = np.zeros(columns), np.zeros(columns, np.bool_)
    tolerance = _TOLERANCE * max(float(np.abs(scaled.T @ wanted).max(initial=0.0)), 1e-300)
    for _ in range(_MOST_ROUNDS):
        gradient = scaled.T @ (wanted - scaled @ value)
        gradient[is_free] = -np.inf
        if is_free.all() or gradient.max(initial=-np.inf) <= tolerance:
            break
        is_free[int(gradient.argmax())] = True
        value = _freed(scaled, wanted, value, is_free)
    result: Floats = value / scale
    return result


def _freed(matrix: Floats, wanted: Floats, value: Floats, is_free: np.ndarray) -> Floats:
    """Solve for the free ones; those that would fall below 0 are held there. `is_free` is changed."""
    while is_free.any():
        trial = np.zeros_like(value)
        trial[is_free] = np.linalg.lstsq(matrix[:, is_free], wanted, rcond=None)[0]
        falling = is_free & (trial <= 0)
        if not falling.any():
            return trial
        steps = value[falling] / np.maximum(value[falling] - trial[falling], 1e-300)
        value = value + steps.min() * (trial - value)
        is_free &= value > _TOLERANCE * max(float(value.max(initial=0.0)), 1e-300)
        value = np.where(is_free, value, 0.0)
    return np.zeros_like(value)


def solved(matrix: Floats, wanted: Floats, weight: Floats, block: int) -> Solution:
    """Fit with weights, and take errors within `block` observations in a row to hang together.

    The covariance is the sandwich of sums over blocks (White 1980; clusters as Liang and Zeger 1986),
    with the correction for few blocks. Values held at 0 have that of an open fit.
    """
    root = np.sqrt(weight)
    rows, target = matrix * root[:, None], wanted * root
    value = non_negative(rows, target)
    residual = wanted - matrix @ value
    count, columns = matrix.shape
    block = max(min(block, count // _FEWEST_BLOCKS), 1)
    blocks = -(-count // block)
    scores = rows * (residual * root)[:, None]
    summed = np.add.reduceat(scores, np.arange(0, count, block), axis=0)
    bread = np.linalg.pinv(rows.T @ rows)
    freedom = max(blocks - 1, 1)
    factor = blocks / freedom * max(count - 1, 1) / max(count - columns, 1)
    covariance = factor * bread @ (summed.T @ summed) @ bread
    return Solution(value, covariance, residual, freedom)


def student(freedom: int) -> float:
    """The factor by which a standard error becomes 95 %: Student's t, by Cornish and Fisher's series."""
    z = 1.959964
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    n = max(freedom, 2)
    return z + first / n + second / n**2 + third / n**3
