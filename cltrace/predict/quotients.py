"""Error of a prediction: the quotient and the distance of the thesis (Pöppl 2014, A.4)."""

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]


def quotient(predicted: _Floats, measured: _Floats) -> _Floats:
    """Return predicted by measured: 1 is exact, 2 is twice the measured time. Any shape."""
    result: _Floats = np.asarray(predicted, np.float64) / np.asarray(measured, np.float64)
    return result


def distance(predicted: _Floats, measured: _Floats) -> _Floats:
    """Return the larger by the smaller: 1 is exact, 2 is twice or half (equation A.1). Any shape."""
    value = quotient(predicted, measured)
    result: _Floats = np.maximum(value, 1.0 / value)
    return result
