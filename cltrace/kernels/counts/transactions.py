"""Memory transactions of the accesses of warps: sectors, lines and bank cycles, from lane addresses."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.machine import Machine
from cltrace.kernels.values import Array, Value

Counts = NDArray[np.int64]
_MULTIPLIERS: Final = np.random.default_rng(0).integers(1, 1 << 62, 1024) | 1
"""Odd factors of the hash of a row of addresses, one per lane of a warp."""
_FILLING: Final = 2
"""Requests that fill a sector together, up to which each costs as much as one of the whole sector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transactions:
    """The transactions of an access, one entry per warp. `further_requests` are those after the first.

    `touched` concatenates the distinct sectors of each warp, `touched_warp` has the position of the
    warp of each. `stride_bytes` is the distance between neighbouring lanes if it is the same in all
    warps, else None.
    """

    further_requests: Counts
    sectors: Counts
    lines: Counts
    bank_cycles: Counts
    partial_sectors: Counts
    touched: NDArray[np.int64]
    touched_warp: NDArray[np.int64]
    stride_bytes: int | None

    def repeated(self, number: Counts, moved_sectors: NDArray[np.int64]) -> "Transactions":
        """Return the transactions of warps that repeat those of the warp `number`.

        Each touches sectors that are `moved_sectors` further. That is a multiple of a pattern.
        """
        touched, warp = _touched_by_warp(self, number, moved_sectors)
        return Transactions(
            further_requests=self.further_requests[number],
            sectors=self.sectors[number],
            lines=self.lines[number],
            bank_cycles=self.bank_cycles[number],
            partial_sectors=self.partial_sectors[number],
            touched=touched,
            touched_warp=warp,
            stride_bytes=self.stride_bytes,
        )


class _Accessing(Protocol):
    """A place that accesses memory."""

    @property
    def access_bytes(self) -> int:
        """Bytes of an access of a lane."""

    @property
    def request_bytes(self) -> int:
        """Bytes that an instruction of a GPU moves of it."""


