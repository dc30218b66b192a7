"""What an evaluation case is: a real kernel at a size, and what it is to compute."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltrace.events.workloads import Workload

Arrays: TypeAlias = Sequence[NDArray[np.float32]]
"""The buffers of a launch before it, in order, as floats."""
Reference: TypeAlias = Callable[[Arrays], Mapping[int, NDArray[np.generic]]]
"""From the buffers before to the buffers after, by their place among buffers."""


@dataclass(frozen=True, slots=True)
class Case:
    """A launch of a family. `reference` tells what it computes, within `tolerance` relatively."""

    family: str
    name: str
    work: Workload
    reference: Reference
    tolerance: float = 1e-4


@dataclass(frozen=True, slots=True)
class Scale:
    """How large: about 2**`exponent` work-items, in work-groups of about `group_items`."""

    exponent: int
    group_items: int

    @property
    def items(self) -> int:
        """The work-items of a launch in one dimension."""
        return 1 << self.exponent

    @property
    def side(self) -> int:
        """Those of each dimension of a square launch, of which the work-items are a power of two."""
        return 1 << (self.exponent // 2)

    @property
    def height(self) -> int:
        """The other side of it."""
        return 1 << (self.exponent - self.exponent // 2)

    @property
    def tile(self) -> tuple[int, int]:
        """A work-group in two dimensions, at least as wide as high."""
        exponent = self.group_items.bit_length() - 1
        return 1 << (exponent - exponent // 2), 1 << (exponent // 2)


CasesOf: TypeAlias = Callable[[Scale], Iterable[Case]]
