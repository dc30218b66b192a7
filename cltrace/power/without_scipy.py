"""Non-negative least squares and Student's t with numpy alone.

`cltrace summary` and other verbs attribute energy in an installation without extras, but scipy comes with
the extra `predict`. These two functions replace `scipy.optimize.nnls` and `scipy.stats.t.ppf` there. The
tests compare both with scipy. The fit of an energy model needs the extra anyway, and uses scipy.
"""

from typing import Final

import numpy as np

from cltrace.power.mean_power import Floats
from cltrace.timeline.columns import Bools

_TOLERANCE: Final = 1e-9
_MAX_ROUNDS: Final = 500


def nnls(matrix: Floats, target: Floats) -> Floats:
    """Return the non-negative coefficients that minimise the norm of `matrix @ coefficients - target`.

    Shapes (n, m) and (n,), result (m,). The active-set method of Lawson and Hanson, Solving Least
    Squares Problems (1974), chapter 23.
    """
    columns = matrix.shape[1]
    scale = np.sqrt((matrix**2).sum(axis=0))
    scale[scale == 0] = 1.0
    scaled = matrix / scale
    coefficients, is_free = np.zeros(columns), np.zeros(columns, np.bool_)
    tolerance = _TOLERANCE * max(float(np.abs(scaled.T @ target).max(initial=0.0)), 1e-300)
    for _ in range(_MAX_ROUNDS):
        gradient = scaled.T @ (target - scaled @ coefficients)
        gradient[is_free] = -np.inf
        if is_free.all() or gradient.max(initial=-np.inf) <= tolerance:
            break
        is_free[int(gradient.argmax())] = True
        coefficients = _solve_free(scaled, target, coefficients, is_free)
    result: Floats = coefficients / scale
    return result


def _solve_free(matrix: Floats, target: Floats, coefficients: Floats, is_free: Bools) -> Floats:
    """Solve for the free coefficients. Coefficients that would become negative stay 0.

    Such coefficients are removed from `is_free`, in place.
    """
    while is_free.any():
        trial = np.zeros_like(coefficients)
        trial[is_free] = np.linalg.lstsq(matrix[:, is_free], target, rcond=None)[0]
        falling = is_free & (trial <= 0)
        if not falling.any():
            return trial
        steps = coefficients[falling] / np.maximum(coefficients[falling] - trial[falling], 1e-300)
        coefficients = coefficients + steps.min() * (trial - coefficients)
        is_free &= coefficients > _TOLERANCE * max(float(coefficients.max(initial=0.0)), 1e-300)
        coefficients = np.where(is_free, coefficients, 0.0)
    return np.zeros_like(coefficients)


def student_t_95(degrees_of_freedom: int) -> float:
    """Return the half-width of a 95 % confidence interval in standard errors.

    The 97.5 % quantile of Student's t distribution, by the series of Cornish and Fisher. Fewer degrees of
    freedom than 2 count as 2.
    """
    z = 1.959964
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    n = max(degrees_of_freedom, 2)
    return z + first / n + second / n**2 + third / n**3
