"""Rows of launch configurations and their arguments, made column by column.

A program that changes a scalar at every launch has a configuration per launch.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.kinds import ArgumentKind
from cltrace.events.records import ArgumentSlot
from cltrace.trace import schema
from cltrace.trace.commands import ABSENT
from cltrace.trace.database import TraceDatabase
from cltrace.trace.distinct_values import combine, find_distinct
from cltrace.trace.launches import NewConfigurations
from cltrace.trace.process_rows import valid_unicode
from cltrace.trace.renumbering import TraceIds

Int64s = NDArray[np.int64]
Row = Sequence[Any]
Column = Iterable[Any]

_AXES: Final = 3
_WORD_BYTES: Final = 8
_NOTHING: Final[Iterable[Any]] = repeat(None)


class LaunchWriter:
    """Writer of the launch configurations of a process. `forms` are the slots of lists by form."""

    def __init__(
        self,
        database: TraceDatabase,
        ids: TraceIds,
        forms: Mapping[int, tuple[ArgumentSlot, ...]],
    ) -> None:
        self._database = database
        self._ids = ids
        self._forms = forms

    def add(self, new: NewConfigurations) -> None:
        """Write configurations, in the order of their numbers."""
        if not len(new.numbers):
            return
        self._database.insert(schema.LAUNCH, self._launches(new))
        if len(new.lists) == 1 and len(new.lists[0].members) == len(new.numbers):
            self._database.insert(schema.LAUNCH_ARG, chain.from_iterable(self._arguments(new)[0]))
            return
        # Lists of several forms take turns.
        rows: list[Iterable[Row]] = [()] * len(new.numbers)
        for lists, arguments in zip(new.lists, self._arguments(new), strict=True):
            for member, own in zip(lists.members.tolist(), arguments, strict=True):
                rows[member] = own
        self._database.insert(schema.LAUNCH_ARG, chain.from_iterable(rows))

    def _launches(self, new: NewConfigurations) -> Iterator[Row]:
        distinct = find_distinct(combine(*new.ranges.T))
        facts = [self._range_facts(row) for row in new.ranges[distinct.first].tolist()]
        is_observed = np.zeros(len(new.numbers), np.bool_)
        for lists in new.lists:
            is_observed[lists.members] = True
        numbers = self._ids.column("launch", new.numbers).tolist()
        for number, at, observed in zip(
            numbers, distinct.inverse.tolist(), is_observed.tolist(), strict=True
        ):
            yield (number, *facts[at], observed)

    def _range_facts(self, row: list[int]) -> Row:
        kernel_id, *extents = row
        global_size, local_size, offset = (
            extents[_AXES * (1 + at) :][: extents[at]] for at in range(_AXES)
        )
        return (
            self._ids.of("kernel", kernel_id),
            json.dumps(global_size),
            json.dumps(local_size) if local_size else None,
            json.dumps(offset) if offset else None,
            min(math.prod(global_size), 2**63 - 1),
        )

    def _arguments(self, new: NewConfigurations) -> list[list[tuple[Row, ...]]]:
        """Return, for each group of lists, the rows of each list's arguments."""
        groups = []
        for form_id, members, words in new.lists:
            numbers = self._ids.column("launch", new.numbers[members]).tolist()
            columns, at = [], 0
            for position, slot in enumerate(self._forms[form_id]):
                # The address of shared memory stands beside its number (`ArgumentLists`).
                width = slot.words + (slot.kind == ArgumentKind.SVM and slot.words > 0)
                values = self._slot_columns(slot, words[:, at : at + width])
                kind = repeat(valid_unicode(slot.kind))
                columns.append(zip(numbers, repeat(position), kind, *values, strict=False))
                at += width
            groups.append(list(zip(*columns, strict=True)) if columns else [()] * len(numbers))
        return groups

    def _slot_columns(self, slot: ArgumentSlot, words: Int64s) -> list[Iterable[Any]]:
        """Return buffer, offset, size, type, value and detail of a slot's arguments."""
        dtype: Column = _NOTHING
        buffer: Column = _NOTHING
        offset: Column = _NOTHING
        size: Column = _NOTHING
        value: Column = _NOTHING
        detail: Column = _NOTHING
        zero = np.zeros(len(words), np.int64)
        first, second = (words[:, at] if words.shape[1] > at else zero for at in (0, 1))
        match slot.kind:
            case ArgumentKind.BUFFER | ArgumentKind.IMAGE:
                buffer, offset = self._buffers(first), _positive(second)
            case ArgumentKind.SVM:
                buffer, detail = (
                    self._buffers(first),
                    [f"{address:#x}" for address in second.tolist()],
                )
            case ArgumentKind.LOCAL:
                size = _positive(first)
            case ArgumentKind.SCALAR:
                dtype = repeat(valid_unicode(slot.dtype) or None)
                if slot.dtype == "int":
                    detail = [str(number) for number in _whole_numbers(words)]
                else:
                    size, value = _scalars(slot, words)
            case _:
                detail = repeat(valid_unicode(slot.detail) or None)
        return [buffer, offset, size, dtype, value, detail]

    def _buffers(self, numbers: Int64s) -> list[int | None]:
        return _with_none(self._ids.column("buffer", numbers), ABSENT)


def _positive(values: Int64s) -> list[int | None]:
    return _with_none(values, 0)


def _with_none(values: Int64s, absent: int | np.int64) -> list[int | None]:
    column: list[int | None] = values.tolist()
    if (values == absent).any():
        none = int(absent)
        return [None if value == none else value for value in column]
    return column


def _whole_numbers(words: Int64s) -> Iterator[int]:
    """Yield the two's complements of all words of each row."""
    if words.shape[1] == 1:
        yield from words[:, 0].tolist()
        return
    for row in words.astype("<i8"):
        yield int.from_bytes(row.tobytes(), "little", signed=True)


def _scalars(
    slot: ArgumentSlot, words: Int64s
) -> tuple[Iterable[int | None], Iterable[bytes | None]]:
    """Return the sizes and the bytes of scalars."""
    size = min(max(slot.size_bytes, 0), _WORD_BYTES * words.shape[1])
    if not size or not len(words):
        return _NOTHING, _NOTHING
    data = np.ascontiguousarray(words, "<i8").view(np.uint8)[:, :size]
    return repeat(size), np.ascontiguousarray(data).view(f"V{size}").ravel().tolist()
