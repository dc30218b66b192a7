"""Reads of tables of constants that a GPU's compiler makes literals: the place of each is known.

Checked on what NVIDIA's assembler makes of the driver's PTX: where a loop is unrolled wholly, the weights
that it reads of a constant array are numbers in the instructions, and so is what it computes of them
alone. With an unknown number of trips the array is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.paths import reached_from
from cltrace.kernels.fold.definitions import Definitions
from cltrace.kernels.fold.known_values import KnownValues
from cltrace.kernels.fold.unrolling import UnrolledLoop
from cltrace.kernels.ir.instructions import Load
from cltrace.kernels.ir.types import CONSTANT
from cltrace.kernels.ir.uses import result_of


@dataclass(frozen=True, slots=True)
class LiteralReads:
    """Numbers of the sites that read literals, and slots of these and of what follows from them alone."""

    sites: frozenset[int] = frozenset()
    values: frozenset[int] = frozenset()


def find_literal_reads(
    kernel: PreparedKernel, values: Definitions, unrolled: Mapping[int, UnrolledLoop]
) -> LiteralReads:
    """Return the reads of constant memory whose places a compiler knows."""
    tables = [
        item
        for item in values.defined.values()
        if isinstance(item, Load) and item.space == CONSTANT
    ]
    if not tables:
        return LiteralReads()
    unknown = KnownValues(kernel).unknown(unrolled)
    read = {item.result: item.pointer for item in tables if item.pointer not in unknown}
    users = {slot: list(map(result_of, items)) for slot, items in values.users.items()}
    pointers = set(read.values())
    return LiteralReads(
        frozenset(
            site.number
            for site in kernel.sites
            if site.space == CONSTANT and site.pointer in pointers
        ),
        frozenset(reached_from(read, users)) - unknown - {-1},
    )
