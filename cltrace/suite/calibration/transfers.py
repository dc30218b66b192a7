"""Probes of transfers: both directions, by size, for each kind of host memory."""

from collections.abc import Iterator

from cltrace.events.workloads import Direction, HostMemory, Transfer
from cltrace.suite.calibration.probes import Effort, Probe, ProbeLimits, powers


def transfers(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield transfers from 4 B to 256 MiB."""
    step = 4 if limits.effort is Effort.QUICK else 2
    for memory in HostMemory:
        for direction in Direction:
            for size in powers(2, 26 if limits.effort is Effort.QUICK else 28, step):
                transfer = Transfer(direction, memory, size)
                yield Probe(f"{memory} {direction}", size, transfer)
