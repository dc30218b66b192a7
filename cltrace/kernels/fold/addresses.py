"""Forms in which a GPU's compiler computes addresses of global memory from indices.

Registers have 32 bits and addresses 64. An index of 32 bits is multiplied by the element's size and added
to the base in one wide product. An index of 64 bits is shifted and added in two halves, and so is one
that is cut off or masked, or that counts bytes. An address at a constant distance from another one costs
nothing: accesses have room for a constant. Checked on what NVIDIA's assembler makes of the driver's PTX.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from cltrace.kernels.costs.operation import AddressForm
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.definitions import Definitions
from cltrace.kernels.ir.instructions import Binary, Convert, Instruction, Offset
from cltrace.kernels.ir.types import LOCAL, PRIVATE, IntegerType, PointerType

_NARROW_BITS: Final = 32
_NARROW_SPACES: Final = frozenset({LOCAL, PRIVATE})
_EXTENSIONS: Final = frozenset({"sext", "zext"})
_MASKS: Final = frozenset({"and", "lshr"})

_Key = tuple[int, tuple[tuple[int, int], ...]]
"""A base pointer, and pairs of an index and its stride, both without constants."""


class Addresses:
    """The addresses of a kernel.

    `forms` are by the result of an `Offset`. `free` are the results of additions of constants that are
    part of addresses alone.
    """

    def __init__(self, kernel: PreparedKernel, values: Definitions) -> None:
        self._function = kernel.function
        self._constants = frozenset(item.slot for item in kernel.function.constants)
        self._values = values
        self._defined = values.defined
        self.forms: Mapping[int, AddressForm] = dict(self._find_forms(kernel))
        self.free: frozenset[int] = frozenset(self._find_free_sums())

    def _find_forms(self, kernel: PreparedKernel) -> Iterator[tuple[int, AddressForm]]:
        graph = kernel.graph
        known: dict[int, frozenset[_Key]] = {}
        for number in graph.order:
            sources = graph.predecessors[number]
            single = next(iter(sources)) if len(sources) == 1 else -1
            keys = set(known.get(single, frozenset()))
            for item in self._function.blocks[number].instructions:
                if isinstance(item, Offset) and item.terms and self._is_far(item):
                    key = self._key(item)
                    yield item.result, AddressForm.NEAR if key in keys else self._form(item)
                    keys.add(key)
            known[number] = frozenset(keys)

    def _is_far(self, item: Offset) -> bool:
        kind = self._function.types[item.pointer]
        return isinstance(kind, PointerType) and kind.space not in _NARROW_SPACES

    def _key(self, item: Offset) -> _Key:
        pointer = item.pointer
        terms = list(item.terms)
        while isinstance(base := self._defined.get(pointer), Offset):
            terms.extend(base.terms)
            pointer = base.pointer
        indices = sorted((self._without_constants(slot), stride) for slot, stride in terms)
        return pointer, tuple(indices)

    def _without_constants(self, slot: int) -> int:
        """Return an index without the constants that are added to it.

        The sum of unsigned numbers of 32 bits may wrap around, so its address is not at a constant
        distance.
        """
        wide = self._before_constants(slot, min_bits=_NARROW_BITS + 1)
        match self._defined.get(wide):
            case Convert(_, "sext", _, _, operand):
                return self._before_constants(operand)
            case _:
                return wide

    def _before_constants(self, slot: int, min_bits: int = 0) -> int:
        """Return what constants are added to, in sums of at least `min_bits`."""
        while (summand := self._summand(slot, min_bits)) is not None:
            slot = summand
        return slot

    def _summand(self, slot: int, min_bits: int = 0) -> int | None:
        """Return what a constant is added to; None for another value than such a sum."""
        match self._defined.get(slot):
            case Binary(_, "add" | "sub", IntegerType(bits), left, right) if (
                right in self._constants and bits >= min_bits
            ):
                return left
            case _:
                return None

    def _form(self, item: Offset) -> AddressForm:
        return max((self._form_of_index(*term) for term in item.terms), key=list(AddressForm).index)

    def _form_of_index(self, slot: int, stride: int) -> AddressForm:
        if stride == 1:  # nothing to multiply
            return AddressForm.HALVES
        match self._defined.get(slot):
            case Convert(_, operator, IntegerType(bits), _, operand) if (
                operator in _EXTENSIONS and bits <= _NARROW_BITS
            ):
                return self._form_of_narrow(operand)
            case _:
                return AddressForm.HALVES

    def _form_of_narrow(self, slot: int) -> AddressForm:
        match self._defined.get(slot):
            case Convert(_, "trunc", _, _, _):
                return AddressForm.HALVES
            case Binary(_, name, _, _, right) if name in _MASKS and right in self._constants:
                return AddressForm.HALVES
            case _:
                return AddressForm.PRODUCT

    def _find_free_sums(self) -> Iterator[int]:
        for slot in self._defined:
            if self._summand(slot) is not None and self._is_used_by(slot, self._is_part):
                yield slot

    def _is_used_by(self, slot: int, is_right: Callable[[Instruction, int], bool]) -> bool:
        """Return True if all users of a slot are right."""
        users = self._values.users.get(slot, ())
        return (
            bool(users)
            and not self._values.is_kept(slot)
            and all(is_right(user, slot) for user in users)
        )

    def _is_part(self, user: Instruction, slot: int) -> bool:
        match user:
            case Convert(result, "sext", _, _, _):
                return self._is_used_by(result, self._is_index)
            case _:
                return self._is_index(user, slot)

    def _is_index(self, user: Instruction, slot: int) -> bool:
        return isinstance(user, Offset) and slot != user.pointer and self._is_far(user)
