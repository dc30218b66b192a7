"""How far a prediction is from what was measured: the thesis's two figures (Pöppl 2014, A.4)."""

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]


def quotient(predicted: _Floats, measured: _Floats) -> _Floats:
    """Predicted by measured: 1 is right, 2 is twice as long as it took. Any shape."""
    found: _Floats = np.asarray(predicted, np.float64) / np.asarray(measured, np.float64)
    return found


def distance(predicted: _Floats, measured: _Floats) -> _Floats:
    """The larger of both by the smaller: 1 is right, 2 is twice or half (equation A.1)."""
    value = quotient(predicted, measured)
    found: _Floats = np.maximum(value, 1.0 / value)
    return found
