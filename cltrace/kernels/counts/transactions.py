"""What the accesses of warps cost memory: sectors, lines, rounds of banks, from lane-exact addresses."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.machine import Machine
from cltrace.kernels.values import Array, Value

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Transactions:
    """The transactions of an access, one entry a warp.

    `touched` are the different sectors of each warp one after the other, `touched_warp` the position of
    the warp of each. `stride_bytes` is the distance of lanes where it is the same in all warps.
    """

    sectors: Counts
    lines: Counts
    bank_cycles: Counts
    partial_sectors: Counts
    touched: NDArray[np.int64]
    touched_warp: NDArray[np.int64]
    stride_bytes: int | None


class Patterns:
    """The transactions of a site, access by access.

    In most accesses all warps have their lanes at the same distances, time after time. What such a
    pattern costs depends only on where it begins within a line, and is worked out once for each place.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._line = max(machine.line_bytes, machine.banks * machine.bank_bytes)
        self._pattern: NDArray[np.int64] | None = None
        self._table = np.zeros((5, self._line), np.int64)
        """By where a pattern begins: whether it is known, sectors, lines, bank cycles, partial."""
        self._touched: list[NDArray[np.int64]] = []

    def transactions(
        self, address: Value, access_bytes: int, lanes: Lanes, *, writes: bool
    ) -> Transactions:
        """The transactions of lanes that access `access_bytes` at their addresses."""
        rows = rows_of(address, lanes, self._machine.warp_width)
        first = rows[:, 0]
        relative = rows - first[:, None]
        if len(rows) > 1 and not (relative == relative[0]).all():
            return _of_rows(rows, access_bytes, self._machine, _common(relative), writes=writes)
        pattern = relative[0] if len(rows) else np.zeros(0, np.int64)
        if self._pattern is None or not np.array_equal(pattern, self._pattern):
            self._pattern = pattern
            self._table[0] = 0
            self._touched = [np.zeros(0, np.int64)] * self._line
        phase = first & (self._line - 1)
        present = np.unique(phase)
        for place in present[self._table[0, present] == 0]:
            self._learn(int(place), pattern, access_bytes, writes=writes)
        sectors = self._table[1, phase]
        base = (first - phase) // self._machine.sector_bytes
        touched, warp = self._spread(phase, base, sectors, present)
        return Transactions(
            sectors=sectors,
            lines=self._table[2, phase],
            bank_cycles=self._table[3, phase],
            partial_sectors=self._table[4, phase],
            touched=touched,
            touched_warp=warp,
            stride_bytes=_common(relative[:1]),
        )

    def _learn(
        self, place: int, pattern: NDArray[np.int64], access_bytes: int, *, writes: bool
    ) -> None:
        found = _of_rows((pattern + place)[None], access_bytes, self._machine, None, writes=writes)
        self._table[:, place] = (
            1, found.sectors[0], found.lines[0], found.bank_cycles[0], found.partial_sectors[0],
        )  # fmt: skip
        self._touched[place] = found.touched

    def _spread(
        self, phase: Counts, base: Counts, sectors: Counts, present: Counts
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The sectors that each warp touches, and the warp of each."""
        if len(present) == 1:
            own = self._touched[int(present[0])]
            touched = (base[:, None] + own).ravel()
            return touched, np.repeat(np.arange(len(base)), len(own))
        starts = np.zeros(self._line, np.int64)
        lengths = self._table[1, present]
        starts[present] = np.cumsum(lengths) - lengths
        pool = np.concatenate([self._touched[int(place)] for place in present])
        warp = np.repeat(np.arange(len(base)), sectors)
        within = np.arange(len(warp)) - np.repeat(np.cumsum(sectors) - sectors, sectors)
        return base[warp] + pool[starts[phase][warp] + within], warp


def _common(relative: NDArray[np.int64]) -> int | None:
    """The distance of neighbouring lanes, where it is the same everywhere."""
    if relative.shape[1] < 2 or not len(relative):
        return 0
    step = int(relative[0, 1])
    even = np.arange(relative.shape[1]) * step
    return step if bool((relative == even).all()) else None


def rows_of(address: Value, lanes: Lanes, width: int) -> NDArray[np.int64]:
    """Addresses by warp, shape (warps, width). Lanes that are not active have an active one's address."""
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


def _of_rows(
    rows: NDArray[np.int64],
    access_bytes: int,
    machine: Machine,
    stride: int | None,
    *,
    writes: bool,
) -> Transactions:
    sectors, first = _distinct(rows, access_bytes, machine.sector_bytes)
    counts = first.sum(axis=1)
    touched = sectors[first]
    warp = np.repeat(np.arange(len(rows)), counts)
    lines = sectors // (machine.line_bytes // machine.sector_bytes)
    new_line = np.ones(lines.shape, np.bool_)
    new_line[:, 1:] = lines[:, 1:] != lines[:, :-1]
    partial = _partial(rows, access_bytes, machine) if writes else np.zeros(len(rows), np.int64)
    return Transactions(
        sectors=counts,
        lines=new_line.sum(axis=1),
        bank_cycles=bank_cycles(rows, access_bytes, machine),
        partial_sectors=partial,
        touched=touched,
        touched_warp=warp,
        stride_bytes=stride,
    )


def _distinct(rows: NDArray[np.int64], size: int, unit: int) -> tuple[NDArray[np.int64], Array]:
    """Units of memory by row, in order, and which of them are the first of their number."""
    begin = rows // unit
    most = int(((rows + size - 1) // unit - begin).max(initial=0)) + 1
    if most > 1:
        end = (rows + size - 1) // unit
        begin = np.concatenate([np.minimum(begin + part, end) for part in range(most)], axis=1)
    ordered = np.sort(begin, axis=1)
    first = np.ones(ordered.shape, np.bool_)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return ordered, first


def _partial(rows: NDArray[np.int64], size: int, machine: Machine) -> Counts:
    """Sectors of which a request writes some bytes and not all."""
    unit = min(size, machine.sector_bytes) if (machine.sector_bytes % max(size, 1)) == 0 else 1
    pieces, first = _distinct(rows, size, unit)
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


def bank_cycles(rows: NDArray[np.int64], access_bytes: int, machine: Machine) -> Counts:
    """The rounds that banks need for each row: lanes at the same word share one.

    Wide accesses go in several passes, in which a half or a quarter of the lanes take part.
    """
    if machine.banks <= 1 or not rows.size:
        return np.ones(len(rows), np.int64)
    words = -(-access_bytes // machine.bank_bytes)
    passes = 1
    while passes < words and rows.shape[1] % (passes * 2) == 0:
        passes *= 2
    parts = rows.reshape(len(rows) * passes, -1)
    ordered, first = _distinct(parts, access_bytes, machine.bank_bytes)
    number = np.arange(len(parts))[:, None] * machine.banks + ordered % machine.banks
    load = np.bincount(number[first], minlength=len(parts) * machine.banks)
    most = load.reshape(len(parts), machine.banks).max(axis=1)
    cycles: Counts = most.reshape(len(rows), passes).sum(axis=1)
    return cycles


def contention(rows: NDArray[np.int64], active: Counts) -> NDArray[np.float64]:
    """How many active lanes of each warp meet at an address, at most one counted for the filling."""
    _, first = _distinct(rows, 1, 1)
    found: NDArray[np.float64] = active / np.maximum(first.sum(axis=1), 1)
    return found
