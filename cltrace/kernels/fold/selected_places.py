"""Small private arrays of a GPU whose places are not known: one of some registers is selected."""

from collections.abc import Iterable, Mapping
from typing import Final

from cltrace.kernels.fold.unrolling import UnrolledLoop
from cltrace.kernels.ir.instructions import Allocate, Instruction, Load, Store
from cltrace.kernels.ir.types import size_bytes

_MAX_READ_BYTES: Final = 32
_MAX_WRITTEN_BYTES: Final = 20
"""Sizes up to which NVIDIA's assembler keeps an array in registers that is read, or written, anywhere.

It selects among eight numbers, or five. An array of six that is written anywhere is in local memory: a
warp took 31 ns of a compute unit of an H200 for a trip of a loop, and 3.7 with one of five.
"""
_WORD_BYTES: Final = 4


def keeps_in_registers(variable: Allocate, accesses: Iterable[Instruction]) -> bool:
    """Return True for a variable whose `accesses` at unknown places select among registers."""
    own = list(accesses)
    if not all(
        isinstance(item, Load | Store) and size_bytes(item.type) == _WORD_BYTES for item in own
    ):
        return False
    is_written = any(isinstance(item, Store) for item in own)
    limit = _MAX_WRITTEN_BYTES if is_written else _MAX_READ_BYTES
    return variable.count * size_bytes(variable.type) <= limit


def counters(unrolled: UnrolledLoop) -> tuple[int, ...]:
    """Return the values that the end of an unrolled loop depends on and its trips step."""
    loop = unrolled.evolution.loop
    compared = {loop.comparison.left, loop.comparison.right}
    return tuple(phi for phi, following in loop.affine if compared & {phi, following})


def _number_of_selections(variable: Allocate) -> int:
    """Return the selections, with tests of the place, of an access to a variable in registers."""
    return variable.count * size_bytes(variable.type) // _WORD_BYTES + 1


def selections(
    variables: Mapping[int, Iterable[int]], kept: Mapping[int, Allocate]
) -> Mapping[int, int]:
    """Return the selections of accesses, by pointer.

    `variables` are those that pointers may point into, `kept` those whose places are selected.
    """
    return {
        pointer: max(_number_of_selections(kept[slot]) for slot in slots)
        for pointer, slots in variables.items()
        if slots and all(slot in kept for slot in slots)
    }
