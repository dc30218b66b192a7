"""Indices of a loop's reads: whether a GPU's compiler unrolls the loop again, and how far ahead it reads.

A loop that is unrolled by 4 keeps a counter of its own if its addresses advance by additions, and
NVIDIA's assembler unrolls that one by 4 again. An index of 32 bits that is extended in each trip shares
the loop's counter, and four trips are all. Measured on an H200 with one warp per work-group, ns a trip of
a sum over the shared cache: 44 over `int` indices at a distance of `get_global_size(0)`, 22 with all in
`size_t`, and 14 where the distance is an argument. Checked on the driver's PTX and the assembler's code
of 48 such loops.
"""

from collections.abc import Iterator
from typing import Final

from cltrace.kernels.builtins.mangling import demangle
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.definitions import Definitions
from cltrace.kernels.fold.loop_evolution import Evolution, LoopEvolution
from cltrace.kernels.fold.wide_integers import REGISTER_BITS
from cltrace.kernels.ir.instructions import Binary, Call, Convert, Load, Offset
from cltrace.kernels.ir.types import LOCAL, PRIVATE, IntegerType

_REGISTERS: Final = 16
"""Registers that reads arrive in together, where addresses need none of their own."""
_BESIDE_ADDRESSES: Final = 12
"""The same where distances between trips are in registers. Other reads begin after the first arrived."""
_PRODUCTS: Final = frozenset({"mul", "shl"})
_EXTENSIONS: Final = frozenset({"sext", "zext"})


def registers_read_ahead(kernel: PreparedKernel, evolution: LoopEvolution) -> int:
    """Return the registers in which reads of a loop arrive together; 0 if it is not unrolled again."""
    indices = _LoopIndices(kernel, evolution)
    moving = list(indices.moving())
    if not all(indices.is_wide(slot) for slot in moving):
        return 0
    return _REGISTERS if all(map(indices.is_at_known_distance, moving)) else _BESIDE_ADDRESSES


class _LoopIndices:
    """Indices of the reads of a loop, beyond local and private memory."""

    def __init__(self, kernel: PreparedKernel, evolution: LoopEvolution) -> None:
        self._evolution = evolution
        self._function = kernel.function
        self._defined = Definitions.of(kernel).defined
        self._next = dict(evolution.loop.affine)
        self._fixed = {item.slot for item in kernel.function.constants} | {
            *range(len(kernel.function.parameters))
        }

    def moving(self) -> Iterator[int]:
        """Yield the indices that advance from trip to trip, and the distances of pointers that do."""
        for item in self._evolution.instructions():
            if isinstance(item, Load) and item.space not in {PRIVATE, LOCAL}:
                yield from self._indices(item.pointer)

    def is_wide(self, slot: int) -> bool:
        """Return True for an index that a compiler advances in the width of an address."""
        if slot in self._next or not self._is_moving(slot):
            return True
        match self._defined.get(slot):
            case Convert(_, operator, IntegerType(bits), _, operand) if operator in _EXTENSIONS:
                return bits < REGISTER_BITS or self._is_advanced(operand)
            case Binary(_, operator, _, left, right):
                of_size = operator in _PRODUCTS and self._has_wide_counter()
                return not of_size and self.is_wide(left) and self.is_wide(right)
            case _:
                return True

    def is_at_known_distance(self, slot: int) -> bool:
        """Return True if an index advances by constants and arguments alone."""
        match self._defined.get(slot):
            case _ if slot in self._next or slot in self._fixed:
                return True
            case Convert(_, _, _, _, operand):
                return self.is_at_known_distance(operand)
            case Binary(_, operator, _, left, right) if self._is_moving(slot):
                others = [each for each in (left, right) if not self._is_moving(each)]
                moving = [each for each in (left, right) if self._is_moving(each)]
                fixed = operator not in _PRODUCTS or all(map(self._is_fixed, others))
                return fixed and all(map(self.is_at_known_distance, moving))
            case _:
                return False

    def _indices(self, pointer: int) -> Iterator[int]:
        """Yield the moving indices of a pointer, through the additions in front of it."""
        item = self._defined.get(pointer)
        while isinstance(item, Offset):
            yield from (slot for slot, _ in item.terms if self._is_moving(slot))
            pointer = item.pointer
            if pointer in self._next:
                break
            item = self._defined.get(pointer)
        following = self._defined.get(self._next.get(pointer, -1))
        if isinstance(following, Offset):
            yield from (slot for slot, _ in following.terms)

    def _is_moving(self, slot: int) -> bool:
        evolution = self._evolution.of(slot)
        return evolution in {Evolution.CONSTANT_STRIDE, Evolution.INVARIANT_STRIDE}

    def _has_wide_counter(self) -> bool:
        """Return True if a counter of the loop has the width of an address."""
        compared = self._evolution.loop.comparison.left
        kind = self._function.types[compared] if compared < len(self._function.types) else None
        is_counter = compared in {*self._next, *self._next.values()}
        return is_counter and isinstance(kind, IntegerType) and kind.bits > REGISTER_BITS

    def _is_advanced(self, slot: int) -> bool:
        """Return True if a compiler knows that a number of 32 bits does not overflow from trip to trip.

        It knows it of sums and products of signed numbers, but not of a product with a product, which it
        rearranges: of `k * n` with an argument `n`, but neither of `2 * k * n` nor of a product with
        `get_global_size(0)`.
        """
        item = self._defined.get(slot)
        if slot in self._next or not self._is_moving(slot):
            return True
        if not isinstance(item, Binary) or not item.is_signed:
            return isinstance(item, Binary) and item.operator == "or"
        if item.operator in {"add", "sub"}:
            return self._is_advanced(item.left) and self._is_advanced(item.right)
        return item.operator in _PRODUCTS and self._is_advanced_product(item)

    def _is_advanced_product(self, item: Binary) -> bool:
        moving, other = item.left, item.right
        if self._is_moving(other):
            moving, other = other, moving
        inner = self._defined.get(moving)
        is_plain = moving in self._next or (
            isinstance(inner, Binary)
            and inner.operator == "add"
            and self._is_product_inside(inner)
            and self._is_advanced(moving)
        )
        return is_plain and not self._is_moving(other) and not self._is_product(other)

    def _is_product_inside(self, item: Binary) -> bool:
        return any(
            self._is_moving(slot) and self._is_product(slot) for slot in (item.left, item.right)
        )

    def _is_product(self, slot: int) -> bool:
        """Return True for a product, also that of the sizes that `get_global_size` is."""
        match self._defined.get(slot):
            case Binary(_, operator, _, _, _):
                return operator in _PRODUCTS
            case Convert(_, _, _, _, operand):
                return self._is_product(operand)
            case Call() as call:
                return demangle(call.callee).name == "get_global_size"
            case _:
                return False

    def _is_fixed(self, slot: int) -> bool:
        """Return True for a constant or an argument, in any width."""
        item = self._defined.get(slot)
        return slot in self._fixed or (isinstance(item, Convert) and self._is_fixed(item.operand))
