"""Rule about work-items whose registers keep other work-groups from the compute unit."""

from collections.abc import Iterator, Sequence
from typing import Final

from cltrace.kernels import KernelCounts, RegisterUse
from cltrace.predict.kernel_advice.kernel_registers import KernelRegisters
from cltrace.predict.kernel_advice.model import Improvement
from cltrace.predict.kernel_advice.spills import find_moves, with_registers, with_spills
from cltrace.timeline.advice.model import Remedy, typical_count

_MIN_WARPS_SHARE: Final = 0.5
"""Share of the resident warps that a device could have, below which registers are scarce."""
_MIN_REGISTERS: Final = 32
"""Registers with which a compute unit is full: fewer let no more work-groups run."""


def register_pressure(counts: KernelCounts, registers: KernelRegisters) -> Sequence[Improvement]:
    """Find launches of which registers leave less than half of the possible warps resident.

    There is an improvement for each number of work-groups that fewer registers let run. It includes the
    spills with which a compiler makes do with them.
    """
    if not registers.per_item or registers.use is None or registers.spilled_bytes(counts):
        return ()
    machine, items = counts.machine, max(counts.work_items // max(counts.groups, 1), 1)
    now = with_registers(counts, registers.per_item).machine.wave_groups(items, counts.local_bytes)
    resident = now // machine.compute_units
    possible = machine.wave_groups(items, counts.local_bytes) // machine.compute_units
    wanted = min(possible, counts.groups // machine.compute_units)
    if wanted * _MIN_WARPS_SHARE <= resident:
        return ()
    return list(_improvements(counts, registers, registers.use, resident, wanted))


def _improvements(
    counts: KernelCounts,
    registers: KernelRegisters,
    use: RegisterUse,
    resident: int,
    wanted: int,
) -> Iterator[Improvement]:
    machine, now = counts.machine, registers.per_item
    items = max(counts.work_items // max(counts.groups, 1), 1)
    before = with_registers(counts, now)
    for groups in range(resident + 1, wanted + 1):
        fewer = machine.max_registers(groups * items)
        if not _MIN_REGISTERS <= fewer < now:
            continue
        spilled = max(now - fewer, 0)
        moves = find_moves(counts, use.loops, spilled, fewer)
        yield Improvement(
            rule="register-pressure",
            title=f"{counts.kernel}: registers let few work-groups run at a time",
            line="",
            metrics=(
                typical_count(registers.source_text("registers of a work-item"), now),
                typical_count("work-groups on a compute unit at a time", resident),
                typical_count(f"with {fewer} registers", groups),
            ),
            remedy=Remedy(
                f"Build with a limit of {fewer} registers, whose spills are taken into account, or keep "
                "fewer values at once: smaller tiles of a work-item, less unrolling.",
                "program.build()",
                f'program.build("-cl-nv-maxrregcount={fewer}")',
            ),
            counts=with_spills(with_registers(counts, fewer), moves),
            before=before,
        )
