"""The exponent with which pipes of a compute unit overlap, from loops with operations of two."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.models.overlap.parts import overlap
from cltrace.predict.models.overlap.pipe_times import pipe_times
from cltrace.predict.models.overlap.probes import MeasuredProbe, longer_loops
from cltrace.profile import Parameter

MIXTURES: Final = "mixtures"
"""Family that isolates the exponent."""
_NAME: Final = "p pipes"
_CANDIDATES: Final = np.geomspace(1.0, 32.0, 201)
_MIN_SERIES: Final = 3


def pipe_overlap(probes: Sequence[MeasuredProbe], costs: Costs) -> Iterator[tuple[str, Parameter]]:
    """Yield the exponent that explains best by how much the longest loop of each series takes longer.

    `costs` are those of operations. Nothing is yielded for a calibration with few such series.
    """
    loops = list(longer_loops(probes, MIXTURES))
    if len(loops) < _MIN_SERIES:
        return
    errors = np.asarray(
        [[_error(short, long, costs, p) for short, long in loops] for p in _CANDIDATES]
    )
    best = int(np.square(errors).sum(axis=1).argmin())
    exponent = float(_CANDIDATES[best])
    spread = float(np.std(errors[best])) / math.sqrt(len(loops))
    yield _NAME, Parameter(exponent, "", exponent * spread, MIXTURES)


def _error(short: MeasuredProbe, long: MeasuredProbe, costs: Costs, exponent: float) -> float:
    """Return the logarithm of predicted by measured, for the time that the longer loop takes more."""
    before = pipe_times(short.demand, costs, exponent)
    after = pipe_times(long.demand, costs, exponent)
    more = overlap((after[pipe] - before[pipe] for pipe in after), exponent)
    return math.log(more / (long.time_ns - short.time_ns))
