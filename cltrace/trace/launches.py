"""Launch configurations of a process: kernel, NDRange and arguments, each stored once.

A spool has each launch with the numbers of its circumstance and of its argument list. Many of these
differ only in call site, thread or queue, or refer to different objects by the same handle. Here they
become configurations: launches of the same configuration do the same work.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import SpoolError
from cltrace.events.kinds import ArgumentKind
from cltrace.events.records import ArgumentForm, ArgumentSlot
from cltrace.events.tables import CIRCUMSTANCES, LAUNCHES, arguments_table
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.handles import MemoryHandles

Int64s = NDArray[np.int64]

_HANDLE_KINDS = (ArgumentKind.BUFFER, ArgumentKind.IMAGE, ArgumentKind.SVM)
_RANGE_COLUMNS = slice(CIRCUMSTANCES.index("global_dimensions"), CIRCUMSTANCES.width)
_AXES = 3
_WORD_BYTES = 8
_MAX_WORDS = 8192
"""Largest number of words of an argument list: more than any device takes."""
_MAX_MISSING_IDS = 1 << 20
"""Largest number of ids that may be missing from a spool that was cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a launch.

    `kind` is an `ArgumentKind`. `size_bytes` is the size of local memory or of a scalar. `value` are a
    scalar's bytes, `dtype` is the numpy name of its type. `offset_bytes` is the offset of a buffer that
    pyopencl passes with one. `detail` is the text of a whole number without a type, the address of shared
    virtual memory, or describes an argument of an unknown kind.
    """

    kind: str
    buffer_id: int = 0
    offset_bytes: int = 0
    size_bytes: int = 0
    dtype: str = ""
    value: bytes = b""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchConfiguration:
    """A kernel with its NDRange and arguments.

    `local_size` and `global_offset` are empty if the program gave none. `arguments` is `None` if they
    were not observed.
    """

    id: int
    kernel_id: int
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    global_offset: tuple[int, ...]
    arguments: tuple[Argument, ...] | None


class LaunchConfigurations:
    """The launch configurations of a process. Their numbers are in the order of their first launches.

    `ids` is the configuration of each row of `LAUNCHES`, `circumstances` the row of `CIRCUMSTANCES` of
    each, with zeros for one that was never written.
    """

    def __init__(self, spool: ProcessSpool, handles: MemoryHandles) -> None:
        launches = spool.rows(LAUNCHES)
        self._launches = launches
        rows, ranges, range_numbers = _circumstances(spool)
        self._ranges = ranges
        numbers = launches[:, LAUNCHES.index("circumstance_id")]
        at = np.where((numbers > 0) & (numbers < len(rows)), numbers, 0)
        self.circumstances = rows[at]
        self._lists = _ArgumentLists(spool)
        list_of = self._lists.resolve(
            launches[:, LAUNCHES.index("arguments_id")], launches[:, 0], handles
        )
        lists = self._lists.count
        unique, first, inverse = np.unique(
            range_numbers[at] * lists + list_of, return_index=True, return_inverse=True
        )
        # Their first launches are those entered first.
        entered = np.full(len(unique), np.iinfo(np.int64).max)
        np.minimum.at(entered, inverse, launches[:, 0])
        order = np.lexsort((first, entered))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(1, len(order) + 1)
        self.ids: Int64s = rank[inverse]
        self._pairs = np.stack(np.divmod(unique[order], lists), axis=1)

    def __len__(self) -> int:
        return len(self._pairs)

    def first_with(self, pairs: list[tuple[int, int]]) -> list[int]:
        """Return the configuration of the first launch of each pair; 0 for none.

        A pair is the number of a circumstance and that of an argument list.
        """
        if not pairs:
            return []
        rows = self._launches
        columns = [LAUNCHES.index("circumstance_id"), LAUNCHES.index("arguments_id")]
        wanted = set(pairs)
        first: dict[tuple[int, int], int] = {}
        for pair, number in zip(
            map(tuple, rows[:, columns].tolist()), self.ids.tolist(), strict=True
        ):
            if pair in wanted:
                first.setdefault(pair, number)
        return [first.get(pair, 0) for pair in pairs]

    @property
    def kernel_ids(self) -> Int64s:
        """The kernel of each configuration, by its number; 0 for number 0."""
        return np.concatenate([[0], self._ranges[self._pairs[:, 0], 0]]).astype(np.int64)

    @property
    def work_group_sizes(self) -> Int64s:
        """The dimensions and the extents of each configuration's local size, by number - 1."""
        columns = [2, *range(7, 10)]
        sizes: Int64s = self._ranges[self._pairs[:, 0]][:, columns]
        return sizes

    def __iter__(self) -> Iterator[LaunchConfiguration]:
        for number, (range_number, list_number) in enumerate(self._pairs.tolist(), start=1):
            kernel_id, *extents = self._ranges[range_number].tolist()
            sizes = [
                tuple(extents[_AXES * (1 + at) : _AXES * (1 + at) + extents[at]])
                for at in range(_AXES)
            ]
            yield LaunchConfiguration(
                id=number,
                kernel_id=kernel_id,
                global_size=sizes[0],
                local_size=sizes[1],
                global_offset=sizes[2],
                arguments=self._lists.arguments(list_number),
            )


