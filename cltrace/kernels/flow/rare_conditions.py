"""Conditions that rarely hold: values that equal a constant.

Ball and Larus (Branch prediction for free, 1993) find that of branches on the equality with a constant,
16 % go where the values are equal. Zero and minus one are left out: `if (x)` is an equality with zero,
too, and minus one marks empty places, which may be most.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from cltrace.kernels.flow.known_conditions import ConditionParts
from cltrace.kernels.ir.instructions import Branch, Compare, Switch
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.types import IntegerType, Type

RARE_SHARE_INVERSE: Final = 6
"""One in so many values equals the constant that it is compared with."""

_RARELY: Final = {"eq": True, "oeq": True, "ueq": True, "ne": False, "one": False, "une": False}
"""The result that a comparison with a constant rarely has, by its predicate."""


def find_rare_targets(function: Function, blocks: Iterable[int]) -> Mapping[int, int]:
    """Return the number of the rare target by block: 1 for a branch's first, 0 for its second.

    Of `blocks`, those are left out whose terminator has no rare target. A switch has one if all its
    cases lead to it.
    """
    rare_results = dict(_rare_results(function))
    conditions = ConditionParts(function)
    found = {}
    for number in blocks:
        match function.blocks[number].terminator:
            case Branch(condition=condition):
                result = _rare_result(condition, conditions, rare_results)
                if result is not None:
                    found[number] = int(result)
            case Switch(type=kind, cases=cases) if len({target for _, target in cases}) == 1:
                if all(_is_rare(kind, value) for value, _ in cases):
                    found[number] = 1
    return found


def _rare_result(
    condition: int, conditions: ConditionParts, rare_results: Mapping[int, bool]
) -> bool | None:
    """Return the result that a condition rarely has, `None` if it is not known."""
    for result in (True, False):
        alternatives = conditions.of(condition, decides=result)
        requirements = conditions.of(condition, decides=not result)
        if all(rare_results.get(slot) is result for slot in alternatives) or any(
            rare_results.get(slot) is result for slot in requirements
        ):
            return result
    return None


def _rare_results(function: Function) -> Iterator[tuple[int, bool]]:
    """Yield the slots of comparisons with constants that are rare, with their rare result."""
    numbers = {item.slot for item in function.constants if _is_rare(item.type, item.value)}
    for block in function.blocks:
        for item in block.instructions:
            if not isinstance(item, Compare) or numbers.isdisjoint((item.left, item.right)):
                continue
            if item.predicate in _RARELY:
                yield item.result, _RARELY[item.predicate]


def _is_rare(kind: Type, number: object) -> bool:
    if not isinstance(number, int | float) or number == 0:
        return False
    return not (isinstance(kind, IntegerType) and (int(number) + 1) % (1 << kind.bits) == 0)
