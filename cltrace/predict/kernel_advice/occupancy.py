"""Rule about work-groups whose local memory keeps others from the compute unit."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cltrace.kernels import KernelCounts
from cltrace.predict.kernel_advice.kernel_registers import KernelRegisters
from cltrace.predict.kernel_advice.model import Improvement
from cltrace.predict.kernel_advice.spills import with_registers
from cltrace.timeline.advice.model import Remedy, typical_bytes, typical_count

_MIN_WARPS_SHARE: Final = 0.5
"""Share of the resident warps that a device could have, below which local memory is scarce."""


def low_occupancy(counts: KernelCounts, registers: KernelRegisters) -> Sequence[Improvement]:
    """Find launches of which local memory leaves less than half of the possible warps resident.

    No more are possible than registers let run.
    """
    before = with_registers(counts, registers.per_item)
    machine = before.machine
    items = max(counts.work_items // max(counts.groups, 1), 1)
    now = machine.wave_groups(items, counts.local_bytes) // machine.compute_units
    possible = machine.wave_groups(items, 0) // machine.compute_units
    waiting = counts.groups // machine.compute_units
    if min(possible, waiting) * _MIN_WARPS_SHARE <= now:
        return ()
    wanted_bytes = machine.local_bytes // (2 * now)
    improvement = Improvement(
        rule="low-occupancy",
        title=f"{counts.kernel}: local memory lets few work-groups run at a time",
        line="",
        metrics=(
            typical_bytes("local memory per work-group", counts.local_bytes),
            typical_count("work-groups on a compute unit at a time", now),
            typical_count("would be possible", possible),
        ),
        remedy=Remedy(
            f"Use less local memory per work-group ({wanted_bytes} B let twice as many run): smaller "
            "tiles, narrower elements, or larger work-groups that share one tile.",
        ),
        counts=replace(before, local_bytes=wanted_bytes),
        before=before,
    )
    return (improvement,)
