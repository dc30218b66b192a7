"""Probes of the energy calibration: one kind of work at a time, for seconds, on random operands.

Constant operands draw much less power than changing ones (Lucas and Juurlink, ALUPower, 2016): every
lane works on its own numbers, which change with every operation. `operands` measures the difference.
Classes after Piispanen, Timing and energy of accelerated processing (2014), table 6.1.
"""

from collections.abc import Iterator

from cltrace.suite.calibration.probes import ProbeLimits
from cltrace.suite.energy.memory import lane_memory_probes, memory_probes
from cltrace.suite.energy.operations import (
    lane_probes,
    operand_probes,
    operation_probes,
    unit_probes,
)
from cltrace.suite.energy.probes import EnergyProbe, Group
from cltrace.suite.energy.transfers import TRANSFER_BYTES, launch_probes, transfer_probes

__all__ = ["TRANSFER_BYTES", "EnergyProbe", "Group", "energy_probes"]


def energy_probes(limits: ProbeLimits) -> Iterator[EnergyProbe]:
    """Yield all probes for a device, group by group."""
    yield from operation_probes(limits)
    yield from memory_probes(limits)
    yield from unit_probes(limits)
    yield from lane_probes(limits)
    yield from lane_memory_probes(limits)
    yield from operand_probes(limits)
    yield from launch_probes(limits)
    yield from transfer_probes(limits)
