"""Probes of transfers and of launches that do nothing, repeated for long."""

from collections.abc import Iterator
from typing import Final

from cltrace.events.workloads import BufferInput, Direction, HostMemory, Transfer, Workload
from cltrace.suite.calibration.probes import ProbeLimits
from cltrace.suite.energy.probes import EnergyProbe, Group

_EMPTY: Final = (
    "__kernel void nothing(__global int *out) { if (get_global_id(0) == 0) out[0] = 1; }"
)
TRANSFER_BYTES: Final = 64 << 20


def transfer_probes(limits: ProbeLimits) -> Iterator[EnergyProbe]:
    """Yield transfers in both directions, with pageable and with pinned host memory."""
    size = min(TRANSFER_BYTES, limits.max_buffer_bytes)
    for memory in (HostMemory.PAGEABLE, HostMemory.PINNED):
        for direction in Direction:
            transfer = Transfer(direction, memory, size)

            def make(_: int, transfer: Transfer = transfer) -> Transfer:
                return transfer

            yield EnergyProbe(f"{memory} {direction}", Group.TRANSFERS, make, is_long=False)


def launch_probes(limits: ProbeLimits) -> Iterator[EnergyProbe]:
    """Yield launches that do nothing, of one work-group and of many."""
    for groups in (1, 1 << 14):

        def make(_: int, groups: int = groups) -> Workload:
            group = limits.usual_group()
            return Workload(_EMPTY, "nothing", (groups * group,), (group,), (BufferInput(4),))

        yield EnergyProbe(f"nothing by {groups}", Group.LAUNCHES, make, is_long=False)
