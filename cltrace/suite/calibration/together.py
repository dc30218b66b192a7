"""Probes of launches beside others, to which the costs of neighbours are fitted."""

from collections.abc import Iterator
from typing import Final

from cltrace.suite.calibration.probes import Effort, Probe, ProbeLimits
from cltrace.suite.together import CALIBRATION, BesideCase, SharedDevice, beside_cases

FITTED: Final = 3
"""Launches at once to which costs are fitted (Büsser 2018, 5.2.1)."""
_OTHER_COUNTS: Final = (2, 4, 8)
"""Launches at once that show how costs grow: of one kind each."""


def together(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield launches alone and beside up to seven others."""
    for case in cases(limits):
        yield Probe(case.name, case.threads, case.work)


def cases(limits: ProbeLimits) -> Iterator[BesideCase]:
    """Yield the cases of the probes, in their order."""
    counts = (FITTED,) if limits.effort is Effort.QUICK else (FITTED, *_OTHER_COUNTS)
    for case in beside_cases(shared_device(limits), CALIBRATION, counts):
        if case.threads == FITTED or {case.kind, *case.others} == {case.kind}:
            yield case


def shared_device(limits: ProbeLimits) -> SharedDevice:
    """Return the device of some limits, as launches share it."""
    return SharedDevice(
        limits.compute_units,
        limits.cache_bytes,
        limits.max_buffer_bytes,
        limits.max_group_items,
        limits.is_cpu,
    )
