"""Builder of the rollups of a trace: exact sums over all commands, in bounded memory.

Commands of the same kernel, queue, thread, site and kind form a *cell*. The groups of every dimension are
unions of cells, so most sums are kept per cell only.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.trace import schema
from cltrace.trace.busy_time import BusyTimes
from cltrace.trace.catalogue import Catalogue
from cltrace.trace.command_groups import (
    DIMENSIONS,
    KEY_COLUMNS,
    WHOLE_DEVICE,
    CommandGroup,
    group_commands,
)
from cltrace.trace.command_sums import CommandColumns, command_columns
from cltrace.trace.commands import ABSENT
from cltrace.trace.database import TraceDatabase
from cltrace.trace.distinct_values import combine, find_distinct
from cltrace.trace.medians import Medians
from cltrace.trace.rollup import ApiRollup, Rollup
from cltrace.trace.scratch import Scratch

Int64s = NDArray[np.int64]

_SUMS: Final = (
    *("calls", "timed_calls", "total_ns", "size_bytes", "waited_calls", "wait_total_ns"),
    *("first_calls", "first_wait_ns", "stamped"),
)
_MAX_NS: Final = int(np.iinfo(np.int64).max)


class RollupBuilder:
    """Accumulator of the commands of all processes, which are summed up at the end."""

    def __init__(self, scratch: Scratch) -> None:
        self._numbers: dict[str, dict[CommandGroup, int]] = {name: {} for name in DIMENSIONS}
        self._in_order: dict[str, dict[CommandGroup, None]] = {name: {} for name in DIMENSIONS}
        self._samples: dict[tuple[int, ...], None] = {}
        self._cells: dict[tuple[int, ...], int] = {}
        self._sums = {name: _Sums(0) for name in _SUMS}
        self._min_ns, self._max_ns = _Sums(_MAX_NS), _Sums(-_MAX_NS - 1)
        self._durations, self._waits = Medians(scratch), Medians(scratch)
        self._busy = BusyTimes(scratch)

    def add_commands(self, commands: Mapping[str, Int64s], catalogue: Catalogue) -> None:
        """Add commands of a catalogue, as columns of a trace."""
        names = ("api", *dict.fromkeys(KEY_COLUMNS.values()))
        distinct = find_distinct(combine(*(commands[name] for name in names)))
        samples = {name: commands[name][distinct.first] for name in names}
        rows = zip(*(column.tolist() for column in samples.values()), strict=True)
        self._samples.update(dict.fromkeys(rows))
        numbers, devices = self._number_cells(samples, catalogue)
        cells = numbers[distinct.inverse]
        self._add_sums(cells, command_columns(commands, devices[distinct.inverse]))

    def end_catalogue(self, catalogue: Catalogue) -> None:
        """Put the groups of a catalogue's commands, all added, into the order of their keys."""
        names = ("api", *dict.fromkeys(KEY_COLUMNS.values()))
        rows = np.array(list(self._samples), np.int64).reshape(-1, len(names))
        samples = dict(zip(names, rows.T, strict=True))
        for dimension, (_, members) in group_commands(samples, catalogue).items():
            self._in_order[dimension].update(dict.fromkeys(members))
        self._samples = {}

    def rollups(self) -> Iterator[tuple[str, CommandGroup, Rollup]]:
        """Yield the sums of each group of each dimension."""
        keys = np.array(list(self._cells), np.int64).reshape(-1, len(DIMENSIONS))
        partitions = {
            _canonical(keys[:, at]).tobytes(): keys[:, at] for at in range(len(DIMENSIONS))
        }
        distinct = list(map(_canonical, partitions.values()))
        busy = self._busy.of_groups(distinct)
        summed = {
            name: list(self._roll_up(groups, busy_ns))
            for name, groups, busy_ns in zip(partitions, distinct, busy, strict=True)
        }
        for at, dimension in enumerate(DIMENSIONS):
            canonical = _canonical(keys[:, at])
            rollups = summed[canonical.tobytes()]
            numbers, first = np.unique(keys[:, at], return_index=True)
            cell_of = dict(zip(numbers.tolist(), first.tolist(), strict=True))
            for group in self._in_order[dimension]:
                cell = cell_of[self._numbers[dimension][group]]
                yield dimension, group, rollups[canonical[cell]]

    def _number_cells(
        self, samples: dict[str, Int64s], catalogue: Catalogue
    ) -> tuple[Int64s, Int64s]:
        """Return the cell and the device of commands, numbered as groups."""
        columns = []
        for dimension, (positions, members) in group_commands(samples, catalogue).items():
            numbers = self._numbers[dimension]
            of_member = [numbers.setdefault(group, len(numbers)) for group in members]
            columns.append(np.array(of_member, np.int64)[positions])
        cells = [
            self._cells.setdefault(key, len(self._cells))
            for key in zip(*(column.tolist() for column in columns), strict=True)
        ]
        return np.array(cells, np.int64), columns[DIMENSIONS.index(WHOLE_DEVICE)]

    def _add_sums(self, cells: Int64s, commands: CommandColumns) -> None:
        duration, wait = commands.duration_ns, commands.wait_ns
        timed, waited = np.flatnonzero(commands.is_timed), np.flatnonzero(commands.is_waited)
        stamped = np.flatnonzero(commands.has_stamps)
        sized = np.flatnonzero(commands.size_bytes != ABSENT)
        first = np.flatnonzero(commands.is_first_launch)
        awaited = first[(commands.start_device_ns[first] != ABSENT) & (wait[first] >= 0)]
        count = len(self._cells)
        ones = np.ones(len(cells), np.int64)
        for name, chosen, values in (
            ("calls", slice(None), ones),
            ("timed_calls", timed, ones),
            ("total_ns", timed, duration),
            ("size_bytes", sized, commands.size_bytes),
            ("waited_calls", waited, ones),
            ("wait_total_ns", waited, wait),
            ("first_calls", first, ones),
            ("first_wait_ns", awaited, wait),
            ("stamped", stamped, ones),
        ):
            np.add.at(self._sums[name].of(count), cells[chosen], values[chosen])
        np.minimum.at(self._min_ns.of(count), cells[timed], duration[timed])
        np.maximum.at(self._max_ns.of(count), cells[timed], duration[timed])
        self._durations.add(cells[timed], duration[timed])
        self._waits.add(cells[waited], wait[waited])
        if len(stamped):
            start, end = commands.start_device_ns[stamped], commands.end_device_ns[stamped]
            self._busy.add(commands.device_id[stamped].astype(np.int64), start, end, cells[stamped])

    def _roll_up(self, groups: Int64s, busy_ns: Int64s) -> Iterator[Rollup]:
        """Yield the sums of each group of a partition. `groups` are the groups of the cells."""
        cells, size = len(groups), int(groups.max(initial=-1)) + 1
        sums = {name: np.zeros(size, np.int64) for name in _SUMS}
        for name, values in sums.items():
            np.add.at(values, groups, self._sums[name].of(cells))
        lowest, highest = np.full(size, _MAX_NS), np.full(size, -_MAX_NS - 1)
        np.minimum.at(lowest, groups, self._min_ns.of(cells))
        np.maximum.at(highest, groups, self._max_ns.of(cells))
        medians, wait_medians = self._durations.of_groups(groups), self._waits.of_groups(groups)
        for group in range(size):
            own = {name: int(sums[name][group]) for name in _SUMS}
            is_timed, is_stamped = own["timed_calls"] > 0, own.pop("stamped") > 0
            yield Rollup(
                **own,
                min_ns=int(lowest[group]) if is_timed else None,
                median_ns=medians.get(group),
                max_ns=int(highest[group]) if is_timed else None,
                busy_ns=int(busy_ns[group]) if is_stamped else None,
                wait_median_ns=wait_medians.get(group),
            )


