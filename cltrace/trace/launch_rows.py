"""Rows of launch configurations and their arguments, packed into blocks.

A program that changes a scalar at every launch has a configuration per launch. So configurations of the
same kernel with arguments of the same form are stored together, column by column (`schema.LAUNCH_BLOCK`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.kinds import ArgumentKind
from cltrace.events.records import ArgumentSlot
from cltrace.events.samplers import sampler_settings
from cltrace.trace import schema
from cltrace.trace.argument_lists import RawLists
from cltrace.trace.database import TraceDatabase
from cltrace.trace.distinct_values import combine, find_distinct
from cltrace.trace.launches import NewConfigurations
from cltrace.trace.packed_columns import (
    PackedColumn,
    pack_bytes,
    pack_integers,
    pack_sizes,
    pack_texts,
    stored_values,
)
from cltrace.trace.process_rows import valid_unicode
from cltrace.trace.renumbering import TraceIds

Int64s = NDArray[np.int64]

_AXES: Final = 3
_WORD_BYTES: Final = 8
_MAX_PENDING_LAUNCHES: Final = 1 << 16
_MAX_PENDING_VALUES: Final = 1 << 21
"""Values that are kept until they are written: the more, the more configurations are in a block."""
_MAX_ITEMS: Final = 2**63 - 1
_NOTHING: Final = PackedColumn(None)


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
        self._pending: list[NewConfigurations] = []
        self._launches = self._values = self._blocks = 0

    def add(self, new: NewConfigurations) -> None:
        """Add configurations, in the order of their numbers. Some are written when `finish` is called."""
        self._pending.append(new)
        self._launches += len(new.numbers)
        self._values += sum(lists.words.size for lists in new.lists)
        if self._launches > _MAX_PENDING_LAUNCHES or self._values > _MAX_PENDING_VALUES:
            self.finish()

    def finish(self) -> int:
        """Write all configurations, and return the number of blocks so far."""
        new = _joined(self._pending)
        self._pending, self._launches, self._values = [], 0, 0
        blocks = sorted(self._blocks_of(new), key=lambda block: int(block[0][0]))
        first = self._blocks + 1
        self._blocks += len(blocks)
        self._database.insert(
            schema.LAUNCH_BLOCK,
            (
                (self._ids.of("launch_block", first + at), *row)
                for at, (_, row, _) in enumerate(blocks)
            ),
        )
        self._database.insert(
            schema.LAUNCH_BLOCK_ARG,
            (
                (self._ids.of("launch_block", first + at), *row)
                for at, (_, _, rows) in enumerate(blocks)
                for row in rows
            ),
        )
        return self._blocks

    def _blocks_of(self, new: NewConfigurations) -> Iterator["_Block"]:
        is_observed = np.zeros(len(new.numbers), np.bool_)
        for form_id, members, words in new.lists:
            is_observed[members] = True
            yield from self._blocks_of_form(new, members, self._forms[form_id], words)
        others = np.flatnonzero(~is_observed)
        if len(others):
            yield from self._blocks_of_form(new, others, None, np.empty((len(others), 0), np.int64))

    def _blocks_of_form(
        self,
        new: NewConfigurations,
        members: Int64s,
        slots: tuple[ArgumentSlot, ...] | None,
        words: Int64s,
    ) -> Iterator["_Block"]:
        """Yield the blocks of configurations with arguments of a form; `None` for unknown arguments."""
        numbers, ranges = new.numbers[members], new.ranges[members]
        places = list(_word_places(slots or ()))
        absent = [(words[:, at] == 0).astype(np.int64) for at in _nullable_columns(places)]
        kinds = find_distinct(combine(*ranges.T[: 1 + _AXES], *absent))
        order = np.argsort(kinds.inverse, kind="stable")
        begins = np.flatnonzero(np.diff(kinds.inverse[order], prepend=-1))
        for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(order)], strict=True):
            own = order[begin:end]
            columns = _range_columns(ranges[own])
            arguments = [
                (position, slot, self._slot_columns(slot, words[own, at : at + width]))
                for position, (slot, at, width) in enumerate(places)
            ]
            kernel_id = self._ids.of("kernel", int(ranges[own[0], 0]))
            trace_ids = self._ids.column("launch", numbers[own])
            for first in range(0, len(own), schema.MAX_BLOCK_LAUNCHES):
                rows = slice(first, min(first + schema.MAX_BLOCK_LAUNCHES, len(own)))
                ids = trace_ids[rows]
                block = (*_numbering(ids), kernel_id, *stored_values(columns, rows))
                yield (
                    ids,
                    (*block, slots is not None),
                    [_argument_row(*argument, rows) for argument in arguments],
                )

    def _slot_columns(self, slot: ArgumentSlot, words: Int64s) -> "_SlotColumns":
        """Return buffer, offset, size, value and detail of a slot's arguments."""
        buffer = offset = size = value = detail = _NOTHING
        match slot.kind:
            case ArgumentKind.BUFFER | ArgumentKind.IMAGE if slot.words:
                buffer = self._buffers(words[:, 0])
                offset = _positive(words[:, 1]) if slot.words > 1 else _NOTHING
            case ArgumentKind.SVM if slot.words:
                buffer = self._buffers(words[:, 0])
                detail = pack_texts(f"{address:#x}" for address in words[:, 1].tolist())
            case ArgumentKind.SVM:
                detail = PackedColumn("0x0")
            case ArgumentKind.LOCAL if slot.words:
                size = _positive(words[:, 0])
            case ArgumentKind.SCALAR if slot.dtype == "int":
                detail = pack_texts(map(str, _whole_numbers(words)))
            case ArgumentKind.SCALAR:
                size, value = _scalars(slot, words)
            case ArgumentKind.BUFFER | ArgumentKind.IMAGE | ArgumentKind.LOCAL:
                pass
            case _:
                detail = _details(slot, words)
        return buffer, offset, size, value, detail

    def _buffers(self, numbers: Int64s) -> PackedColumn:
        return _NOTHING if not numbers[0] else pack_integers(self._ids.column("buffer", numbers))


