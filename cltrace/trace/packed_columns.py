"""Columns of values that differ from row to row, packed into as many bytes for each."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_ZERO: Final = ord("0")
_SPACE: Final = ord(" ")
_MAX_RANGE: Final = 10**17


class PackedColumn(NamedTuple):
    """Values of a column: one that all rows have, and the bytes of each row, of shape (n, width)."""

    same: Any
    each: Bytes | None = None


def pack_integers(values: Int64s) -> PackedColumn:
    """Return integers as the lowest of them and the decimal digits of what is to be added to it."""
    low, high = int(values.min()), int(values.max())
    if low == high:
        return PackedColumn(low)
    if high - low >= _MAX_RANGE:
        return PackedColumn(0, pack_texts(map(str, values.tolist())).each)
    return PackedColumn(low, _digits(values - low, _ZERO))


def pack_sizes(sizes: Int64s) -> PackedColumn:
    """Return rows of sizes as JSON arrays, with spaces before the numbers where they differ."""
    if not sizes.shape[1]:
        return PackedColumn(None)
    if (sizes == sizes[0]).all():
        return PackedColumn(str(sizes[0].tolist()))
    if sizes.min() < 0 or sizes.max() >= _MAX_RANGE:
        return pack_texts(map(str, sizes.tolist()))
    parts: list[Bytes] = []
    for column in sizes.T:
        separator = "," if parts else "["
        parts.append(np.full((len(sizes), 1), ord(separator), np.uint8))
        parts.append(_digits(column, _SPACE))
    parts.append(np.full((len(sizes), 1), ord("]"), np.uint8))
    return PackedColumn("", np.concatenate(parts, axis=1))


def pack_bytes(values: Bytes) -> PackedColumn:
    """Return rows of bytes."""
    if (values == values[0]).all():
        return PackedColumn(values[0].tobytes())
    return PackedColumn(None, values)


def pack_texts(texts: Iterable[str]) -> PackedColumn:
    """Return ASCII texts, with spaces behind the shorter ones."""
    column = list(texts)
    if all(text == column[0] for text in column):
        return PackedColumn(column[0])
    width = max(map(len, column))
    data = "".join(text.ljust(width) for text in column).encode("ascii")
    return PackedColumn(None, np.frombuffer(data, np.uint8).reshape(-1, width))


def stored_values(columns: Sequence[PackedColumn], rows: slice) -> list[Any]:
    """Return, for some rows, what all have and the bytes of each, one column after another."""
    values: list[Any] = []
    for same, each in columns:
        values += same, None if each is None else each[rows].tobytes()
    return values


def _digits(values: Int64s, fill: int) -> Bytes:
    """Return the decimal digits of non-negative integers, with `fill` before shorter numbers."""
    width = len(str(int(values.max())))
    digits = np.empty((len(values), width), np.uint8)
    rest, power = values, 1
    for at in reversed(range(width)):
        rest, digit = np.divmod(rest, 10)
        digits[:, at] = digit + _ZERO
        if fill != _ZERO and power > 1:
            digits[values < power, at] = fill
        power *= 10
    return digits
