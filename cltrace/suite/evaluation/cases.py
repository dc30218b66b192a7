"""Evaluation cases: a real kernel at a size, with its reference."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltrace.events.workloads import Workload

Arrays: TypeAlias = Sequence[NDArray[np.float32]]
"""Buffers before a launch, in order, as floats."""
Reference: TypeAlias = Callable[[Arrays], Mapping[int, NDArray[np.generic]]]
"""Function from the buffers before a launch to the changed buffers after it, by their position."""


@dataclass(frozen=True, slots=True)
class Case:
    """A launch of a family. `reference` returns its results, within a relative `tolerance`."""

    family: str
    name: str
    work: Workload
    reference: Reference
    tolerance: float = 1e-4


@dataclass(frozen=True, slots=True)
class Scale:
    """Size of a launch: about 2**`exponent` work-items, in work-groups of about `group_items`."""

    exponent: int
    group_items: int

    @property
    def items(self) -> int:
        """Work-items of a launch in one dimension."""
        return 1 << self.exponent

    @property
    def side(self) -> int:
        """Width of a launch in two dimensions, whose work-items are a power of two."""
        return 1 << (self.exponent // 2)

    @property
    def height(self) -> int:
        """Height of a launch in two dimensions."""
        return 1 << (self.exponent - self.exponent // 2)

    @property
    def tile(self) -> tuple[int, int]:
        """Size of a work-group in two dimensions, at least as wide as high."""
        exponent = self.group_items.bit_length() - 1
        return 1 << (exponent - exponent // 2), 1 << (exponent // 2)


CasesOf: TypeAlias = Callable[[Scale], Iterable[Case]]
