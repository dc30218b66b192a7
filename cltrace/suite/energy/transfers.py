"""Transfers and launches that go on for long: what moving and starting draw."""

from collections.abc import Iterator
from typing import Final

from cltrace.events.workloads import BufferInput, Direction, HostMemory, Transfer, Workload
from cltrace.suite.calibration.probes import Room
from cltrace.suite.energy.probes import EnergyProbe, Group

_NOTHING: Final = (
    "__kernel void nothing(__global int *out) { if (get_global_id(0) == 0) out[0] = 1; }"
)
TRANSFER_BYTES: Final = 64 << 20


def transfer_probes(room: Room) -> Iterator[EnergyProbe]:
    """Both ways, from memory as programs have it and from pinned memory."""
    size = min(TRANSFER_BYTES, room.most_buffer_bytes)
    for memory in (HostMemory.PAGEABLE, HostMemory.PINNED):
        for direction in Direction:
            transfer = Transfer(direction, memory, size)

            def make(_: int, transfer: Transfer = transfer) -> Transfer:
                return transfer

            yield EnergyProbe(f"{memory} {direction}", Group.TRANSFERS, make, is_long=False)


def launch_probes(room: Room) -> Iterator[EnergyProbe]:
    """Launches that do nothing, of one work-group and of many."""
    for groups in (1, 1 << 14):

        def make(_: int, groups: int = groups) -> Workload:
            group = room.usual_group()
            return Workload(_NOTHING, "nothing", (groups * group,), (group,), (BufferInput(4),))

        yield EnergyProbe(f"nothing by {groups}", Group.LAUNCHES, make, is_long=False)
