"""Launch configurations of a process: kernel, NDRange and arguments, each stored once.

A spool has each launch with the numbers of its circumstance and of its argument list. Many of these
differ only in call site, thread or queue, or refer to different objects by the same handle. Here they
become configurations: launches of the same configuration do the same work.

Launches arrive in the order of their entry, part by part, and a configuration gets its number at its
first launch. The hashes of the first million are kept in memory. Launches of later configurations are
sorted on the disk: by configuration, which finds the first launch of each, then by first launch, which
numbers them.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import SpoolError
from cltrace.events.records import ArgumentSlot
from cltrace.events.tables import CIRCUMSTANCES
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.argument_lists import ArgumentLists, RawLists
from cltrace.trace.distinct_values import combine, find_distinct, hash_rows
from cltrace.trace.handles import MemoryHandles
from cltrace.trace.known_hashes import UNKNOWN, KnownHashes
from cltrace.trace.numbered_rows import NumberedRows
from cltrace.trace.scratch import Scratch
from cltrace.trace.sorted_runs import SortedRuns

Int64s = NDArray[np.int64]

_KNOWN_PER_PART_ROW: Final = 16
"""Configurations whose hashes are kept in memory, per row of a part: up to forty megabytes."""
PENDING: Final = UNKNOWN
"""Number of a configuration that is not numbered yet."""

_RANGE: Final = [
    CIRCUMSTANCES.index("kernel_id"),
    *range(CIRCUMSTANCES.index("global_dimensions"), CIRCUMSTANCES.width),
]
_DIMENSIONS: Final = slice(
    CIRCUMSTANCES.index("global_dimensions"), CIRCUMSTANCES.index("offset_dimensions") + 1
)
_AXES: Final = 3
_MAX_MISSING_IDS: Final = 1 << 20
"""Largest number of ids that may be missing from a spool that was cut off."""


class NumberedLaunches(NamedTuple):
    """Launches with their circumstances and configurations, of shape (n, …) and (n,).

    A configuration is `PENDING` if it gets its number later.
    """

    circumstances: Int64s
    configurations: Int64s


class NewConfigurations(NamedTuple):
    """Configurations that were numbered: numbers, and rows of kernel and NDRange as in `CIRCUMSTANCES`.

    `lists` are the argument lists that were observed. Their `members` are positions in `numbers`.
    """

    numbers: Int64s
    ranges: Int64s
    lists: list[RawLists]


Define = Callable[[NewConfigurations], None]
"""Function that takes configurations in the order of their numbers."""


def _define_nothing(_: NewConfigurations) -> None:
    raise ValueError("nothing takes the configurations")


class LaunchConfigurations:
    """The launch configurations of a process. Their numbers are in the order of their first launches."""

    def __init__(
        self,
        spool: ProcessSpool,
        handles: MemoryHandles,
        scratch: Scratch,
    ) -> None:
        """Prepare for the launches of a process. Set `define` before the first of them is numbered."""
        self.define: Define = _define_nothing
        self._circumstances = NumberedRows(spool, CIRCUMSTANCES, scratch)
        _check_circumstances(self._circumstances)
        self._lists = ArgumentLists(spool, handles, scratch)
        self._scratch = scratch
        self._seeds = int.from_bytes(os.urandom(8)), int.from_bytes(os.urandom(8))
        self._known = KnownHashes(_KNOWN_PER_PART_ROW * scratch.part_rows)
        self._pending: SortedRuns | None = None
        self._count = 0

    @property
    def forms(self) -> Mapping[int, tuple[ArgumentSlot, ...]]:
        """The slots of argument lists, by form."""
        return self._lists.slots

    def __len__(self) -> int:
        """The number of configurations so far."""
        return self._count

    def number(self, launches: Int64s, positions: Int64s) -> NumberedLaunches:
        """Number the next launches, which are rows of entry, circumstance and argument list.

        `positions` are those of the launches among the process's commands, ascending.
        """
        step = max(self._scratch.run_values // max(self._lists.max_words, 1), 1)
        parts = [
            self._number_part(launches[begin : begin + step], positions[begin : begin + step])
            for begin in range(0, max(len(launches), 1), step)
        ]
        if len(parts) == 1:
            return parts[0]
        return NumberedLaunches(*map(np.concatenate, zip(*parts, strict=True)))

    def _number_part(self, launches: Int64s, positions: Int64s) -> NumberedLaunches:
        """Number launches whose argument lists fit into memory."""
        pairs = find_distinct(combine(launches[:, 1], launches[:, 2]))
        items = self._resolve(launches, pairs.first, pairs.inverse)
        numbers = self._number_items(items)
        circumstances = items.circumstances[items.item_of]
        configurations = numbers[items.item_of]
        late = np.flatnonzero(configurations == PENDING)
        if len(late):
            self._put_off(launches[late], positions[late], items.hashes[items.item_of[late]])
        return NumberedLaunches(circumstances, configurations)

    def number_pending(self) -> Iterator[Int64s]:
        """Number the configurations that are pending. Yield rows of a launch's position and number."""
        if self._pending is None:
            return
        # No more launches arrive, so the table's memory serves the sorting.
        self._known = KnownHashes(0)
        by_first = SortedRuns(self._scratch, 5, keys=2)
        for part in _first_positions(self._pending.parts()):
            by_first.add(part)
        self._pending = None
        last = -1
        for part in by_first.parts():
            begins = np.diff(part[:, 0], prepend=last) != 0
            last = int(part[-1, 0])
            numbers = self._count + np.cumsum(begins)
            first = np.flatnonzero(begins)
            step = max(self._scratch.run_values // max(self._lists.max_words, 1), 1)
            for begin in range(0, len(first), step):
                own = first[begin : begin + step]
                every = np.arange(len(own))
                items = self._resolve(part[own][:, 2:], every, every)
                self._define(items, items.item_of, numbers[own])
            self._count += len(first)
            yield np.stack([part[:, 1], numbers], axis=1)

    def _resolve(self, launches: Int64s, first: Int64s, index: Int64s) -> "_Items":
        """Return the items of launches, of which those with one `index` have equal numbers.

        `first` is the first launch of each index.
        """
        numbers = find_distinct(launches[first, 2])
        groups = self._lists.read(numbers.values)
        is_reused = np.zeros(len(numbers.values), np.bool_)
        for group in groups:
            is_reused[group.members] = self._lists.has_reused_handle(group)
        several = is_reused[numbers.inverse]
        if several.any():
            # These launches may have different objects, so each is an item of its own.
            own = np.flatnonzero(several[index])
            item = np.cumsum(~several) - 1
            index = item[index]
            index[own] = np.arange(len(own)) + int((~several).sum())
            first = np.concatenate([first[~several], own])
            numbers = find_distinct(launches[first, 2])
        circumstances = find_distinct(launches[first, 1])
        _, rows = self._circumstances.find(circumstances.values)
        rows[circumstances.values <= 0] = 0
        rows = rows[circumstances.inverse]
        lists = list(self._with_objects(groups, numbers.inverse, launches[first, 0]))
        return _Items(rows, self._hash(rows, lists), index, first, lists)

    def _with_objects(
        self, groups: list[RawLists], number: Int64s, enter_ns: Int64s
    ) -> Iterator[RawLists]:
        """Yield the lists of items with their objects. `number` is the index of each item's list."""
        for form_id, members, words in groups:
            at = np.full(int(number.max(initial=0)) + 1, -1)
            at[members] = np.arange(len(members))
            items = np.flatnonzero(at[number] >= 0)
            lists = RawLists(form_id, items, words[at[number[items]]])
            yield lists._replace(words=self._lists.with_objects(lists, enter_ns[items]))

    def _hash(self, circumstances: Int64s, lists: list[RawLists]) -> Int64s:
        """Return the hashes of items: of kernel, NDRange, form and words."""
        ranges = circumstances[:, _RANGE]
        hashes = np.zeros((len(ranges), 2), np.int64)
        is_observed = np.zeros(len(ranges), np.bool_)
        for form_id, items, words in lists:
            is_observed[items] = True
            form = np.full((len(items), 1), form_id)
            hashes[items] = hash_rows(
                np.concatenate([ranges[items], form, words], axis=1), self._seeds
            )
        others = np.flatnonzero(~is_observed)
        hashes[others] = hash_rows(ranges[others], self._seeds)
        return hashes

    def _number_items(self, items: "_Items") -> Int64s:
        """Return the configuration of each item, with numbers for new ones as long as there is room."""
        numbers = self._known.find(items.hashes)
        unknown = np.flatnonzero(numbers == PENDING)
        if len(unknown):
            unknown = unknown[np.argsort(items.first[unknown], kind="stable")]
            numbers[unknown], first = self._known.add(items.hashes[unknown])
            self._define(items, unknown[first], numbers[unknown[first]])
            self._count = len(self._known)
        return numbers

    def _define(self, items: "_Items", chosen: Int64s, numbers: Int64s) -> None:
        """Give the configurations of some items to `define`, in the order of their numbers."""
        if not len(chosen):
            return
        place = np.full(len(items.circumstances), -1)
        place[chosen] = np.arange(len(chosen))
        lists = []
        for form_id, members, words in items.lists:
            here = np.flatnonzero(place[members] >= 0)
            if len(here):
                here = here[np.argsort(place[members[here]])]
                lists.append(RawLists(form_id, place[members[here]], words[here]))
        ranges = items.circumstances[chosen][:, _RANGE]
        self.define(NewConfigurations(numbers, ranges, lists))

    def _put_off(self, launches: Int64s, positions: Int64s, hashes: Int64s) -> None:
        if self._pending is None:
            self._pending = SortedRuns(self._scratch, 6, keys=2)
        rows = [hashes, positions[:, None], launches[:, 1:3], launches[:, :1]]
        self._pending.add(np.concatenate(rows, axis=1))


def _first_positions(parts: Iterable[Int64s]) -> Iterator[Int64s]:
    """Yield rows of the position of a group's first launch, a launch's own, and its entry and numbers.

    The given rows are in the order of two hashes, and those with equal hashes in the order of positions.
    """
    last = np.zeros((0, 3), np.int64)
    for part in parts:
        hashes = np.concatenate([last[:, :2], part[:, :2]])
        is_begin = np.append(np.True_, (hashes[1:] != hashes[:-1]).any(axis=1))[len(last) :]
        if not len(last):
            is_begin[0] = True
        begin = np.maximum.accumulate(np.where(is_begin, np.arange(len(part)), -1))
        first = np.where(begin < 0, last[0, 2] if len(last) else 0, part[np.maximum(begin, 0), 2])
        last = np.array([[*part[-1, :2].tolist(), int(first[-1])]])
        yield np.stack([first, part[:, 2], part[:, 5], part[:, 3], part[:, 4]], axis=1)


class _Items(NamedTuple):
    """Launches with the same objects: circumstances and hashes, shape (k, …), and each launch's item.

    `first` is the first launch of each item. `lists` are the argument lists with objects.
    """

    circumstances: Int64s
    hashes: Int64s
    item_of: Int64s
    first: Int64s
    lists: list[RawLists]


def _check_circumstances(table: NumberedRows) -> None:
    """Check the numbers and dimensions of all circumstances. Raises: `SpoolError`."""
    if table.lowest < 0 or table.highest > len(table) + _MAX_MISSING_IDS:
        raise SpoolError(
            f"the spool is damaged: {len(table)} circumstances are numbered up to {table.highest}"
        )
    for part in table.parts():
        dimensions = part[:, _DIMENSIONS]
        if not ((dimensions >= 0) & (dimensions <= _AXES)).all():
            raise SpoolError("the spool is damaged: an NDRange has too many dimensions")
