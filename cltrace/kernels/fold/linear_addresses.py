"""Addresses as sums of a base, a distance in bytes and multiples of values: what a compiler compares.

LLVM compares addresses so (scalar evolution): two with the same base and the same multiples have a known
distance, also across trips of a loop whose counter advances by a constant.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.loop_evolution import Evolution, LoopEvolution
from cltrace.kernels.ir.instructions import Binary, Convert, Instruction, Offset
from cltrace.kernels.ir.types import IntegerType
from cltrace.kernels.ir.uses import result_of

_MAX_PARTS: Final = 64
"""Offsets of a pointer, and parts of a sum, that are followed."""
_EXTENSIONS: Final = frozenset({"sext", "zext"})


@dataclass(frozen=True, slots=True)
class LinearAddress:
    """An address: the slot of its base, a distance in bytes, and pairs of a slot and its factor in bytes.

    The pairs are in the order of the slots, each slot once, and no factor is 0.
    """

    base: int
    begin_bytes: int
    terms: tuple[tuple[int, int], ...]


class LinearAddresses:
    """The addresses of a kernel's pointers."""

    def __init__(self, kernel: PreparedKernel) -> None:
        self._kernel = kernel
        self._constants = kernel.function.integer_constants()
        self._addresses: dict[int, LinearAddress] = {}

    def of(self, pointer: int) -> LinearAddress:
        """Return the address that a pointer has."""
        address = self._addresses.get(pointer)
        if address is None:
            address = self._addresses[pointer] = self._compute(pointer)
        return address

    def bytes_per_trip(self, pointer: int, loop: LoopEvolution) -> int | None:
        """Return by how many bytes a pointer advances from trip to trip, `None` if that is not known."""
        address = self.of(pointer)
        if loop.of(address.base) > Evolution.INVARIANT:
            return None
        advance = 0
        for slot, factor in address.terms:
            step = loop.step(slot)
            if step is None and loop.of(slot) > Evolution.INVARIANT:
                return None
            advance += factor * (step or 0)
        return advance

    @cached_property
    def _definitions(self) -> Mapping[int, Instruction]:
        return {
            result_of(item): item
            for number in self._kernel.graph.order
            for item in self._kernel.function.blocks[number].instructions
            if isinstance(item, Offset | Binary | Convert)
        }

    def _compute(self, pointer: int) -> LinearAddress:
        begin = 0
        terms: dict[int, int] = {}
        for _ in range(_MAX_PARTS):
            item = self._definitions.get(pointer)
            if not isinstance(item, Offset):
                break
            begin += item.constant_bytes
            for slot, stride in item.terms:
                begin += self._add(terms, slot, stride)
            pointer = item.pointer
        return LinearAddress(pointer, begin, tuple(sorted((s, f) for s, f in terms.items() if f)))

    def _add(self, terms: dict[int, int], slot: int, factor: int) -> int:
        """Add a multiple of a value to `terms`, and return what of it is constant, in bytes."""
        constant = 0
        waiting = [(slot, factor)]
        for _ in range(_MAX_PARTS):
            if not waiting:
                break
            slot, factor = waiting.pop()
            if slot in self._constants:
                constant += self._constants[slot] * factor
            elif (parts := self._parts(slot)) is not None:
                waiting += ((part, factor * scale) for part, scale in parts)
            else:
                terms[slot] = terms.get(slot, 0) + factor
        for slot, factor in waiting:
            terms[slot] = terms.get(slot, 0) + factor
        return constant

    def _parts(self, slot: int) -> tuple[tuple[int, int], ...] | None:
        """Return the values, with factors, that a value is the sum of; `None` if it is no such sum."""
        match self._definitions.get(slot):
            case Binary(_, "add", IntegerType(), left, right):
                return (left, 1), (right, 1)
            case Binary(_, "sub", IntegerType(), left, right):
                return (left, 1), (right, -1)
            case Binary(_, "mul", IntegerType(), left, right) if right in self._constants:
                return ((left, self._constants[right]),)
            case Binary(_, "shl", IntegerType(), left, right) if right in self._constants:
                return ((left, 1 << min(self._constants[right], 63)),)
            case Convert(_, operator, _, _, operand) if operator in _EXTENSIONS:
                return ((operand, 1),)
            case _:
                return None
