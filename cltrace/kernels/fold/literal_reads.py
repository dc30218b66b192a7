"""Reads of tables of constants that a GPU's compiler makes literals: the place of each is known.

Checked on what NVIDIA's assembler makes of the driver's PTX: where a loop is unrolled wholly, the weights
that it reads of a constant array are numbers in the instructions, and so is what it computes of them
alone. With an unknown number of trips the array is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.paths import reached_from
from cltrace.kernels.fold.known_values import KnownValues
from cltrace.kernels.fold.periodic_values import find_periodic_values
from cltrace.kernels.fold.unrolling import UnrolledLoop
from cltrace.kernels.ir.instructions import Load
from cltrace.kernels.ir.types import CONSTANT
from cltrace.kernels.ir.uses import operands_of, result_of


@dataclass(frozen=True, slots=True)
class LiteralReads:
    """Numbers of the sites that read literals, and slots of these and of what follows from them alone."""

    sites: frozenset[int] = frozenset()
    values: frozenset[int] = frozenset()


def find_literal_reads(
    kernel: PreparedKernel, unrolled: Mapping[int, UnrolledLoop]
) -> LiteralReads:
    """Return the reads of constant memory whose places a compiler knows."""
    items = [
        item
        for number in kernel.graph.order
        for item in kernel.function.blocks[number].instructions
    ]
    tables = [item for item in items if isinstance(item, Load) and item.space == CONSTANT]
    if not tables:
        return LiteralReads()
    whole = {kernel.graph.loops[number].header for number in unrolled if unrolled[number].is_whole}
    unknown = KnownValues(kernel).unknown(whole, find_periodic_values(kernel, unrolled))
    read = {item.result: item.pointer for item in tables if item.pointer not in unknown}
    users: dict[int, list[int]] = {}
    for item in items:
        for operand in operands_of(item):
            users.setdefault(operand, []).append(result_of(item))
    pointers = set(read.values())
    return LiteralReads(
        frozenset(
            site.number
            for site in kernel.sites
            if site.space == CONSTANT and site.pointer in pointers
        ),
        frozenset(reached_from(read, users)) - unknown - {-1},
    )
