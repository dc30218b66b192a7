"""Indices of a loop's reads: whether a GPU's compiler unrolls the loop again, and how far ahead it reads.

A loop that is unrolled by 4 keeps a counter of its own if its addresses advance by additions, and
NVIDIA's assembler unrolls that one by 4 again. An index of 32 bits that is extended in each trip shares
the loop's counter, and four trips are all. Measured on an H200 with one warp per work-group, ns a trip of
a sum over the shared cache: 44 over `int` indices at a distance of `get_global_size(0)`, and with a
counter of 64 bits, 22 with an `int` counter and an index of `size_t`, and 14 where the distance is an
argument. Checked on the driver's PTX and the assembler's code of 48 such loops.
"""

from collections.abc import Iterator
from typing import Final

from cltrace.kernels.builtins.mangling import demangle
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.definitions import Definitions
from cltrace.kernels.fold.loop_evolution import Evolution, LoopEvolution
from cltrace.kernels.fold.wide_integers import REGISTER_BITS
from cltrace.kernels.ir.instructions import Binary, Call, Convert, Instruction, Load, Offset
from cltrace.kernels.ir.types import LOCAL, PRIVATE, IntegerType
from cltrace.kernels.ir.uses import result_of

_REGISTERS: Final = 16
"""Registers that reads arrive in together, where addresses need none of their own."""
_BESIDE_ADDRESSES: Final = 12
"""The same where distances between trips are in registers, or what a loop around needs."""
_PRODUCTS: Final = frozenset({"mul", "shl"})
_EXTENSIONS: Final = frozenset({"sext", "zext"})


def registers_read_ahead(
    kernel: PreparedKernel, evolution: LoopEvolution, *, is_alone: bool
) -> int:
    """Return the registers in which reads of a loop arrive together; 0 if it is not unrolled again.

    Other reads begin once the first have arrived. `is_alone` for a loop without another around it and
    without barriers: of 16 reads in loops within others, NVIDIA's assembler leaves one or more behind.
    """
    indices = _LoopIndices(kernel, evolution)
    moving = dict.fromkeys(indices.moving())
    if not all(map(indices.is_wide, moving)):
        return 0
    is_known = all(map(indices.is_at_known_distance, moving))
    return _REGISTERS if is_known and is_alone else _BESIDE_ADDRESSES