_SlotColumns = tuple[PackedColumn, PackedColumn, PackedColumn, PackedColumn, PackedColumn]
_Block = tuple[Int64s, Sequence[Any], list[Sequence[Any]]]
"""Ids of the launches of a block, its row without its id, and the rows of its arguments without it."""


def _joined(parts: Sequence[NewConfigurations]) -> NewConfigurations:
    """Return configurations as one, with one group of lists per form."""
    if not parts:
        return NewConfigurations(np.empty(0, np.int64), np.empty((0, 1 + 4 * _AXES), np.int64), [])
    begins = np.cumsum([0, *(len(part.numbers) for part in parts)])
    by_form: dict[int, list[RawLists]] = {}
    for part, begin in zip(parts, begins.tolist(), strict=False):
        for lists in part.lists:
            moved = lists._replace(members=lists.members + begin)
            by_form.setdefault(lists.form_id, []).append(moved)
    return NewConfigurations(
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.ranges for part in parts]),
        [
            RawLists(
                form_id,
                np.concatenate([lists.members for lists in groups]),
                np.concatenate([lists.words for lists in groups]),
            )
            for form_id, groups in by_form.items()
        ],
    )


def _word_places(slots: Sequence[ArgumentSlot]) -> Iterator[tuple[ArgumentSlot, int, int]]:
    """Yield each slot, and the place and the number of its words."""
    at = 0
    for slot in slots:
        # The address of shared memory stands beside its number (`ArgumentLists`).
        width = slot.words + (slot.kind == ArgumentKind.SVM and slot.words > 0)
        yield slot, at, width
        at += width


def _nullable_columns(places: Sequence[tuple[ArgumentSlot, int, int]]) -> Iterator[int]:
    """Yield the columns of words in which 0 stands for no value."""
    for slot, at, width in places:
        if slot.kind in {ArgumentKind.BUFFER, ArgumentKind.IMAGE}:
            yield from range(at, at + min(width, 2))
        elif slot.kind in {ArgumentKind.SVM, ArgumentKind.LOCAL} and width:
            yield at


def _range_columns(ranges: Int64s) -> list[PackedColumn]:
    """Return sizes, offset and work-items of rows of kernel and NDRange."""
    dimensions = ranges[0, 1 : 1 + _AXES].tolist()
    extents = [ranges[:, 1 + _AXES * (1 + at) :][:, : dimensions[at]] for at in range(_AXES)]
    sizes = extents[0]
    items = np.prod(sizes, axis=1, dtype=np.int64)
    if sizes.size and float(np.abs(sizes).astype(float).max(axis=0).prod()) >= _MAX_ITEMS / 2:
        exact = (min(math.prod(row), _MAX_ITEMS) for row in sizes.tolist())
        items = np.array([max(count, -_MAX_ITEMS) for count in exact], np.int64)
    global_size = pack_sizes(sizes) if dimensions[0] else PackedColumn("[]")
    return [global_size, pack_sizes(extents[1]), pack_sizes(extents[2]), pack_integers(items)]


def _numbering(ids: Int64s) -> tuple[int, int, int, bytes | None]:
    """Return the first and last id of a block, its size, and its ids unless these are consecutive."""
    first, last = int(ids[0]), int(ids[-1])
    members = None
    if last - first + 1 != len(ids):
        each = pack_integers(np.append(ids - first, 0)).each
        assert each is not None
        members = each[:-1].tobytes()
    return first, last, len(ids), members


def _argument_row(
    position: int, slot: ArgumentSlot, columns: _SlotColumns, rows: slice
) -> Sequence[Any]:
    """Return the row of an argument of a block, without the block."""
    *places, value, detail = (stored_values([column], rows) for column in columns)
    dtype = valid_unicode(slot.dtype) or None if slot.kind == ArgumentKind.SCALAR else None
    before = (item for pair in places for item in pair)
    return (position, valid_unicode(slot.kind), *before, dtype, *value, *detail)


def _details(slot: ArgumentSlot, words: Int64s) -> PackedColumn:
    """Return the settings of samplers, or the description of arguments of another kind."""
    if slot.kind == ArgumentKind.SAMPLER and slot.words:
        return pack_texts(str(sampler_settings(bits)) for bits in words[:, 0].tolist())
    return PackedColumn(valid_unicode(slot.detail) or None)


def _positive(values: Int64s) -> PackedColumn:
    return pack_integers(values) if values[0] else _NOTHING


def _whole_numbers(words: Int64s) -> Iterator[int]:
    """Yield the two's complements of all words of each row."""
    if words.shape[1] == 1:
        yield from words[:, 0].tolist()
        return
    for row in words.astype("<i8"):
        yield int.from_bytes(row.tobytes(), "little", signed=True)


def _scalars(slot: ArgumentSlot, words: Int64s) -> tuple[PackedColumn, PackedColumn]:
    """Return the sizes and the bytes of scalars."""
    size = min(max(slot.size_bytes, 0), _WORD_BYTES * words.shape[1])
    if not size:
        return _NOTHING, _NOTHING
    data = np.ascontiguousarray(words, "<i8").view(np.uint8)[:, :size]
    return PackedColumn(size), pack_bytes(data)
