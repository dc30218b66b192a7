"""Operations of floats that a GPU driver's compiler makes parts of other operations.

The rules are those that the PTX of NVIDIA's driver and the counters of an H200 show:

- Sums take products (`fused_products`).
- A quotient is a product with a reciprocal (`div.full`), which joins a sum that alone uses it.
- A quotient by a literal is a product. Of quotients by the same number in a block, the first alone takes
  its reciprocal; the others are scaled by the same factors, and multiplied with it.
- A changed sign and an absolute value are properties of an operand.
- Twice a number is a sum of it with itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.operation import (
    INVERTED,
    JOINED,
    LITERAL_POWER,
    RECIPROCAL,
    Operation,
)
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.definitions import Definitions
from cltrace.kernels.fold.fused_products import FusedProducts
from cltrace.kernels.ir.instructions import (
    Binary,
    Call,
    Compare,
    Instruction,
    Negate,
    Terminator,
)
from cltrace.kernels.ir.types import FloatType, element_of

_SUMS: Final = frozenset({"fadd", "fsub"})
_SINGLE: Final = FloatType(32)
_MAX_LITERAL_EXPONENT: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Contraction:
    """Contraction of a kernel's operations.

    `defined` has the instruction that defines each slot, `users` the last one that uses it, `uses` the
    number of its uses. `ones` and `twos` are the slots of the constants 1 and 2, `constants` those of
    all, `small_integers` those of integers up to 3. `later_quotients` are quotients whose divisor an
    earlier one of their block has. `fused` are products that sums take.
    """

    defined: Mapping[int, Instruction]
    users: Mapping[int, Instruction]
    uses: Mapping[int, int]
    ones: frozenset[int]
    twos: frozenset[int]
    constants: frozenset[int]
    small_integers: frozenset[int]
    later_quotients: frozenset[int]
    fused: FusedProducts

    @classmethod
    def of(cls, kernel: PreparedKernel, values: Definitions) -> "Contraction":
        """Return the contraction of a kernel."""
        constants = kernel.function.constants
        twos = frozenset(item.slot for item in constants if item.value == 2.0)
        doubled = frozenset(
            item.result
            for item in values.defined.values()
            if isinstance(item, Binary) and not twos.isdisjoint((item.left, item.right))
        )
        return cls(
            defined=values.defined,
            users={slot: users[-1] for slot, users in values.users.items()},
            uses=values.uses,
            ones=frozenset(item.slot for item in constants if item.value == 1.0),
            twos=twos,
            constants=frozenset(item.slot for item in constants),
            small_integers=frozenset(
                slot
                for slot, value in kernel.function.integer_constants().items()
                if abs(value) <= _MAX_LITERAL_EXPONENT
            ),
            later_quotients=frozenset(_later_quotients(kernel)),
            fused=FusedProducts.of(kernel, values, doubled),
        )

    def is_part(self, item: Instruction) -> bool:
        """Return True for an operation that is a part of another one."""
        match item:
            case Negate(result, _, operand, _):
                return self._takes_signs(self.users.get(result)) or self._is_only_signed(operand)
            case Call(result=result) if _is_absolute(item):
                return self._takes_signs(self.users.get(result))
            case Binary(_, operator, _, left, right) if operator in _SUMS:
                return self._is_joined(left) or self._is_joined(right)
            case Binary(result, "fmul", _, _, _):
                return result in self.fused.products
            case _:
                return False

    def contracted(self, operation: Operation, item: Instruction | Terminator) -> Operation:
        """Return the operation that is left of an instruction's."""
        if self.is_literal_power(item):
            return replace(operation, function=LITERAL_POWER)
        if not isinstance(item, Binary):
            return operation
        if item.result in self.fused.sums:
            return replace(operation, cost=CostClass.FLOAT_MULTIPLY_ADD)
        if self.is_scaling(item):
            return replace(operation, cost=CostClass.FLOAT_MULTIPLY)
        if self.is_doubling(item):
            return replace(operation, cost=CostClass.FLOAT_ADD)
        return replace(operation, function=self._form_of_quotient(item) or operation.function)

    def _form_of_quotient(self, item: Binary) -> str:
        """Return the function of a quotient that takes fewer instructions; "" for another operation."""
        if item.result in self.later_quotients:
            return INVERTED
        if self.joins_sum(item):
            return JOINED
        return RECIPROCAL if self.is_reciprocal(item) else ""

    def joins_sum(self, item: Instruction) -> bool:
        """Return True for a quotient that joins the sum that uses it."""
        if not isinstance(item, Binary) or not self._is_joined(item.result):
            return False
        user = self.users[item.result]
        # Of two quotients, the first one stays a product.
        return not (
            isinstance(user, Binary) and user.left == item.result and self._is_joined(user.right)
        )

    def is_reciprocal(self, item: Instruction) -> bool:
        """Return True for a quotient of 1, which takes no product."""
        return isinstance(item, Binary) and item.operator == "fdiv" and item.left in self.ones

    def is_literal_power(self, item: Instruction | Terminator) -> bool:
        """Return True for a power of a `float` whose exponent is a small integer constant."""
        if not isinstance(item, Call) or base_name(demangle(item.callee)) != "pown":
            return False
        return element_of(item.type) == _SINGLE and item.arguments[1] in self.small_integers

    def is_scaling(self, item: Instruction | Terminator) -> bool:
        """Return True for a quotient by a literal."""
        return isinstance(item, Binary) and _is_quotient(item) and item.right in self.constants

    def is_doubling(self, item: Instruction) -> bool:
        """Return True for a product with 2."""
        match item:
            case Binary(_, "fmul", _, left, right):
                return left in self.twos or right in self.twos
            case _:
                return False

    def _is_joined(self, slot: int) -> bool:
        item, user = self.defined.get(slot), self.users.get(slot)
        return (
            isinstance(item, Binary)
            and _is_quotient(item)
            and not self.is_reciprocal(item)
            and self.uses[slot] == 1
            and isinstance(user, Binary)
            and user.operator in _SUMS
        )

    def _is_only_signed(self, slot: int) -> bool:
        """Return True for the result of an operation of which only the negative is used."""
        return self.uses[slot] == 1 and self._is_arithmetic(self.defined.get(slot))

    def _takes_signs(self, item: Instruction | None) -> bool:
        """Return True for a user of a number that may change its sign or leave it out."""
        return self._is_arithmetic(item) or isinstance(item, Compare)

    def _is_arithmetic(self, item: Instruction | None) -> bool:
        return isinstance(item, Binary | Call)


def _is_absolute(call: Call) -> bool:
    return base_name(demangle(call.callee)) in {"fabs", "llvm.fabs"}


def _is_quotient(item: Binary) -> bool:
    return item.operator == "fdiv" and element_of(item.type) == _SINGLE


def _later_quotients(kernel: PreparedKernel) -> Iterator[int]:
    for block in kernel.function.blocks:
        divisors: set[int] = set()
        for item in block.instructions:
            if isinstance(item, Binary) and _is_quotient(item):
                if item.right in divisors:
                    yield item.result
                divisors.add(item.right)