class _Sums:
    """A number per cell."""

    def __init__(self, empty: int) -> None:
        self._empty = empty
        self._values = np.full(16, empty)

    def of(self, count: int) -> Int64s:
        """Return the numbers of the first `count` cells, to be changed."""
        while len(self._values) < count:
            self._values = np.append(self._values, np.full_like(self._values, self._empty))
        return self._values[:count]


def _canonical(groups: Int64s) -> Int64s:
    """Return groups numbered in the order in which they first occur."""
    distinct = find_distinct(groups)
    rank = np.empty(len(distinct.first), np.int64)
    rank[np.argsort(distinct.first)] = np.arange(len(rank))
    return rank[distinct.inverse] if len(groups) else groups


class ApiRollupBuilder:
    """Accumulator of the host calls of a process, by entry point."""

    def __init__(self, scratch: Scratch) -> None:
        self._took = Medians(scratch)
        self._apis: dict[int, int] = {}
        self._calls, self._failed, self._total = _Sums(0), _Sums(0), _Sums(0)
        self._min_ns, self._max_ns = _Sums(_MAX_NS), _Sums(-_MAX_NS - 1)

    def add(self, calls: Mapping[str, Int64s]) -> None:
        """Add host calls as columns. Those without `status` did not fail."""
        distinct = find_distinct(calls["api"])
        numbers = [self._apis.setdefault(api, len(self._apis)) for api in distinct.values.tolist()]
        cells = np.array(numbers, np.int64)[distinct.inverse]
        took = calls["return_host_ns"] - calls["enter_host_ns"]
        count = len(self._apis)
        np.add.at(self._calls.of(count), cells, 1)
        if "status" in calls:
            np.add.at(self._failed.of(count), cells[calls["status"] != 0], 1)
        np.add.at(self._total.of(count), cells, took)
        np.minimum.at(self._min_ns.of(count), cells, took)
        np.maximum.at(self._max_ns.of(count), cells, took)
        self._took.add(cells, took)

    def rollups(self) -> Iterator[ApiRollup]:
        """Yield the sums of each entry point, in the order of their numbers."""
        count = len(self._apis)
        medians = self._took.of_groups(np.arange(count))
        columns = (self._calls, self._failed, self._total, self._min_ns, self._max_ns)
        calls, failed, total, lowest, highest = (column.of(count).tolist() for column in columns)
        for api, cell in sorted(self._apis.items()):
            yield ApiRollup(
                api=api,
                calls=calls[cell],
                failed=failed[cell],
                total_ns=total[cell],
                min_ns=lowest[cell],
                median_ns=medians[cell],
                max_ns=highest[cell],
            )


def write_rollups(
    database: TraceDatabase, builder: RollupBuilder, api_rollups: Iterable[tuple[int, ApiRollup]]
) -> None:
    """Write the sums over everything that was added to `builder`, and those of processes' host calls."""
    database.insert(
        schema.ROLLUP,
        ((dimension, *group, *astuple(rollup)) for dimension, group, rollup in builder.rollups()),
    )
    database.insert(
        schema.API_ROLLUP,
        ((process_id, *astuple(rollup)) for process_id, rollup in api_rollups),
    )
