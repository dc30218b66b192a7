"""Domains of iterations: boxes, and the diagonal and triangles of a square (Pöppl 2014, 7.3)."""

import math
import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import IterationError

MAX_RANK: Final = 6
MAX_ELEMENTS: Final = 1 << 40
_SIZE: Final = re.compile(r"(?:(trace|utriag|ltriag):)?(\d{1,13}(?:,\d{1,13})*)")


class ProjectionKind(StrEnum):
    """Part of a square."""

    TRACE = "trace"
    """The diagonal, equation 7.3."""
    UPPER = "utriag"
    """The elements right of the diagonal, equation 7.4."""
    LOWER = "ltriag"
    """The elements left of the diagonal, equation 7.5."""


@dataclass(frozen=True, slots=True)
class Box:
    """All positions within `extents`, in row-major order."""

    extents: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Number of positions."""
        return math.prod(self.extents)

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return self.extents

    def positions(self, first: int, last: int) -> tuple[NDArray[np.int64], ...]:
        """Return an array per index, for the positions from `first` to before `last`."""
        return np.unravel_index(np.arange(first, last), self.extents)

    def __str__(self) -> str:
        return " × ".join(f"{extent:,}" for extent in self.extents)


@dataclass(frozen=True, slots=True)
class Projection:
    """A part of the positions of an `extent` × `extent` square, in row-major order.

    Its result has a dimension: the elements one after another. Iterating over it yields the pairs of
    indices, so that a nested iteration runs in plain Python, too.
    """

    kind: ProjectionKind
    extent: int

    @property
    def extents(self) -> tuple[int, ...]:
        """Numbers of values of the two indices."""
        return (self.extent, self.extent)

    @property
    def elements(self) -> int:
        """Number of positions."""
        if self.kind is ProjectionKind.TRACE:
            return self.extent
        return self.extent * (self.extent - 1) // 2

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return (self.elements,)

    def positions(self, first: int, last: int) -> tuple[NDArray[np.int64], ...]:
        """Return an array per index, for the positions from `first` to before `last`."""
        ids = np.arange(first, last)
        if self.kind is ProjectionKind.TRACE:
            return ids, ids
        if self.kind is ProjectionKind.LOWER:
            return _lower_positions(ids)
        rows, columns = _lower_positions(self.elements - 1 - ids)
        return self.extent - 1 - rows, self.extent - 1 - columns

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for row in range(self.extent):
            columns = {
                ProjectionKind.TRACE: range(row, row + 1),
                ProjectionKind.UPPER: range(row + 1, self.extent),
                ProjectionKind.LOWER: range(row),
            }
            for column in columns[self.kind]:
                yield row, column

    def __str__(self) -> str:
        return f"{self.kind} of {self.extent:,}"


Domain: TypeAlias = Box | Projection


def trace(extent: int) -> Projection:
    """Return the diagonal of a square: (0, 0), (1, 1) and so on."""
    return Projection(ProjectionKind.TRACE, _checked_extent(extent))


def utriag(extent: int) -> Projection:
    """Return the upper triangle of a square, without its diagonal: (0, 1), (0, 2) and so on."""
    return Projection(ProjectionKind.UPPER, _checked_extent(extent))


def ltriag(extent: int) -> Projection:
    """Return the lower triangle of a square, without its diagonal: (1, 0), (2, 0) and so on."""
    return Projection(ProjectionKind.LOWER, _checked_extent(extent))


def domain_of(shape: "int | Sequence[int] | Projection") -> Domain:
    """Return the domain that a shape stands for. Raises: `IterationError` for an empty or huge one."""
    if isinstance(shape, Projection):
        domain: Domain = shape
    else:
        extents = _extents(shape)
        if not 1 <= len(extents) <= MAX_RANK or min(extents) < 1:
            raise IterationError(
                f"a domain has 1 to {MAX_RANK} sizes of 1 or more, not {tuple(extents)}"
            )
        domain = Box(extents)
    if not 0 < domain.elements <= MAX_ELEMENTS:
        raise IterationError(
            f"a domain of {domain} has {domain.elements:,} elements: give 1 to 2^40"
        )
    return domain


def _extents(shape: object) -> tuple[int, ...]:
    """Return the sizes of a shape. Raises: `IterationError` for what is no whole number."""
    sizes = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    if any(isinstance(each, bool) or not hasattr(each, "__index__") for each in sizes):
        raise IterationError(f"the sizes of a domain are whole numbers, not {shape!r}")
    return tuple(map(operator.index, sizes))


def parse_domain(text: str) -> Domain:
    """Return the domain of a text: `4096,4096` or `utriag:4096`. Raises: `IterationError`."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise IterationError(f"{text!r} is no size: write 4096,4096 or utriag:4096")
    extents = [int(part) for part in match[2].split(",")]
    if match[1] is None:
        return domain_of(extents)
    if len(extents) != 1:
        raise IterationError(f"{text!r}: {match[1]} takes the side of a square")
    return domain_of(Projection(ProjectionKind(match[1]), extents[0]))


def _checked_extent(extent: int) -> int:
    if extent < 0:
        raise IterationError(f"the side of a square is 0 or more, not {extent}")
    return int(extent)


def _lower_positions(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of the lower triangle: row r begins at r (r - 1) / 2."""
    rows = ((1 + np.sqrt(1 + 8 * ids.astype(np.float64))) / 2).astype(np.int64)
    rows -= rows * (rows - 1) // 2 > ids
    rows += rows * (rows + 1) // 2 <= ids
    return rows, ids - rows * (rows - 1) // 2
