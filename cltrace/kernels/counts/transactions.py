"""Memory transactions of the accesses of warps: sectors, lines and bank cycles, from lane addresses."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.machine import Machine
from cltrace.kernels.values import Array, Value

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transactions:
    """The transactions of an access, one entry per warp.

    `touched` concatenates the distinct sectors of each warp, `touched_warp` has the position of the
    warp of each. `stride_bytes` is the distance between neighbouring lanes if it is the same in all
    warps, else None.
    """

    sectors: Counts
    lines: Counts
    bank_cycles: Counts
    partial_sectors: Counts
    touched: NDArray[np.int64]
    touched_warp: NDArray[np.int64]
    stride_bytes: int | None


class TransactionCache:
    """The transactions of a site, cached by address pattern.

    In most accesses all warps have the same distances between lanes, each time. The transactions of
    such a pattern depend only on its first address within a line, and are computed once per such
    position.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._line = max(machine.line_bytes, machine.banks * machine.bank_bytes)
        self._pattern: NDArray[np.int64] | None = None
        self._table = np.zeros((5, self._line), np.int64)
        """By first address: 1 if cached, sectors, lines, bank cycles, partial sectors."""
        self._touched: list[NDArray[np.int64]] = []

    def transactions(
        self, address: Value, access_bytes: int, lanes: Lanes, *, writes: bool
    ) -> Transactions:
        """Return the transactions of lanes that access `access_bytes` at their addresses."""
        rows = addresses_by_warp(address, lanes, self._machine.warp_width)
        first = rows[:, 0]
        relative = rows - first[:, None]
        if len(rows) > 1 and not (relative == relative[0]).all():
            return _count_rows(
                rows, access_bytes, self._machine, _common_stride(relative), writes=writes
            )
        pattern = relative[0] if len(rows) else np.zeros(0, np.int64)
        if self._pattern is None or not np.array_equal(pattern, self._pattern):
            self._pattern = pattern
            self._table[0] = 0
            self._touched = [np.zeros(0, np.int64)] * self._line
        phase = first & (self._line - 1)
        positions = np.unique(phase)
        for position in positions[self._table[0, positions] == 0]:
            self._add_position(int(position), pattern, access_bytes, writes=writes)
        sectors = self._table[1, phase]
        base = (first - phase) // self._machine.sector_bytes
        touched, warp = self._touched_by_warp(phase, base, sectors, positions)
        return Transactions(
            sectors=sectors,
            lines=self._table[2, phase],
            bank_cycles=self._table[3, phase],
            partial_sectors=self._table[4, phase],
            touched=touched,
            touched_warp=warp,
            stride_bytes=_common_stride(relative[:1]),
        )

    def _add_position(
        self, position: int, pattern: NDArray[np.int64], access_bytes: int, *, writes: bool
    ) -> None:
        transactions = _count_rows(
            (pattern + position)[None], access_bytes, self._machine, None, writes=writes
        )
        self._table[:, position] = (
            1,
            transactions.sectors[0],
            transactions.lines[0],
            transactions.bank_cycles[0],
            transactions.partial_sectors[0],
        )
        self._touched[position] = transactions.touched

    def _touched_by_warp(
        self, phase: Counts, base: Counts, sectors: Counts, positions: Counts
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the sectors that each warp touches, and the warp of each."""
        if len(positions) == 1:
            own = self._touched[int(positions[0])]
            touched = (base[:, None] + own).ravel()
            return touched, np.repeat(np.arange(len(base)), len(own))
        starts = np.zeros(self._line, np.int64)
        lengths = self._table[1, positions]
        starts[positions] = np.cumsum(lengths) - lengths
        pool = np.concatenate([self._touched[int(position)] for position in positions])
        warp = np.repeat(np.arange(len(base)), sectors)
        rank = np.arange(len(warp)) - np.repeat(np.cumsum(sectors) - sectors, sectors)
        return base[warp] + pool[starts[phase][warp] + rank], warp


def _common_stride(relative: NDArray[np.int64]) -> int | None:
    """Return the distance between neighbouring lanes if it is the same everywhere."""
    if relative.shape[1] < 2 or not len(relative):
        return 0
    step = int(relative[0, 1])
    even = np.arange(relative.shape[1]) * step
    return step if bool((relative == even).all()) else None


def addresses_by_warp(address: Value, lanes: Lanes, width: int) -> NDArray[np.int64]:
    """Return addresses by warp: shape (warps, width).

    Inactive lanes get the address of an active one.
    """
    if type(address) is not np.ndarray:
        return np.full((len(lanes.warp_begins), 1), address, np.int64)
    if lanes.has_whole_warps:
        return address.reshape(-1, width)
    begins = lanes.warp_begins
    counts = np.diff(np.append(begins, lanes.count))
    rows = np.repeat(address[begins][:, None], width, axis=1)
    number = np.repeat(np.arange(len(begins)), counts)
    rows[number, np.arange(lanes.count) - begins[number]] = address
    if len(counts) and int(counts.max()) < width:
        rows = rows[:, : int(counts.max())]
    return rows


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