def _circumstances(spool: ProcessSpool) -> tuple[Int64s, Int64s, Int64s]:
    """Return the circumstances by number, the distinct kernels with NDRange, and those of each number."""
    rows = spool.rows(CIRCUMSTANCES)
    highest = highest_id(rows[:, 0], len(rows), "circumstances")
    table = np.zeros((highest + 1, CIRCUMSTANCES.width), np.int64)
    table[rows[:, 0]] = rows
    table[0] = 0
    kernel = table[:, CIRCUMSTANCES.index("kernel_id"), None]
    ranges, numbers = np.unique(
        np.concatenate([kernel, table[:, _RANGE_COLUMNS]], axis=1), axis=0, return_inverse=True
    )
    dimensions = ranges[:, 1 : 1 + _AXES]
    if dimensions.size and not ((dimensions >= 0) & (dimensions <= _AXES)).all():
        raise SpoolError("the spool is damaged: an NDRange has too many dimensions")
    return table, ranges, numbers.ravel()


def highest_id(numbers: Int64s, count: int, what: str) -> int:
    """Return the highest of consecutive ids. Raises: `SpoolError` if there are far too few for it."""
    lowest, highest = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    if lowest < 0 or highest > count + _MAX_MISSING_IDS:
        raise SpoolError(f"the spool is damaged: {count} {what} are numbered up to {highest}")
    return highest