@dataclass(frozen=True, slots=True)
class Width:
    """Bytes of an access of a lane, and those that each of its requests moves."""

    access_bytes: int
    request_bytes: int

    @classmethod
    def of(cls, site: _Accessing, machine: Machine) -> "Width":
        """Return the width of a site. Only GPUs have instructions for each lane."""
        return cls(
            site.access_bytes, site.access_bytes if machine.has_item_loops else site.request_bytes
        )

    @property
    def requests(self) -> int:
        """Requests of an access."""
        return -(-self.access_bytes // self.request_bytes) if self.request_bytes else 1

    def parts(self) -> Iterator[tuple[int, int]]:
        """Yield the first byte of each request, and the number of bytes."""
        for number in range(self.requests):
            begin = number * self.request_bytes
            yield begin, min(self.request_bytes, self.access_bytes - begin)


def count_transactions(
    rows: NDArray[np.int64], width: Width, machine: Machine, *, writes: bool
) -> Transactions:
    """Count the transactions of warps whose lanes access memory at the addresses of their row.

    Rows with the same distances between lanes and the same position within a line have the same
    transactions, which are counted once.
    """
    line = pattern_bytes(machine)
    first = rows[:, 0]
    relative = rows - first[:, None]
    phase = first & (line - 1)
    is_alike = bool((relative == relative[0]).all())
    patterns = _distinct_patterns(relative[:1] if is_alike else relative, phase, line)
    stride = _stride_of(relative[0]) if is_alike else None
    if patterns is None:
        return _count_requests(rows, width, machine, stride, writes=writes)
    counted = _count_requests(patterns.rows, width, machine, stride, writes=writes)
    return counted.repeated(patterns.number, (first - phase) // machine.sector_bytes)


def pattern_bytes(machine: Machine) -> int:
    """Return the distance by which addresses can be moved without any change of their transactions."""
    return max(machine.line_bytes, machine.banks * machine.bank_bytes)


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Distinct rows of addresses within a line, and for each warp the number of its row."""

    rows: NDArray[np.int64]
    number: NDArray[np.int64]


def _distinct_patterns(
    relative: NDArray[np.int64], phase: NDArray[np.int64], line: int
) -> _Patterns | None:
    """Return the distinct patterns of rows; None if there are too many to be worth it.

    `relative` has one row if all rows have the same distances between lanes.
    """
    if len(relative) == 1:
        is_used = np.zeros(line, np.bool_)
        is_used[phase] = True
        positions = np.flatnonzero(is_used)
        number = np.empty(line, np.int64)
        number[positions] = np.arange(len(positions))
        return _Patterns(relative[0] + positions[:, None], number[phase])
    rows = relative + phase[:, None]
    hashes = (rows * _MULTIPLIERS[: rows.shape[1]]).sum(axis=1)
    _, index, number = np.unique(hashes, return_index=True, return_inverse=True)
    patterns = rows[index]
    # Rows of equal hashes are nearly always equal.
    if 2 * len(index) > len(rows) or not np.array_equal(patterns[number], rows):
        return None
    return _Patterns(patterns, number)


def _touched_by_warp(
    counted: Transactions, number: NDArray[np.int64], base: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sectors that each warp touches, and the warp of each.

    `counted` are the transactions of patterns, `number` the pattern of each warp, `base` the sector
    that its pattern is relative to.
    """
    lengths = counted.sectors
    length = int(lengths[0])
    if bool((lengths == length).all()):
        own = counted.touched.reshape(len(lengths), length)
        touched = (base[:, None] + own[number]).ravel()
        return touched, np.repeat(np.arange(len(base)), length)
    begins = np.cumsum(lengths) - lengths
    sectors = lengths[number]
    warp = np.repeat(np.arange(len(base)), sectors)
    rank = np.arange(len(warp)) - np.repeat(np.cumsum(sectors) - sectors, sectors)
    return base[warp] + counted.touched[begins[number][warp] + rank], warp


def _stride_of(relative: NDArray[np.int64]) -> int | None:
    """Return the distance between neighbouring lanes of a row if it is the same everywhere."""
    if len(relative) < 2:
        return 0
    step = int(relative[1])
    return step if bool((relative == np.arange(len(relative)) * step).all()) else None


def addresses_by_warp(addresses: Sequence[Value], lanes: Lanes, width: int) -> NDArray[np.int64]:
    """Return the addresses of accesses of the same lanes by access and warp, one row for each.

    All `addresses` are scalars, whose rows have one entry, or all have one entry per lane. Warps have
    `width` lanes; inactive lanes get the address of an active one.
    """
    if type(addresses[0]) is not np.ndarray:
        return np.repeat(np.asarray(addresses, np.int64), len(lanes.warp_begins))[:, None]
    by_access = np.concatenate(addresses) if len(addresses) > 1 else addresses[0]
    if lanes.has_whole_warps:
        return by_access.reshape(-1, width)
    positions = lanes.positions_by_warp
    rows = by_access.reshape(len(addresses), -1)[:, positions.ravel()]
    return rows.reshape(-1, positions.shape[1])


def _count_requests(
    rows: NDArray[np.int64], width: Width, machine: Machine, stride: int | None, *, writes: bool
) -> Transactions:
    """Return the transactions of all requests of an access, which touch sectors again."""
    counted = [
        _count_rows(rows + begin, size, machine, stride, writes=writes)
        for begin, size in width.parts()
    ]
    if len(counted) == 1:
        return counted[0]
    warps = np.concatenate([each.touched_warp for each in counted])
    order = np.argsort(warps, kind="stable")
    partial = [each.partial_sectors for each in counted]
    if writes and _FILLING * width.request_bytes >= machine.sector_bytes:
        partial = [_count_partial_sectors(rows, width.access_bytes, machine)]
    return Transactions(
        further_requests=np.full(len(rows), len(counted) - 1),
        sectors=_sum(each.sectors for each in counted),
        lines=_sum(each.lines for each in counted),
        bank_cycles=_sum(each.bank_cycles for each in counted),
        partial_sectors=_sum(partial),
        touched=np.concatenate([each.touched for each in counted])[order],
        touched_warp=warps[order],
        stride_bytes=stride,
    )


def _sum(parts: Iterable[Counts]) -> Counts:
    total: Counts = np.sum(list(parts), axis=0)
    return total


def _count_rows(
    rows: NDArray[np.int64],
    access_bytes: int,
    machine: Machine,
    stride: int | None,
    *,
    writes: bool,
) -> Transactions:
    sectors, is_first = _distinct_units(rows, access_bytes, machine.sector_bytes)
    counts = is_first.sum(axis=1)
    touched = sectors[is_first]
    warp = np.repeat(np.arange(len(rows)), counts)
    lines = sectors // (machine.line_bytes // machine.sector_bytes)
    is_new_line = np.ones(lines.shape, np.bool_)
    is_new_line[:, 1:] = lines[:, 1:] != lines[:, :-1]
    partial = (
        _count_partial_sectors(rows, access_bytes, machine)
        if writes
        else np.zeros(len(rows), np.int64)
    )
    return Transactions(
        further_requests=np.zeros(len(rows), np.int64),
        sectors=counts,
        lines=is_new_line.sum(axis=1),
        bank_cycles=count_bank_cycles(rows, access_bytes, machine),
        partial_sectors=partial,
        touched=touched,
        touched_warp=warp,
        stride_bytes=stride,
    )


def _distinct_units(
    rows: NDArray[np.int64], size: int, unit: int
) -> tuple[NDArray[np.int64], Array]:
    """Return the memory units per row in order, and a mask of the first of each number."""
    begin = rows // unit
    max_units = int(((rows + size - 1) // unit - begin).max(initial=0)) + 1
    if max_units > 1:
        end = (rows + size - 1) // unit
        begin = np.concatenate(
            [np.minimum(begin + offset, end) for offset in range(max_units)], axis=1
        )
    units = np.sort(begin, axis=1)
    is_first = np.ones(units.shape, np.bool_)
    is_first[:, 1:] = units[:, 1:] != units[:, :-1]
    return units, is_first


def _count_partial_sectors(rows: NDArray[np.int64], size: int, machine: Machine) -> Counts:
    """Count the sectors of which a request writes some bytes but not all."""
    unit = min(size, machine.sector_bytes) if (machine.sector_bytes % max(size, 1)) == 0 else 1
    pieces, first = _distinct_units(rows, size, unit)
    per_sector = machine.sector_bytes // unit
    sector = pieces // per_sector
    number = (
        np.cumsum(
            np.concatenate(
                [np.ones((len(rows), 1), np.bool_), sector[:, 1:] != sector[:, :-1]], axis=1
            ).ravel()
        )
        - 1
    )
    filled = np.bincount(number, weights=first.ravel())
    row = np.zeros(len(filled), np.int64)
    row[number] = np.repeat(np.arange(len(rows)), pieces.shape[1])
    return np.bincount(row, weights=filled < per_sector, minlength=len(rows)).astype(np.int64)


def count_bank_cycles(rows: NDArray[np.int64], access_bytes: int, machine: Machine) -> Counts:
    """Return the cycles that the banks need for each row; lanes that access the same word share one.

    Wide accesses take several passes, each for a half or a quarter of the lanes.
    """
    if machine.banks <= 1 or not rows.size:
        return np.ones(len(rows), np.int64)
    words = -(-access_bytes // machine.bank_bytes)
    passes = 1
    while passes < words and rows.shape[1] % (passes * 2) == 0:
        passes *= 2
    parts = rows.reshape(len(rows) * passes, -1)
    ordered, first = _distinct_units(parts, access_bytes, machine.bank_bytes)
    number = np.arange(len(parts))[:, None] * machine.banks + ordered % machine.banks
    load = np.bincount(number[first], minlength=len(parts) * machine.banks)
    max_load = load.reshape(len(parts), machine.banks).max(axis=1)
    cycles: Counts = max_load.reshape(len(rows), passes).sum(axis=1)
    return cycles


def lanes_per_address(rows: NDArray[np.int64], active: Counts) -> NDArray[np.float64]:
    """Return the mean number of active lanes per distinct address, for each warp."""
    _, first = _distinct_units(rows, 1, 1)
    lanes: NDArray[np.float64] = active / np.maximum(first.sum(axis=1), 1)
    return lanes
