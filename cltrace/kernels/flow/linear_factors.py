"""How often a value has another one as a summand."""

from collections.abc import Iterable, Mapping
from typing import Final

from cltrace.kernels.flow.dependencies import DataDependencies
from cltrace.kernels.ir.instructions import Binary, Convert, Copy, Instruction, Offset
from cltrace.kernels.ir.uses import result_of

_WIDTHS: Final = frozenset({"sext", "zext", "trunc"})


class LinearFactors:
    """The factors by which values of a kernel depend on others, as far as they are numbers."""

    def __init__(self, dependencies: DataDependencies) -> None:
        self._dependencies = dependencies
        self._constants = dependencies.function.integer_constants()

    def of(self, summands: Iterable[int]) -> Mapping[int, int]:
        """Return how often each value has any of `summands` as a summand, in bytes for addresses.

        Values without them are left out, and so are those that loops change.
        """
        factors = dict.fromkeys(summands, 1)
        for _, item in self._dependencies.instructions:
            if result_of(item) not in factors and (factor := self._factor(item, factors)):
                factors[result_of(item)] = factor
        return factors

    def _factor(self, item: Instruction, factors: Mapping[int, int]) -> int:
        match item:
            case Binary(_, "add", _, left, right):
                return factors.get(left, 0) + factors.get(right, 0)
            case Binary(_, "sub", _, left, right):
                return factors.get(left, 0) - factors.get(right, 0)
            case Binary(_, "mul", _, left, right):
                of_left = factors.get(left, 0) * self._constants.get(right, 0)
                return of_left + factors.get(right, 0) * self._constants.get(left, 0)
            case Binary(_, "shl", _, left, right) if 0 <= self._constants.get(right, -1) < 32:
                return factors.get(left, 0) << self._constants[right]
            case Convert() if item.operator in _WIDTHS:
                return factors.get(item.operand, 0)
            case Copy():
                return factors.get(item.operand, 0)
            case Offset():
                indices = sum(factors.get(index, 0) * stride for index, stride in item.terms)
                return factors.get(item.pointer, 0) + indices
            case _:
                return 0


def uncast(slot: int, definitions: Mapping[int, Instruction]) -> int:
    """Return the slot of a value before copies and changes of its width."""
    item = definitions.get(slot)
    while isinstance(item, Copy) or (isinstance(item, Convert) and item.operator in _WIDTHS):
        slot = item.operand
        item = definitions.get(slot)
    return slot
