"""Selections between numbers that a GPU's compiler makes by executing operations under a predicate.

Checked on what NVIDIA's assembler makes of the driver's PTX: where each of the two numbers is computed
for the selection alone, both operations write its register, each under its own predicate, and there is
no instruction that selects. The same holds where one is computed so and the other one ends with the
selection: `x < p ? x + r : x` is a comparison and a sum. A constant, or a number that is used afterwards,
is selected.
"""

from collections.abc import Iterator
from typing import Final

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.definitions import Definitions
from cltrace.kernels.fold.wide_integers import REGISTER_BITS
from cltrace.kernels.ir.instructions import (
    Binary,
    Call,
    Convert,
    Negate,
    Select,
)
from cltrace.kernels.ir.module import Block
from cltrace.kernels.ir.types import FloatType, IntegerType, Type
from cltrace.kernels.ir.uses import result_of

_OPERATIONS: Final = (Binary, Call, Convert, Negate)


def find_predicated_selects(kernel: PreparedKernel, values: Definitions) -> frozenset[int]:
    """Return the slots of selections that take no instruction."""
    return frozenset(
        slot
        for number in kernel.graph.order
        for slot in _predicated(kernel.function.blocks[number], values)
    )


def _predicated(block: Block, values: Definitions) -> Iterator[int]:
    places = {id(item): position for position, item in enumerate(block.instructions)}
    computed = {result_of(item) for item in block.instructions if isinstance(item, _OPERATIONS)}
    own = {*map(result_of, block.instructions), *(phi.result for phi in block.phis)}

    def is_for_one(slot: int) -> bool:
        return slot in computed and values.uses[slot] == 1

    def ends_at(slot: int, position: int) -> bool:
        users = values.users.get(slot, ())
        return (
            slot in own
            and not values.is_kept(slot)
            and all(places.get(id(user), position + 1) <= position for user in users)
        )

    for position, item in enumerate(block.instructions):
        if isinstance(item, Select) and _fits_register(item.type):
            left, right = is_for_one(item.left), is_for_one(item.right)
            if (
                (left and right)
                or (left and ends_at(item.right, position))
                or (right and ends_at(item.left, position))
            ):
                yield item.result


def _fits_register(kind: Type) -> bool:
    bits = kind.bits if isinstance(kind, IntegerType | FloatType) else 0
    return 1 < bits <= REGISTER_BITS
