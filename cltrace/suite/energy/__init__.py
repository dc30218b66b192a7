"""What the energy calibration runs: one kind of work at a time, for seconds, with operands at random.

Constant operands draw much less power than ones that change (Lucas and Juurlink, ALUPower, 2016): every
lane works on numbers of its own that change with every operation. `operands` measures how much that is.
Classes after Piispanen, Timing and energy of accelerated processing (2014), table 6.1.
"""

from collections.abc import Iterator

from cltrace.suite.calibration.probes import Room
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


def energy_probes(room: Room) -> Iterator[EnergyProbe]:
    """All probes for a device, group by group."""
    yield from operation_probes(room)
    yield from memory_probes(room)
    yield from unit_probes(room)
    yield from lane_probes(room)
    yield from lane_memory_probes(room)
    yield from operand_probes(room)
    yield from launch_probes(room)
    yield from transfer_probes(room)
