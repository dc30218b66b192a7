"""Observer that records the events of work-items."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.builtins.mangling import demangle
from cltrace.kernels.events.annotations import Emission
from cltrace.kernels.events.decisions import DecisionModel
from cltrace.kernels.events.records import AccessTable, EventKind, ValueTable
from cltrace.kernels.events.stream_tree import StreamTree
from cltrace.kernels.events.value_columns import count_earlier
from cltrace.kernels.execute.lanes import Grid, Lanes
from cltrace.kernels.execute.memory import SHIFT, Memory
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.ir.instructions import Call
from cltrace.kernels.values import Array, Value, broadcast

_BARRIERS: Final = frozenset({"barrier", "work_group_barrier", "wait_group_events"})
"""Functions that order the accesses of a work-group. A wait for copies orders all of them."""
_BOTH_FENCES: Final = 3
_KIND_BY_FENCES: Final = (
    EventKind.UNFENCED_BARRIER,
    EventKind.LOCAL_BARRIER,
    EventKind.GLOBAL_BARRIER,
    EventKind.FULL_BARRIER,
)
"""Kinds by flags: `CLK_LOCAL_MEM_FENCE` is 1, `CLK_GLOBAL_MEM_FENCE` is 2."""
_OFFSET_MASK: Final = np.int64((1 << SHIFT) - 1)
_COLUMNS: Final = 6


class EventObserver:
    """An observer that records what every work-item does.

    `sizes` has the number of operations of each block. Of accesses, those at `recorded_sites` of objects
    for which `is_recorded` is true are kept, at most `max_accesses`.
    """

    def __init__(
        self,
        kernel: PreparedKernel,
        model: DecisionModel,
        grid: Grid,
        sizes: Mapping[int, int],
        is_recorded: Callable[[int], bool],
        recorded_sites: frozenset[int],
        *,
        max_accesses: int,
        max_nodes: int,
    ) -> None:
        self._model = model
        self._grid = grid
        self._sizes = sizes
        self._is_recorded = is_recorded
        self._recorded_sites = recorded_sites
        self._max_accesses = max_accesses
        self._barriers = find_barriers(kernel)
        self._barrier_sites = {
            block: len(kernel.sites) + position for position, block in enumerate(self._barriers)
        }
        self.streams = StreamTree(grid.count, max_nodes)
        self._last_block: NDArray[np.int64] = np.full(grid.count, -1, np.int64)
        self._epoch: NDArray[np.int64] = np.zeros(grid.count, np.int64)
        self.item_operations: NDArray[np.int64] = np.zeros(grid.count, np.int64)
        self.warp_operations: NDArray[np.int64] = np.zeros(grid.warps, np.int64)
        self._parts: list[tuple[Array, ...]] = []
        self._step = 0
        self.num_accesses = 0
        self.dropped_accesses = 0
        self._values: list[tuple[Array, ...]] = []
        self._num_values = 0
        self.dropped_values = 0

    def on_block(self, block: int, lanes: Lanes) -> None:
        """Add the bits of the decisions that led here, the barrier that begins here, and the work."""
        self._decide(block, lanes)
        self._last_block[lanes.index] = block
        if block in self._barriers:
            self._record(self._barrier_sites[block], None, lanes)
            self._epoch[lanes.index] += 1
        size = self._sizes[block]
        if size:
            self.item_operations[lanes.index] += size
            self.warp_operations[lanes.warp_numbers] += size

    def on_branch(self, block: int, taken: Array, lanes: Lanes) -> None:
        """Ignore the action: the next block shows where each lane went."""

    def on_access(self, site: int, address: Value, lanes: Lanes, _memory: Memory) -> None:
        """Record the accesses of lanes."""
        if site not in self._recorded_sites:
            return
        if type(address) is not np.ndarray:
            if self._is_recorded(int(address) >> SHIFT):
                self._record(site, np.full(lanes.count, address, np.int64), lanes)
            return
        numbers = address >> SHIFT
        first = int(numbers[0]) if len(numbers) else 0
        if (numbers == first).all():
            if self._is_recorded(first):
                self._record(site, address, lanes)
            return
        mask = np.isin(
            numbers, [number for number in np.unique(numbers) if self._is_recorded(number)]
        )
        self._record(site, address[mask], lanes.where(mask))

    def _decide(self, block: int, lanes: Lanes) -> None:
        """Add the bits of the decisions by which lanes came to a block."""
        sources = self._last_block[lanes.index]
        if not len(sources):
            return
        first = int(sources[0])
        if (sources == first).all():
            self._extend(first, block, lanes.index)
            return
        for source in np.flatnonzero(np.bincount(sources + 1)) - 1:
            self._extend(int(source), block, lanes.index[sources == source])

    def _extend(self, source: int, block: int, items: NDArray[np.int64]) -> None:
        targets = self._model.targets.get(source)
        if targets is None:
            return
        position = targets.index(block)
        for _ in range(min(position, len(targets) - 1)):
            self.streams.extend(items, 0)
        if position < len(targets) - 1:
            self.streams.extend(items, 1)

    def _record(self, site: int, address: Array | None, lanes: Lanes) -> None:
        """Add an event per lane. `address` is None for barriers."""
        rows = lanes.index
        kept = min(len(rows), max(self._max_accesses - self.num_accesses, 0))
        self.dropped_accesses += len(rows) - kept
        self.num_accesses += kept
        if kept < len(rows):
            rows = rows[:kept]
            address = address[:kept] if address is not None else None
        if address is None:
            address = np.full(len(rows), -1, np.int64)
        numbers = np.full(len(rows), site), np.full(len(rows), self._step)
        self._parts.append((rows, address, self._epoch[rows], *numbers))
        self._step += 1

    def on_value(self, emission: int, index: Value, value: Value, lanes: Lanes) -> None:
        """Record values of lanes: those of a vector's components have successive numbers."""
        indices = broadcast(index, lanes.count)
        for number, part in enumerate(value if type(value) is tuple else (value,), emission):
            kept = min(lanes.count, max(self._max_accesses - self._num_values, 0))
            self.dropped_values += lanes.count - kept
            self._num_values += kept
            values = broadcast(part, lanes.count)[:kept]
            columns = (lanes.index[:kept], np.full(kept, number), indices[:kept].astype(np.int64))
            self._values.append((*columns, values))

    def values(self, emissions: Sequence[Emission]) -> ValueTable:
        """Return the recorded values."""
        if not self._values:
            nothing = np.zeros(0, np.int64)
            return ValueTable(nothing, nothing, nothing, np.zeros(0))
        rows, numbers, indices, values = zip(*self._values, strict=True)
        numbers_of_values = [
            _as_type(part, emissions[int(number[0])].type) if len(part) else part.astype(np.float64)
            for number, part in zip(numbers, values, strict=True)
        ]
        row, emission = np.concatenate(rows), np.concatenate(numbers)
        index = np.concatenate(indices)
        is_counted = index == -1
        index[is_counted] = count_earlier(row[is_counted] * len(emissions) + emission[is_counted])
        return ValueTable(row, emission, index, np.concatenate(numbers_of_values))

    def accesses(self, memory_bytes: NDArray[np.int64]) -> AccessTable:
        """Return the recorded events of memory. Addresses outside of all objects have none.

        `memory_bytes` are the sizes of the objects.
        """
        columns = [np.concatenate(column) for column in zip(*self._parts, strict=True)] or [
            np.zeros(0, np.int64) for _ in range(_COLUMNS - 1)
        ]
        row, address, epoch, site, step = columns
        memory = (address >> SHIFT) - 1
        sizes = np.append(memory_bytes, 0)
        is_object = (address >= 0) & (memory >= 0) & (memory < len(memory_bytes))
        is_outside = (address & _OFFSET_MASK) >= sizes[np.where(is_object, memory, -1)]
        return AccessTable(
            row,
            site,
            np.where(is_outside, -1, memory),
            np.where(is_outside, 0, address & _OFFSET_MASK),
            epoch,
            step,
        )


def _as_type(values: Array, type_name: str) -> NDArray[np.float64]:
    """Return numbers of an OpenCL type, whose bits are those of signed numbers."""
    if type_name == "half":
        return values.astype(np.float16).astype(np.float64)
    is_unsigned = type_name.startswith("u") or type_name == "size_t"
    if is_unsigned and values.dtype.kind == "i":
        values = values.view(f"u{values.dtype.itemsize}")
    return values.astype(np.float64)


def find_barriers(kernel: PreparedKernel) -> Mapping[int, tuple[Call, EventKind]]:
    """Return the barriers of a kernel with their kinds, by the block that each begins."""
    constants = kernel.function.integer_constants()
    barriers: dict[int, tuple[Call, EventKind]] = {}
    for number in kernel.graph.order:
        instructions: Sequence[object] = kernel.function.blocks[number].instructions
        first = instructions[0] if instructions else None
        if isinstance(first, Call) and demangle(first.callee).name in _BARRIERS:
            is_wait = demangle(first.callee).name == "wait_group_events"
            flags = _BOTH_FENCES if is_wait else constants.get(first.arguments[0], _BOTH_FENCES)
            barriers[number] = (first, _KIND_BY_FENCES[flags & _BOTH_FENCES])
    return barriers