class _LoopIndices:
    """Indices of the reads of a loop, beyond local and private memory.

    What is known of a value follows from its operands, which stand in front of it.
    """

    def __init__(self, kernel: PreparedKernel, evolution: LoopEvolution) -> None:
        self._evolution = evolution
        self._defined = Definitions.of(kernel).defined
        self._next = dict(evolution.loop.affine)
        constants = (item.slot for item in kernel.function.constants)
        self._fixed = {*constants, *range(len(kernel.function.parameters))}
        self._has_wide_counter = _has_wide_counter(kernel, evolution)
        self._wide: dict[int, bool] = {}
        self._known: dict[int, bool] = {}
        self._advanced: dict[int, bool] = {}
        for item in evolution.instructions():
            if (slot := result_of(item)) >= 0 and self._is_moving(slot):
                self._advanced[slot] = isinstance(item, Binary) and self._is_advanced(item)
                self._wide[slot] = self._advances_widely(item)
                self._known[slot] = self._has_known_distance(item)

    def moving(self) -> Iterator[int]:
        """Yield the indices that advance from trip to trip, and the distances of pointers that do."""
        for item in self._evolution.instructions():
            if isinstance(item, Load) and item.space not in {PRIVATE, LOCAL}:
                yield from self._indices(item.pointer)

    def is_wide(self, slot: int) -> bool:
        """Return True for an index that a compiler advances in the width of an address."""
        return self._wide.get(slot, True)

    def is_at_known_distance(self, slot: int) -> bool:
        """Return True if an index advances by constants and arguments alone."""
        if slot in self._next:
            following = self._defined.get(self._next[slot])
            steps = (
                {following.left, following.right} - {slot} if isinstance(following, Binary) else ()
            )
            is_constant = self._evolution.of(slot) is Evolution.CONSTANT_STRIDE
            return is_constant or all(map(self._is_fixed, steps))
        return self._known.get(slot, False) if self._is_moving(slot) else self._is_fixed(slot)

    def _indices(self, pointer: int) -> Iterator[int]:
        """Yield the moving indices of a pointer, and by how much a pointer advances itself."""
        while pointer not in self._next and isinstance(item := self._defined.get(pointer), Offset):
            yield from (slot for slot, _ in item.terms if self._is_moving(slot))
            pointer = item.pointer
        following = self._defined.get(self._next.get(pointer, -1))
        while isinstance(following, Offset):
            yield from (slot for slot, _ in following.terms)
            following = (
                None if following.pointer == pointer else self._defined.get(following.pointer)
            )

    def _is_moving(self, slot: int) -> bool:
        evolution = self._evolution.of(slot)
        return evolution in {Evolution.CONSTANT_STRIDE, Evolution.INVARIANT_STRIDE}

    def _advances_widely(self, item: Instruction) -> bool:
        match item:
            case Convert(_, operator, IntegerType(bits), _, operand) if operator in _EXTENSIONS:
                return bits < REGISTER_BITS or self._stays_known(operand)
            case Binary(_, operator, _, left, right):
                is_of_counter = operator in _PRODUCTS and self._has_wide_counter
                return not is_of_counter and self.is_wide(left) and self.is_wide(right)
            case _:
                return True

    def _has_known_distance(self, item: Instruction) -> bool:
        match item:
            case Convert(_, _, _, _, operand):
                return self.is_at_known_distance(operand)
            case Binary(_, operator, _, left, right):
                moving = [each for each in (left, right) if self._is_moving(each)]
                others = {left, right}.difference(moving)
                is_fixed = operator not in _PRODUCTS or all(map(self._is_fixed, others))
                return is_fixed and all(map(self.is_at_known_distance, moving))
            case _:
                return False

    def _stays_known(self, slot: int) -> bool:
        """Return True if a number of 32 bits is known not to overflow from trip to trip."""
        return slot in self._next or self._advanced.get(slot, not self._is_moving(slot))

    def _is_advanced(self, item: Binary) -> bool:
        """Return True if a compiler knows that a sum or a product does not overflow from trip to trip.

        It knows it of signed numbers, but not of a product with a product, which it rearranges: of
        `k * n` with an argument `n`, but not of `2 * k * n`, nor of a product with `get_global_size(0)`.
        """
        if not item.is_signed:
            return False
        if item.operator in {"add", "sub"}:
            return self._stays_known(item.left) and self._stays_known(item.right)
        return item.operator in _PRODUCTS and self._is_advanced_product(item)

    def _is_advanced_product(self, item: Binary) -> bool:
        moving, other = item.left, item.right
        if self._is_moving(other):
            moving, other = other, moving
        inner = self._defined.get(moving)
        is_plain = moving in self._next or (
            isinstance(inner, Binary)
            and inner.operator == "add"
            and self._has_product(inner)
            and self._stays_known(moving)
        )
        return is_plain and not self._is_moving(other) and not self._is_product(other)

    def _has_product(self, item: Binary) -> bool:
        return any(
            self._is_moving(slot) and self._is_product(slot) for slot in (item.left, item.right)
        )

    def _is_product(self, slot: int) -> bool:
        """Return True for a product, also that of the sizes that `get_global_size` is."""
        match self._without_conversions(slot):
            case Binary(_, operator, _, _, _):
                return operator in _PRODUCTS
            case Call() as call:
                return demangle(call.callee).name == "get_global_size"
            case _:
                return False

    def _is_fixed(self, slot: int) -> bool:
        """Return True for a constant or an argument, in any width."""
        while isinstance(item := self._defined.get(slot), Convert):
            slot = item.operand
        return slot in self._fixed

    def _without_conversions(self, slot: int) -> Instruction | None:
        while isinstance(item := self._defined.get(slot), Convert):
            slot = item.operand
        return item


def _has_wide_counter(kernel: PreparedKernel, evolution: LoopEvolution) -> bool:
    """Return True if a counter of the loop has the width of an address: it is compared in it."""
    counters = {slot for pair in evolution.loop.affine for slot in pair}
    comparison, types = evolution.loop.comparison, kernel.function.types
    kinds = (types[slot] for slot in (comparison.left, comparison.right) if slot in counters)
    return any(isinstance(kind, IntegerType) and kind.bits > REGISTER_BITS for kind in kinds)
