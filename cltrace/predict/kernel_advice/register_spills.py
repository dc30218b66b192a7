"""Rule about registers that are spilled to memory because a work-item has too few of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from cltrace.kernels import KernelCounts, RegisterUse
from cltrace.predict.kernel_advice.kernel_registers import (
    MAX_REGISTERS,
    KernelRegisters,
    RegisterLimit,
)
from cltrace.predict.kernel_advice.model import Improvement
from cltrace.predict.kernel_advice.spills import (
    WORD_BYTES,
    find_moves,
    with_registers,
    with_spills,
)
from cltrace.timeline.advice.model import Metric, Remedy, typical_bytes, typical_count

_MIN_BYTES: Final = 16
_UNKNOWN_TIME: Final = (
    "What it saves cannot be computed: the code is not known for this device, nor how often registers "
    "are moved."
)


def register_spills(counts: KernelCounts, registers: KernelRegisters) -> Sequence[Improvement]:
    """Find kernels whose registers are spilled, and compute the launch without that.

    Where the code is not known, there are no counts of it.
    """
    spilled_bytes = registers.spilled_bytes(counts)
    if spilled_bytes < _MIN_BYTES:
        return ()
    found = Improvement(
        rule="register-spills",
        title=f"{counts.kernel}: registers are spilled to memory",
        line="",
        metrics=tuple(_metrics(registers, spilled_bytes)),
        remedy=_remedy(counts, registers),
        counts=None,
    )
    if registers.use is None:
        text = f"{found.remedy.text} {_UNKNOWN_TIME}"
        return (replace(found, remedy=found.remedy._replace(text=text)),)
    return (_computed(found, counts, registers, registers.use, spilled_bytes),)


def _computed(
    improvement: Improvement,
    counts: KernelCounts,
    registers: KernelRegisters,
    use: RegisterUse,
    spilled_bytes: int,
) -> Improvement:
    """Return an improvement with the counts of the launch with its spills, and without them."""
    now = registers.per_item
    moves = find_moves(counts, use.loops, spilled_bytes // WORD_BYTES, now)
    busiest = max(moves, key=lambda move: move.registers * move.times)
    in_loop = typical_count("times in a loop", round(busiest.times, 1))
    return replace(
        improvement,
        line=busiest.line,
        metrics=(*improvement.metrics, *([in_loop] if busiest.line else [])),
        counts=with_registers(counts, max(now, min(use.needed, MAX_REGISTERS))),
        before=with_spills(with_registers(counts, now), moves),
    )


def _metrics(registers: KernelRegisters, spilled_bytes: int) -> Iterator[Metric]:
    yield typical_bytes("spilled by a work-item", spilled_bytes)
    if registers.per_item:
        yield typical_count(registers.source_text("registers of a work-item"), registers.per_item)
    if registers.needed > registers.per_item:
        yield typical_count("needed by values at once", registers.needed)


def _remedy(counts: KernelCounts, registers: KernelRegisters) -> Remedy:
    limit = registers.max_registers
    match registers.limit:
        case RegisterLimit.OPTION:
            return Remedy(
                f"Leave out the build option that limits a work-item to {limit} registers.",
                f'program.build("-cl-nv-maxrregcount={limit}")',
                "program.build()",
            )
        case RegisterLimit.GROUP:
            size = ", ".join(map(str, counts.local_size))
            return Remedy(
                f"Require smaller work-groups: with these, a work-item has {limit} registers at most.",
                f"__attribute__((reqd_work_group_size({size})))",
                "__attribute__((reqd_work_group_size(128, 1, 1)))",
            )
        case RegisterLimit.DEVICE:
            return Remedy(
                "Keep fewer values at once: smaller tiles of a work-item, less unrolling, and values "
                "calculated where they are used.",
                "float sums[16][16];",
                "float sums[8][8];",
            )
