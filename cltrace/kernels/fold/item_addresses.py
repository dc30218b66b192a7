"""Values by how they differ between the lanes of a CPU's vector: not, by equal distances, or otherwise.

A vectoriser of loops accesses memory by whole vectors where the compiler sees that addresses are at equal
distances. Those of `a[i & mask]` or `a[i / 3]` may be, but it reads each lane apart.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final

from cltrace.kernels.builtins.function_kinds import is_work_item_function
from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.wide_integers import REGISTER_BITS
from cltrace.kernels.ir.instructions import (
    Binary,
    Call,
    Convert,
    Copy,
    Instruction,
    Offset,
)
from cltrace.kernels.ir.uses import operands_of, result_of
from cltrace.kernels.limits import check_cpu_limit

_IDS: Final = frozenset({"get_global_id", "get_local_id"})
_SAME_FORM: Final = frozenset({"sext", "zext", "trunc", "bitcast", "addrspacecast", "ptrtoint"})
_SUMS: Final = frozenset({"add", "sub"})
_PRODUCTS: Final = frozenset({"mul", "shl"})
_LOW_BITS: Final = frozenset({(1 << REGISTER_BITS) - 1, (1 << (REGISTER_BITS - 1)) - 1})
"""Masks by which clang extends numbers of 32 bits that are not negative."""


class LaneForm(IntEnum):
    """Difference of a value between neighbouring work-items of the first dimension."""

    SAME = 0
    LINEAR = 1
    OTHER = 2


def find_lane_forms(kernel: PreparedKernel) -> Mapping[int, LaneForm]:
    """Return the forms of the values of a kernel, by slot; those that are left out are the same."""
    forms = _Forms(kernel.function.integer_constants())
    blocks = [kernel.function.blocks[number] for number in kernel.graph.order]
    changed = True
    while changed:
        check_cpu_limit()
        changed = False
        for block in blocks:
            for phi in block.phis:
                form = forms.joined(value for _, value in phi.incoming)
                changed |= forms.raise_to(phi.result, form)
            for item in block.instructions:
                if result_of(item) >= 0:
                    changed |= forms.raise_to(result_of(item), forms.result(item))
    return forms.known


class _Forms:
    """Forms that are known so far, of a kernel with these integer constants."""

    def __init__(self, constants: Mapping[int, int]) -> None:
        self._constants = constants
        self._shifted: dict[int, Binary] = {}
        """Shifts to the left by a constant, by their result."""
        self.known: Final[dict[int, LaneForm]] = {}

    def of(self, slot: int) -> LaneForm:
        """Return the form of a value; the same until it is found to differ."""
        return self.known.get(slot, LaneForm.SAME)

    def raise_to(self, slot: int, form: LaneForm) -> bool:
        """Note the form of a value; return True if it is another one than before."""
        if form <= self.of(slot):
            return False
        self.known[slot] = form
        return True

    def joined(self, slots: Iterable[int]) -> LaneForm:
        """Return the form of what depends on values in another way than by sums: the same if all are."""
        return LaneForm.OTHER if any(map(self.of, slots)) else LaneForm.SAME

    def result(self, item: Instruction) -> LaneForm:
        """Return the form of the result of an instruction."""
        match item:
            case Call():
                return self._call(item)
            case Binary():
                return self._binary(item)
            case Convert() if item.operator in _SAME_FORM:
                return self.of(item.operand)
            case Copy():
                return self.of(item.operand)
            case Offset():
                return max(map(self.of, (item.pointer, *(index for index, _ in item.terms))))
            case _:
                return self.joined(operands_of(item))

    def _call(self, call: Call) -> LaneForm:
        name = base_name(demangle(call.callee))
        if name in _IDS and self._constants.get(call.arguments[0], 0) == 0:
            return LaneForm.LINEAR
        return LaneForm.SAME if is_work_item_function(name) else self.joined(call.arguments)

    def _binary(self, item: Binary) -> LaneForm:
        left, right = self.of(item.left), self.of(item.right)
        if item.operator == "shl" and item.right in self._constants:
            self._shifted[item.result] = item
        if self._is_extension(item):
            return self.of(self._shifted[item.left].left)
        if item.operator == "and" and self._constants.get(item.right, 0) in _LOW_BITS:
            return left
        if item.operator == "xor" and self._constants.get(item.right) == -1:
            return left  # -1 - left
        if item.operator in _SUMS or self._is_sum_of_bits(item):
            return max(left, right)
        if item.operator in _PRODUCTS and right is LaneForm.SAME:
            return left
        if item.operator == "mul" and left is LaneForm.SAME:
            return right
        return self.joined((item.left, item.right))

    def _is_extension(self, item: Binary) -> bool:
        """Return True for a shift to the right behind one to the left: extended low bits, times a power.

        clang writes the extension of 32 bits so, and joins it with what addresses are multiplied by.
        """
        before = self._shifted.get(item.left)
        if item.operator not in {"ashr", "lshr"} or before is None:
            return False
        bits = self._constants[before.right]
        return bits >= REGISTER_BITS and self._constants.get(item.right, bits + 1) <= bits

    def _is_sum_of_bits(self, item: Binary) -> bool:
        """Return True for `x << n | number` where the number has no more than `n` bits."""
        before = self._shifted.get(item.left)
        if item.operator != "or" or before is None or item.right not in self._constants:
            return False
        return 0 <= self._constants[item.right] < 1 << min(self._constants[before.right], 64)
