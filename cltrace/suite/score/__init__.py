"""The benchmarks of the score, by class of work, with checked results."""

from typing import Final

from cltrace.suite.score.arithmetic import MONTE_CARLO_PI, MULTIPLY_ADDS
from cltrace.suite.score.control import COLLATZ, HISTOGRAM, STRING_MATCH
from cltrace.suite.score.cooperation import MATRIX_PRODUCT, SUMS
from cltrace.suite.score.limits import PROBES as PROBES
from cltrace.suite.score.memory import CHASE, GATHER, TRANSPOSITION, TRIAD
from cltrace.suite.score.traffic import SMALL_LAUNCHES, THERE_AND_BACK

SUITE: Final = 2
"""Version of the benchmarks. It changes if the work of any benchmark changes."""
BENCHMARKS: Final = (
    MULTIPLY_ADDS,
    MONTE_CARLO_PI,
    TRIAD,
    TRANSPOSITION,
    CHASE,
    GATHER,
    COLLATZ,
    STRING_MATCH,
    HISTOGRAM,
    MATRIX_PRODUCT,
    SUMS,
    THERE_AND_BACK,
    SMALL_LAUNCHES,
)
"""All benchmarks in the order in which they run."""
