"""Sizes of work-groups (Pöppl 2014, equation 3.11), with padding where no divisor is large enough."""

from dataclasses import dataclass
from typing import Final

MIN_GROUP: Final = 64
"""Smaller groups leave the lanes of a warp, or whole units, without work."""
_PADDED: Final = 256


@dataclass(frozen=True, slots=True)
class GroupChoice:
    """Size of work-groups, and the global size, a multiple of it.

    Work-items beyond the domain do nothing: the kernel has a guard.
    """

    group_items: int
    global_items: int

    def is_padded(self, elements: int) -> bool:
        """Return whether there are work-items beyond the domain."""
        return self.global_items != elements


def choose_group(elements: int, max_group_items: int) -> GroupChoice:
    """Return the size of work-groups for a number of elements.

    It is the largest divisor that the device allows, up to 1,024. Where that is less than 64, as for
    primes, the domain is padded to groups of 256.
    """
    limit = min(max_group_items, 1024)
    divisor = _largest_divisor(elements, limit)
    if divisor >= min(MIN_GROUP, limit) or elements <= MIN_GROUP:
        return GroupChoice(divisor, elements)
    group = min(_PADDED, limit)
    return GroupChoice(group, -(-elements // group) * group)


def _largest_divisor(number: int, limit: int) -> int:
    return next(size for size in range(min(number, limit), 0, -1) if number % size == 0)