class _ArgumentLists:
    """Argument lists of a process, with objects in place of handles once they are resolved."""

    def __init__(self, spool: ProcessSpool) -> None:
        self._forms = {
            form.id: form.slots
            for form in spool.records(ArgumentForm)
            if all(0 <= slot.words <= _MAX_WORDS for slot in form.slots)
            and _word_count(form.slots) <= _MAX_WORDS
        }
        self._tables = {
            words: spool.rows(arguments_table(words))
            for words in sorted({_word_count(slots) for slots in self._forms.values()})
        }
        self._resolved: list[tuple[int, tuple[int, ...]] | None] = [None]
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}

    @property
    def count(self) -> int:
        """The number of resolved lists, with the unobserved one."""
        return len(self._resolved)

    def resolve(self, lists: Int64s, enter_ns: Int64s, handles: MemoryHandles) -> Int64s:
        """Return the number of the resolved argument list of each launch; 0 for unobserved ones."""
        resolved = np.zeros(len(lists), np.int64)
        for table in self._tables.values():
            if not len(table):
                continue
            table = table[np.argsort(table[:, 0], kind="stable")]
            at = np.searchsorted(table[:, 0], lists)
            at = np.minimum(at, len(table) - 1)
            here = np.flatnonzero((table[at, 0] == lists) & (lists > 0))
            for form_id in np.unique(table[at[here], 1]).tolist():
                members = here[table[at[here], 1] == form_id]
                slots = self._forms.get(form_id)
                if slots is None or _word_count(slots) != table.shape[1] - 2:
                    continue
                resolved[members] = self._resolve_form(
                    form_id, table, at[members], enter_ns[members], handles
                )
        return resolved

    def arguments(self, number: int) -> tuple[Argument, ...] | None:
        """Return the arguments of a resolved list; `None` for number 0."""
        entry = self._resolved[number]
        if entry is None:
            return None
        form_id, words = entry
        arguments = []
        at = 0
        for slot in self._forms[form_id]:
            # The address of shared memory stands beside its number (`_with_objects`).
            width = slot.words + (slot.kind == ArgumentKind.SVM and slot.words > 0)
            arguments.append(_argument(slot, words[at : at + width]))
            at += width
        return tuple(arguments)

    def _resolve_form(
        self, form_id: int, table: Int64s, at: Int64s, enter_ns: Int64s, handles: MemoryHandles
    ) -> Int64s:
        """Return the numbers of the resolved lists of launches whose lists have one form."""
        columns = _handle_columns(self._forms[form_id])
        used, inverse = np.unique(at, return_inverse=True)
        words = table[used, 2:]
        first_ns = np.full(len(used), np.iinfo(np.int64).max)
        np.minimum.at(first_ns, inverse, enter_ns)
        is_reused = np.zeros(len(used), np.bool_)
        for column in columns:
            is_reused |= handles.is_reused(words[:, column])
        by_list = self._intern(form_id, self._with_objects(words, columns, first_ns, handles))
        numbers = by_list[inverse]
        several = np.flatnonzero(is_reused[inverse])
        if len(several):
            own = self._with_objects(words[inverse[several]], columns, enter_ns[several], handles)
            numbers[several] = self._intern(form_id, own)
        return numbers

    def _with_objects(
        self, words: Int64s, columns: dict[int, str], host_ns: Int64s, handles: MemoryHandles
    ) -> Int64s:
        """Return words with objects in place of handles. The address of shared memory stays beside it."""
        parts = []
        for column in range(words.shape[1]):
            kind = columns.get(column)
            if kind is None:
                parts.append(words[:, column])
                continue
            parts.append(handles.objects(words[:, column], host_ns))
            if kind == ArgumentKind.SVM:
                parts.append(words[:, column])
        return np.stack(parts, axis=1) if parts else np.empty((len(words), 0), np.int64)

    def _intern(self, form_id: int, words: Int64s) -> Int64s:
        """Return the number of each resolved list."""
        if not words.shape[1]:
            return np.full(len(words), self._number(form_id, ()), np.int64)
        unique, inverse = np.unique(words, axis=0, return_inverse=True)
        numbers = [self._number(form_id, tuple(row)) for row in unique.tolist()]
        return np.array(numbers, np.int64)[inverse.ravel()]

    def _number(self, form_id: int, words: tuple[int, ...]) -> int:
        number = self._numbers.get((form_id, words))
        if number is None:
            number = self._numbers[form_id, words] = len(self._resolved)
            self._resolved.append((form_id, words))
        return number


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


def _argument(slot: ArgumentSlot, words: tuple[int, ...]) -> Argument:
    """Return the argument of a slot, with an object's number in place of a handle."""
    first = words[0] if words else 0
    match slot.kind:
        case ArgumentKind.BUFFER | ArgumentKind.IMAGE:
            offset_bytes = words[1] if len(words) > 1 else 0
            return Argument(kind=slot.kind, buffer_id=first, offset_bytes=offset_bytes)
        case ArgumentKind.SVM:
            return Argument(kind=slot.kind, buffer_id=first, detail=f"{sum(words[1:2]):#x}")
        case ArgumentKind.LOCAL:
            return Argument(kind=slot.kind, size_bytes=first)
        case ArgumentKind.SCALAR:
            return _scalar(slot, words)
        case _:
            return Argument(kind=slot.kind, detail=slot.detail)


def _scalar(slot: ArgumentSlot, words: tuple[int, ...]) -> Argument:
    data = b"".join(word.to_bytes(_WORD_BYTES, "little", signed=True) for word in words)
    if slot.dtype == "int":
        number = int.from_bytes(data, "little", signed=True)
        return Argument(kind=slot.kind, dtype=slot.dtype, detail=str(number))
    value = data[: slot.size_bytes]
    return Argument(kind=slot.kind, dtype=slot.dtype, size_bytes=len(value), value=value)
