"""Arguments of many launches, column by column: from the values that a launch path stored to words.

A launch path stores an argument as one value per launch: a number, a handle, a size, or bytes. A column
turns the values of many launches into words at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cltrace.events.records import ArgumentSlot
from cltrace.intercept.objects.arguments import (
    INTEGER,
    REAL,
    WORD_BYTES,
    ArgumentLists,
    Words,
    declare,
    integer_words,
    scalar_slot,
    to_words,
)

Int64s = NDArray[np.int64]


class ArgumentColumn(Protocol):
    """The values of one argument. `slot` is the slot of its words."""

    @property
    def slot(self) -> ArgumentSlot:
        """The slot of the words that `encode` returns."""

    def encode(self, values: Sequence[Any]) -> Int64s:
        """Return the words of all values, of shape (n, `slot.words`).

        Raises: `OverflowError` or `ValueError` if a value does not fit the slot.
        """

    def words(self, value: Any) -> Words:
        """Return the words of any value."""


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """Handles, addresses and sizes: numbers that always fit one word."""

    slot: ArgumentSlot

    def encode(self, values: Sequence[Any]) -> Int64s:
        """Return the numbers."""
        return np.fromiter(values, np.int64, len(values)).reshape(-1, 1)

    def words(self, value: Any) -> Words:
        """Return the number."""
        return Words(self.slot, (int(value),))


@dataclass(frozen=True, slots=True)
class IntegerColumn:
    """Python's whole numbers, whose type in the kernel is not declared."""

    slot: ArgumentSlot = INTEGER

    def encode(self, values: Sequence[Any]) -> Int64s:
        """Return the numbers. Raises: `OverflowError` for one that does not fit 64 bits."""
        return np.fromiter(values, np.int64, len(values)).reshape(-1, 1)

    def words(self, value: Any) -> Words:
        """Return the number, in two words if it does not fit one."""
        return integer_words(int(value))


@dataclass(frozen=True, slots=True)
class RealColumn:
    """Python's floats, whose type in the kernel is not declared."""

    slot: ArgumentSlot = REAL

    def encode(self, values: Sequence[Any]) -> Int64s:
        """Return the bits of the numbers."""
        return np.fromiter(values, np.float64, len(values)).view(np.int64).reshape(-1, 1)

    def words(self, value: Any) -> Words:
        """Return the bits of a number."""
        return to_words(value)


@dataclass(frozen=True, slots=True)
class ScalarColumn:
    """Numbers of numpy's type `dtype`, passed to the kernel as `declared`."""

    dtype: np.dtype[Any]
    declared: np.dtype[Any]

    @property
    def slot(self) -> ArgumentSlot:
        """The slot of the declared type."""
        return scalar_slot(self.declared.str, self.declared.itemsize)

    def encode(self, values: Sequence[Any]) -> Int64s:
        """Return the bytes of the numbers."""
        numbers = np.fromiter(values, self.dtype, len(values)).astype(self.declared)
        return _padded(numbers.view(np.uint8).reshape(len(values), -1), self.slot.words)

    def words(self, value: Any) -> Words:
        """Return the bytes of a number."""
        return to_words(declare(value, self.declared))


@dataclass(frozen=True, slots=True)
class BytesColumn:
    """Structures, stored as their bytes."""

    slot: ArgumentSlot

    def encode(self, values: Sequence[Any]) -> Int64s:
        """Return the bytes. Raises: `ValueError` if not all have the same size."""
        size = self.slot.size_bytes
        if any(len(value) != size for value in values):
            raise ValueError("structures of different sizes")
        data = np.frombuffer(b"".join(values), np.uint8).reshape(len(values), size)
        return _padded(data, self.slot.words)

    def words(self, value: Any) -> Words:
        """Return the bytes of a structure."""
        slot = scalar_slot(self.slot.dtype, len(value))
        padded = value.ljust(slot.words * WORD_BYTES, b"\0")
        return Words(slot, tuple(np.frombuffer(padded, np.int64).tolist()))


def _padded(data: NDArray[np.uint8], words: int) -> Int64s:
    """Return the bytes of each row as `words` words."""
    padded = np.zeros((len(data), words * WORD_BYTES), np.uint8)
    padded[:, : data.shape[1]] = data
    return padded.view(np.int64)


class ArgumentNumbers:
    """Numbers of the argument lists of one launch path. A list that equals the last is not stored again.

    `columns` are in the order of the stored values; a constant slot stands for an argument that takes no
    value.
    """

    def __init__(self, columns: tuple[ArgumentColumn | ArgumentSlot, ...]) -> None:
        self._columns = columns
        self._stored = [column for column in columns if not isinstance(column, ArgumentSlot)]
        self._slots = tuple(
            column if isinstance(column, ArgumentSlot) else column.slot for column in columns
        )
        self._last_words: Int64s | None = None
        self._last_id = 0

    @property
    def values(self) -> int:
        """The number of values that a launch stores."""
        return len(self._stored)

    def of(
        self, values: Callable[[int], list[Any]], count: int, lists: ArgumentLists
    ) -> tuple[Int64s, Int64s]:
        """Return the numbers of the argument lists of `count` launches, and the rows of the new ones.

        `values(i)` are the values of the i-th column of all launches. The rows are of
        `arguments_table`.
        """
        try:
            words = [column.encode(values(at)) for at, column in enumerate(self._stored)]
        except (OverflowError, ValueError, TypeError):
            numbers = self._number_singly(values, count, lists)
            return numbers, np.empty((0, 2), np.int64)
        rows = np.concatenate([*words, np.empty((count, 0), np.int64)], axis=1)
        is_new = np.empty(count, np.bool_)
        is_new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        is_new[0] = self._last_words is None or bool((rows[0] != self._last_words).any())
        new = np.flatnonzero(is_new)
        numbers = np.array([self._last_id, *(lists.next_id() for _ in new)], np.int64)
        stored = np.empty((len(new), 2 + rows.shape[1]), np.int64)
        stored[:, 0], stored[:, 2:] = numbers[1:], rows[new]
        stored[:, 1] = lists.form_id(self._slots)
        self._last_words, self._last_id = rows[-1].copy(), int(numbers[-1])
        return numbers[np.cumsum(is_new)], stored

    def _number_singly(
        self, values: Callable[[int], list[Any]], count: int, lists: ArgumentLists
    ) -> Int64s:
        self._last_words = None
        stored = [values(at) for at in range(len(self._stored))]
        numbers = []
        for row in range(count):
            remaining = iter(stored)
            arguments = tuple(
                Words(column)
                if isinstance(column, ArgumentSlot)
                else column.words(next(remaining)[row])
                for column in self._columns
            )
            numbers.append(lists.number(arguments)[0])
        return np.array(numbers, np.int64)
