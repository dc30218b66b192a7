"""Weighted least squares with non-negative coefficients, and standard errors for correlated errors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.power.mean_power import Floats
from cltrace.power.without_scipy import nnls

Solver = Callable[[Floats, Floats], Floats]
"""Non-negative least squares: from a matrix (n, m) and a target (n,) to coefficients (m,)."""

_MIN_BLOCKS: Final = 8


@dataclass(frozen=True, slots=True)
class Solution:
    """Coefficients (m,) with their covariance (m, m), and the residuals (n,) of the fit.

    `degrees_of_freedom` is the number of uncorrelated blocks of errors behind the covariance, less 1.
    """

    coefficients: Floats
    covariance: Floats
    residual: Floats
    degrees_of_freedom: int

    @property
    def standard_error(self) -> Floats:
        """Standard errors of the coefficients. Shape (m,)."""
        error: Floats = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return error


def solve(
    matrix: Floats,
    target: Floats,
    weight: Floats,
    block: int,
    solver: Solver = nnls,
) -> Solution:
    """Fit with weights. The errors of `block` adjacent observations are taken as correlated.

    The covariance is the sandwich estimator of sums over blocks (White 1980; clusters as Liang and Zeger
    1986), with the correction for few blocks. A coefficient that is held at 0 has the covariance of an
    unconstrained fit.
    """
    root = np.sqrt(weight)
    rows = matrix * root[:, None]
    coefficients = solver(rows, target * root)
    residual = target - matrix @ coefficients
    count, columns = matrix.shape
    block = max(min(block, count // _MIN_BLOCKS), 1)
    blocks = -(-count // block)
    scores = rows * (residual * root)[:, None]
    block_scores = np.add.reduceat(scores, np.arange(0, count, block), axis=0)
    bread = np.linalg.pinv(rows.T @ rows)
    degrees_of_freedom = max(blocks - 1, 1)
    factor = blocks / degrees_of_freedom * max(count - 1, 1) / max(count - columns, 1)
    covariance = factor * bread @ (block_scores.T @ block_scores) @ bread
    return Solution(coefficients, covariance, residual, degrees_of_freedom)
