"""Pairs of operations that are one instruction: products and shifts with the sums that use them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.operation import LEFT_SHIFT, Operation
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.definitions import Definitions
from cltrace.kernels.ir.instructions import Binary

_FUSED_INTO: Final[Mapping[str, frozenset[str]]] = {"shl": frozenset({"add"})}
"""Operators that an operation is fused into if nothing else uses its result."""
_FUSED_ON_CPU: Final = {**_FUSED_INTO, "fmul": frozenset({"fadd", "fsub"})}
"""The same on a CPU."""


class FusedPairs:
    """The operations of a kernel that are one instruction with a neighbouring sum or product."""

    def __init__(self, kernel: PreparedKernel, values: Definitions, *, is_cpu: bool) -> None:
        self._values = values
        self._into = _FUSED_ON_CPU if is_cpu else _FUSED_INTO
        self._constants: Final = frozenset(item.slot for item in kernel.function.constants)
        self._products: Final = frozenset(_products(kernel, values))

    def is_part(self, item: Binary) -> bool:
        """Return True for an operation that another one makes."""
        if item.operator == "add":
            return item.left in self._products or item.right in self._products
        users = self._values.users.get(item.result, ())
        operators = self._into.get(item.operator, frozenset())
        is_single = self._values.uses[item.result] == 1 and bool(users)
        return is_single and isinstance(users[-1], Binary) and users[-1].operator in operators

    def shifted(self, operation: Operation, item: Binary) -> Operation:
        """Return the operation of a GPU for a shift to the left, or for a sum.

        A sum with a shifted number is an instruction of the pipe of bits.
        """
        if item.operator == "shl":
            is_literal = item.right in self._constants
            return replace(operation, function=LEFT_SHIFT) if is_literal else operation
        is_scaled = any(map(self._is_shifted_part, (item.left, item.right)))
        return replace(operation, cost=CostClass.INT_LOGIC) if is_scaled else operation

    def _is_shifted_part(self, slot: int) -> bool:
        item = self._values.defined.get(slot)
        return isinstance(item, Binary) and item.operator == "shl" and self.is_part(item)


def _products(kernel: PreparedKernel, values: Definitions) -> Iterator[int]:
    """Yield products of integers with a single use: one instruction multiplies and adds."""
    for number in kernel.graph.order:
        for item in kernel.function.blocks[number].instructions:
            match item:
                case Binary(result, "mul", _, _, _) if values.uses[result] == 1:
                    yield result
                case _:
                    pass
