"""Columns of whole numbers, packed for a page: small, and quick to unpack.

Each column, or the differences of its neighbours where these are smaller, is made non-negative by the
zigzag code and laid out byte by byte: first the lowest byte of all its numbers, then the next. All
columns together are one zlib stream in base64. `payload.js` unpacks them.
"""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.timeline.columns import Int64s

LARGEST: Final = (1 << 51) - 1
"""Largest number of a column: differences of such numbers are exact in a double. In ns it is 26 days."""

_LEVEL: Final = 6


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """Place of a column among the bytes, and its encoding.

    It has `count` numbers of `width_bytes` bytes each; with `is_differences` each is the step from the
    number before.
    """

    name: str
    offset_bytes: int
    count: int
    width_bytes: int
    is_differences: bool


@dataclass(frozen=True, slots=True)
class PackedColumns:
    """Packed columns: `data` is base64 text."""

    layouts: tuple[ColumnLayout, ...]
    data: str


def pack_columns(columns: Mapping[str, Int64s]) -> PackedColumns:
    """Pack columns by name. Numbers beyond `LARGEST` are clipped to it."""
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
    return PackedColumns(tuple(layouts), base64.b64encode(data).decode("ascii"))


def _planes(column: Int64s) -> tuple[NDArray[np.uint8], bool]:
    """Return a column as one row per byte of its numbers, and whether they are differences."""
    plain = _zigzag(column)
    steps = _zigzag(np.diff(column, prepend=0))
    is_differences = int(steps.sum()) < int(plain.sum())
    chosen = steps if is_differences else plain
    width = _width(chosen)
    planes = chosen.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T
    return np.ascontiguousarray(planes), is_differences


def _zigzag(numbers: Int64s) -> NDArray[np.uint64]:
    """Return the numbers 0, -1, 1, -2 as 0, 1, 2, 3, and so on."""
    return ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)


def _width(numbers: NDArray[np.uint64]) -> int:
    """Return the number of bytes that the largest number needs."""
    return (int(numbers.max()).bit_length() + 7) // 8 if len(numbers) else 0
