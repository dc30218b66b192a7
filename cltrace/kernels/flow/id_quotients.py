"""Quotients of ids, by which the work-items of a row form teams: `row = get_global_id(0) / 32`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.flow.dependencies import DataDependencies
from cltrace.kernels.flow.linear_factors import uncast
from cltrace.kernels.ir.instructions import Binary, Call, Instruction

_IDS: Final = frozenset({"get_global_id", "get_local_id"})
_SHIFTS: Final = frozenset({"lshr", "ashr"})
_OPERATORS: Final = _SHIFTS | {"udiv", "sdiv"}


@dataclass(frozen=True, slots=True)
class IdQuotient:
    """The quotient of the id in dimension 0 by a number: the slot of the result, and the divisor.

    The divisor is `number`, or the argument of number `argument`, if that is not None.
    """

    result: int
    number: int
    argument: int | None


def find_id_quotients(dependencies: DataDependencies) -> Sequence[IdQuotient]:
    """Return the quotients by which work-items form teams: `row = get_global_id(0) / 32`."""
    function, definitions = dependencies.function, dependencies.definitions
    constants = function.integer_constants()
    parameters = {item.slot: index for index, item in enumerate(function.parameters)}
    found = []
    for _, item in dependencies.instructions:
        if not isinstance(item, Binary) or item.operator not in _OPERATORS:
            continue
        divided, shifted = definitions.get(uncast(item.left, definitions)), 0
        if isinstance(divided, Binary) and divided.operator == "shl" and item.operator in _SHIFTS:
            # A narrower quotient of a wide id is shifted up, then down by more.
            shifted = constants.get(divided.right, 0)
            divided = definitions.get(uncast(divided.left, definitions))
        if not is_id(divided) or constants.get(divided.arguments[0]) != 0:
            continue
        divisor = uncast(item.right, definitions)
        number = constants.get(divisor, 0)
        if item.operator in _SHIFTS:
            number = 1 << (number - shifted) if 0 < number - shifted < 32 else 0
        if number > 1:
            found.append(IdQuotient(item.result, number, None))
        elif divisor in parameters and item.operator not in _SHIFTS:
            found.append(IdQuotient(item.result, 0, parameters[divisor]))
    return found


def is_id(item: Instruction | None) -> TypeGuard[Call]:
    """Return True for a call that returns an id in a dimension."""
    return (
        isinstance(item, Call) and base_name(demangle(item.callee)) in _IDS and bool(item.arguments)
    )
