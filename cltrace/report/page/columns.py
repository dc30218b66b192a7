"""Columns of whole numbers, packed for a page: as small as the numbers are, and quick to unpack.

Each column, or the differences of its neighbours where these are smaller, is made non-negative by the
zigzag code and laid out byte by byte: first the lowest byte of all its numbers, then the next. All
columns together are one zlib stream in base64. `payload.js` is the other side.
"""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.timeline.clock_fit.points import Int64s

LARGEST: Final = (1 << 51) - 1
"""Columns are kept within: differences of such numbers are whole in a double. In ns it is 26 days."""

_LEVEL: Final = 6


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """Where a column is among the bytes, and how to read it.

    `count` numbers of `width_bytes` bytes each; `is_differences` if each is the step from the one before.
    """

    name: str
    offset_bytes: int
    count: int
    width_bytes: int
    is_differences: bool


@dataclass(frozen=True, slots=True)
class Packed:
    """Packed columns: `data` is text of the base64 alphabet."""

    layouts: tuple[ColumnLayout, ...]
    data: str


def packed(columns: Mapping[str, Int64s]) -> Packed:
    """Columns by name, packed. Numbers beyond `LARGEST` become that."""
    layouts: list[ColumnLayout] = []
    parts: list[bytes] = []
    offset = 0
    for name, column in columns.items():
        planes, is_differences = _planes(np.clip(column, -LARGEST, LARGEST))
        width, count = planes.shape
        layouts.append(ColumnLayout(name, offset, count, width, is_differences))
        parts.append(planes.tobytes())
        offset += width * count
    data = zlib.compress(b"".join(parts), _LEVEL)
    return Packed(tuple(layouts), base64.b64encode(data).decode("ascii"))


def _planes(column: Int64s) -> tuple[NDArray[np.uint8], bool]:
    """A column as one row for each byte that its numbers need, and whether they are differences."""
    plain = _zigzag(column)
    steps = _zigzag(np.diff(column, prepend=0))
    is_differences = int(steps.sum()) < int(plain.sum())
    chosen = steps if is_differences else plain
    width = _width(chosen)
    planes = chosen.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T
    return np.ascontiguousarray(planes), is_differences


def _zigzag(numbers: Int64s) -> NDArray[np.uint64]:
    """Numbers in the order 0, -1, 1, -2 as 0, 1, 2, 3."""
    return ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)


def _width(numbers: NDArray[np.uint64]) -> int:
    """How many bytes the largest number needs."""
    return (int(numbers.max()).bit_length() + 7) // 8 if len(numbers) else 0
