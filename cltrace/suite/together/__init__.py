"""Launches that run beside others: kernels of six kinds, and the sets in which they are combined.

After Büsser, Memory access collisions (2018), chapter 5, extended by kinds, by memory of their own, and
by whole devices. Kernels of calibration and of evaluation are different ones.
"""

from cltrace.suite.together.kernels import CALIBRATION, EVALUATION, Kind, Room
from cltrace.suite.together.sets import BesideCase, SharedDevice, beside_cases

__all__ = [
    "CALIBRATION", "EVALUATION", "BesideCase", "Kind", "Room", "SharedDevice", "beside_cases",
]  # fmt: skip
