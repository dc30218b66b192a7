"""Robust least squares that ends at a deadline with the best values so far."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltrace.predict.curves import require_scipy
from cltrace.predict.deadline import NEVER, Deadline

_ROBUST: Final = 0.1
_MAX_EVALUATIONS: Final = 60
_Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """End of a search: the deadline, or a step that gains less than `tolerance` of the error."""

    deadline: Deadline = NEVER
    tolerance: float = 1e-8


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Best values, and their standard errors; 0 for a search that ended before they were known."""

    values: _Floats
    errors: _Floats


class _OutOfTimeError(Exception):
    """The deadline of a search is over."""


class _BestValues:
    """The values with the least robust error among all that were tried."""

    def __init__(
        self, residuals: Callable[[_Floats], _Floats], start: _Floats, deadline: Deadline
    ) -> None:
        self._residuals = residuals
        self._deadline = deadline
        self._error = math.inf
        self.values = start

    def __call__(self, values: _Floats) -> _Floats:
        """Return the residuals. Raises: `_OutOfTimeError` after the deadline."""
        if self._deadline.is_over:
            raise _OutOfTimeError
        residuals = self._residuals(values)
        error = float((np.sqrt(1.0 + (residuals / _ROBUST) ** 2) - 1.0).sum())
        if error < self._error:
            self._error, self.values = error, values.copy()
        return residuals


def search_minimum(
    residuals: Callable[[_Floats], _Floats], start: _Floats, limits: SearchLimits
) -> SearchResult:
    """Search the values with the least soft-L1 norm of residuals."""
    require_scipy()
    from scipy.optimize import least_squares  # noqa: PLC0415 - optional, and slow to load

    best = _BestValues(residuals, start, limits.deadline)
    try:
        result = least_squares(
            best,
            start,
            loss="soft_l1",
            f_scale=_ROBUST,
            max_nfev=_MAX_EVALUATIONS,
            ftol=limits.tolerance,
        )
    except _OutOfTimeError:
        return SearchResult(best.values, np.zeros(len(start)))
    return SearchResult(result.x, _errors(result.jac, result.fun))


def _errors(jacobian: _Floats, residuals: _Floats) -> _Floats:
    """Return the standard errors of fitted logarithms, which are relative errors of the costs."""
    spread = float(residuals @ residuals) / max(len(residuals) - jacobian.shape[1], 1)
    covariance = np.linalg.pinv(jacobian.T @ jacobian) * spread
    errors: _Floats = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return errors
