"""Argument lists of a process, with objects in place of handles."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cltrace.events.kinds import ArgumentKind
from cltrace.events.records import ArgumentForm, ArgumentSlot
from cltrace.events.tables import arguments_table
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.distinct_values import sort_distinct
from cltrace.trace.handles import MemoryHandles
from cltrace.trace.numbered_rows import NumberedRows
from cltrace.trace.scratch import Scratch

Int64s = NDArray[np.int64]

_HANDLE_KINDS: Final = (ArgumentKind.BUFFER, ArgumentKind.IMAGE, ArgumentKind.SVM)
_MAX_WORDS: Final = 8192
"""Largest number of words of an argument list: more than any device takes."""


class RawLists(NamedTuple):
    """Argument lists of one form: their positions among those that were looked for, and their words."""

    form_id: int
    members: Int64s
    words: Int64s


class ArgumentLists:
    """The argument lists of a process by number."""

    def __init__(self, spool: ProcessSpool, handles: MemoryHandles, scratch: Scratch) -> None:
        self.slots: Final = {
            form.id: form.slots
            for form in spool.records(ArgumentForm)
            if all(0 <= slot.words <= _MAX_WORDS for slot in form.slots)
            and _word_count(form.slots) <= _MAX_WORDS
        }
        self._handles = handles
        self._tables = [
            NumberedRows(spool, arguments_table(words), scratch)
            for words in sorted({_word_count(slots) for slots in self.slots.values()})
        ]
        self.max_words: Final = max(map(_word_count, self.slots.values()), default=0)
        self._columns = {form: _handle_columns(slots) for form, slots in self.slots.items()}

    def read(self, numbers: Int64s) -> list[RawLists]:
        """Return the lists with some ascending numbers, grouped by form, as the spool has them."""
        groups = []
        taken = np.zeros(len(numbers), np.bool_)
        for table in reversed(self._tables):
            exists, rows = table.find(numbers)
            exists &= (numbers > 0) & ~taken
            for form_id in sort_distinct(rows[exists, 1]).tolist():
                slots = self.slots.get(form_id)
                if slots is None or _word_count(slots) != rows.shape[1] - 2:
                    continue
                members = np.flatnonzero(exists & (rows[:, 1] == form_id))
                taken[members] = True
                groups.append(RawLists(form_id, members, rows[members, 2:]))
        return groups

    def has_reused_handle(self, lists: RawLists) -> NDArray[np.bool_]:
        """Return a mask of the lists with a handle that denoted several objects, one after another."""
        is_reused = np.zeros(len(lists.words), np.bool_)
        for column in self._columns[lists.form_id]:
            is_reused |= self._handles.is_reused(lists.words[:, column])
        return is_reused

    def with_objects(self, lists: RawLists, host_ns: Int64s) -> Int64s:
        """Return words with objects in place of handles. The address of shared memory stays beside it."""
        words, columns = lists.words, self._columns[lists.form_id]
        parts = list(self._word_columns(words, columns, host_ns))
        return np.stack(parts, axis=1) if parts else np.empty((len(words), 0), np.int64)

    def _word_columns(
        self, words: Int64s, columns: dict[int, str], host_ns: Int64s
    ) -> Iterator[Int64s]:
        for column in range(words.shape[1]):
            kind = columns.get(column)
            if kind is None:
                yield words[:, column]
                continue
            yield self._handles.objects(words[:, column], host_ns)
            if kind == ArgumentKind.SVM:
                yield words[:, column]


def _word_count(slots: tuple[ArgumentSlot, ...]) -> int:
    return sum(slot.words for slot in slots)


def _handle_columns(slots: tuple[ArgumentSlot, ...]) -> dict[int, str]:
    """Return the positions of handles among the words, and the kinds of their objects."""
    columns = {}
    at = 0
    for slot in slots:
        if slot.kind in _HANDLE_KINDS and slot.words:
            columns[at] = slot.kind
        at += slot.words
    return columns
