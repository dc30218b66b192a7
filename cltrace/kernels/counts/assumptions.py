"""Values that depend on unknown contents, supplied to an execution according to a scenario."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.scenarios import (
    AddressAssumption,
    BranchAssumption,
    Scenario,
    scale_trips,
)
from cltrace.kernels.counts.unknown_branches import code_size, find_entry_condition, find_exits
from cltrace.kernels.counts.unknowns import Unknowns
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.memory import SHIFT, Memory
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.execute.state import Frame
from cltrace.kernels.flow.rare_conditions import RARE_SHARE_INVERSE
from cltrace.kernels.ir.instructions import Access, Branch, Switch
from cltrace.kernels.ir.types import PRIVATE
from cltrace.kernels.values import Array, Value

_RUN_LANES: Final = 8
"""Lanes of a run: those of a warp that a partition into four parts moves together."""
_HALF_OBJECT: Final = 1 << (SHIFT - 1)
_SELECTS: Final = 1 << 32
"""Key of the visits of slot 0, beyond those of all sites."""


class _Extents:
    """Extents of private variables: the bytes from the begin of each to its furthest known access."""

    def __init__(self, overwriting: frozenset[int]) -> None:
        """`overwriting` are the sites that write a variable anywhere."""
        self._overwriting = overwriting
        self._ends: dict[int, int] = {}

    def note(self, address: Value, access_bytes: int) -> None:
        """Note an access of lanes at known addresses."""
        numbers = np.atleast_1d(_object_numbers(address))
        offsets = np.atleast_1d(np.asarray(address, np.int64)) - (numbers << SHIFT)
        for number in np.unique(numbers).tolist():
            end = int(offsets[numbers == number].max()) + access_bytes
            self._ends[number] = max(self._ends.get(number, 0), end)

    def of(self, site: int, number: int, size_bytes: int, access_bytes: int) -> int:
        """Return how far a variable has been accessed at an access; all of it if it has not been."""
        if site in self._overwriting:
            self._ends[number] = size_bytes
        return min(max(self._ends.get(number, size_bytes), access_bytes), size_bytes)


class ScenarioRedirection:
    """A redirection for one execution, which supplies unknown values according to a scenario."""

    def __init__(
        self,
        sliced_kernel: PreparedKernel,
        scenario: Scenario,
        group_items: int,
        unknowns: Unknowns,
    ) -> None:
        self._unknowns = unknowns
        self._prepared = sliced_kernel
        self._scenario = scenario
        self._group_items = group_items
        self._visits: dict[int, int] = {}
        self._shorter_targets: dict[int, int] = {}
        """By block, the number of the branch target with less code."""
        self._extents = _Extents(_overwriting_sites(sliced_kernel))
        self._trips: dict[int, NDArray[np.int64]] = {}
        self._exits = {block: find_exits(sliced_kernel, block) for block in sliced_kernel.blocks}
        self._guards = {
            block: find_entry_condition(sliced_kernel, block, unknowns.blocks)
            for block in unknowns.blocks
        }

    def redirect_address(self, site: int, address: Value, lanes: Lanes, memory: Memory) -> Value:
        """Return addresses within the objects that the lanes point into.

        Where neighbours differ by known distances, they are moved as a whole. Known addresses stay.
        """
        if site not in self._unknowns.sites:
            self._extents.note(address, self._prepared.sites[site].access_bytes)
            return address
        visit = self._visits[site] = self._visits.get(site, 0) + 1
        if type(address) is not np.ndarray:
            return self._move(site, visit, address, lanes, memory)
        numbers = _object_numbers(address)
        if (numbers == numbers[:1]).all():
            return self._move(site, visit, address, lanes, memory)
        moved = np.empty(lanes.count, np.int64)
        for number in np.unique(numbers):
            mask = numbers == number
            part = lanes.where(mask)
            moved[mask] = self._move(site, visit, address[mask], part, memory)
        return moved

    def _move(self, site: int, visit: int, address: Value, lanes: Lanes, memory: Memory) -> Value:
        """Return addresses within the one object that the lanes point into."""
        first = int(_object_numbers(address).flat[0])
        if not 0 < first < len(memory.objects):
            return address
        size = self._prepared.sites[site].access_bytes
        # Unknown places in a private variable are among those that the work-item has set before.
        extent = self._extents.of(site, first, memory.objects[first].size_bytes, size)
        num_positions = extent // max(size, 1)
        if num_positions < 1:
            return address
        neighbours = self._unknowns.shared_sites.get(site)
        if neighbours is not None:
            shift = _draw(self._linear_ids(lanes) // neighbours, visit, num_positions)
            if self._scenario.addresses is AddressAssumption.COALESCED:
                shift -= shift % lanes.grid.warp_width
            moved = (address - (first << SHIFT) + shift * size) % (num_positions * size)
            return np.int64(first << SHIFT) + moved
        is_private = memory.objects[first].space == PRIVATE
        position = self._positions(site, visit, num_positions, lanes, is_private=is_private)
        return np.int64(first << SHIFT) + position * size

    def _positions(
        self, site: int, visit: int, num_positions: int, lanes: Lanes, *, is_private: bool
    ) -> NDArray[np.int64]:
        """Return the assumed positions of lanes in an object, in units of the access.

        Private variables of neighbours lie side by side, so lanes at one position are coalesced. Each
        lane has its own variables, so nothing keeps the writes of neighbours together.
        """
        item = self._linear_ids(lanes)
        assumption = self._address_assumption(site, is_private=is_private)
        if assumption is AddressAssumption.WINDOWS:
            return (item + visit) % num_positions
        if assumption is AddressAssumption.COALESCED:
            if is_private:
                return np.full(lanes.count, visit % num_positions)
            return (item + visit * lanes.grid.count) % num_positions
        run_lanes = _RUN_LANES if assumption is AddressAssumption.RUNS else 1
        run = _draw(item // run_lanes, visit, num_positions)
        return (run + item % run_lanes) % num_positions

    def _address_assumption(self, site: int, *, is_private: bool) -> AddressAssumption:
        """Return what is assumed of the addresses of a site."""
        if site in self._unknowns.near_sites:
            return self._scenario.texels
        is_write = self._prepared.sites[site].access is Access.WRITE and not is_private
        return self._scenario.writes if is_write else self._scenario.addresses

    def _linear_ids(self, lanes: Lanes) -> NDArray[np.int64]:
        grid = lanes.grid
        return lanes.take(grid.group_numbers[grid.group] * self._group_items + grid.linear_in_group)

    def redirect_branch(self, block: int, frame: Frame, lanes: Lanes) -> Value:
        """Return the direction of lanes at a branch, or their exit from a loop."""
        assumed = self._assume_branch(block, lanes)
        parts = self._unknowns.known_parts.get(block)
        if parts is None:
            return assumed
        decided = np.zeros(lanes.count, np.bool_)
        for slot in parts.slots:
            decided |= np.equal(frame[slot], parts.decides)
        exits = self._exits[block]
        if exits is not None and exits[int(parts.decides)]:
            self._trips_of(block, lanes)[lanes.index[decided]] = 0
        return np.where(decided, parts.decides, assumed)

    def _assume_branch(self, block: int, lanes: Lanes) -> Value:
        exits = self._exits[block]
        if exits is not None:
            return self._leave_loop(block, exits, lanes)
        entry_condition = self._guards.get(block)
        if entry_condition is not None:
            enters = self._scenario.branches is not BranchAssumption.SHORTER
            return np.full(lanes.count, entry_condition == enters)
        terminator = self._prepared.blocks[block].terminator
        visit = self._visits[-1 - block] = self._visits.get(-1 - block, 0) + 1
        num_targets = len(terminator.cases) + 1 if isinstance(terminator, Switch) else 2
        if self._scenario.branches is BranchAssumption.BOTH:
            items, width = self._linear_ids(lanes), lanes.grid.warp_width
            targets = _targets_of_both(self._unknowns, block, visit, num_targets, items, width)
        else:
            targets = np.full(lanes.count, self._directed_target(block, num_targets), np.int64)
        return targets if isinstance(terminator, Switch) else targets != 0

    def redirect_select(self, slot: int, condition: int, lanes: Lanes) -> Value:
        """Return the condition by which lanes select a value: half of them each, or all the same.

        Selections by one condition agree, as those of both ends of an interval in a binary search do.
        """
        visit = self._visits[_SELECTS + slot] = self._visits.get(_SELECTS + slot, 0) + 1
        if self._scenario.addresses is AddressAssumption.COALESCED:
            return np.bool_(visit & 1)
        deciders = self._linear_ids(lanes) // self._unknowns.shared_selects.get(slot, 1)
        hashed = _hash(deciders * 31 + np.int64(condition * 7919 + visit))
        return hashed % np.uint64(2) != 0

    def _directed_target(self, block: int, num_targets: int) -> int:
        """Return the number of the target with less or more code. Target 1 of a branch is its first."""
        terminator = self._prepared.blocks[block].terminator
        if not isinstance(terminator, Branch):
            return 0 if self._scenario.branches is BranchAssumption.SHORTER else num_targets - 1
        shorter = self._shorter_targets.get(block)
        if shorter is None:
            then_size = code_size(self._prepared, terminator.then, terminator.otherwise)
            otherwise_size = code_size(self._prepared, terminator.otherwise, terminator.then)
            shorter = self._shorter_targets[block] = int(otherwise_size > then_size)
        return shorter if self._scenario.branches is BranchAssumption.SHORTER else 1 - shorter

    def leaves_loops(self, block: int) -> bool:
        """Return True if a target of a block's branch is outside the block's loop."""
        return self._exits[block] is not None

    def trips_left(self, block: int, lanes: Lanes) -> int:
        """Return the assumed number of remaining trips of the loop that `block` leaves.

        All `lanes` entered the loop together.
        """
        return self._max_trips(block) - int(self._trips_of(block, lanes)[lanes.index].max())

    def _max_trips(self, block: int) -> int:
        """Return the runs of `block` per loop entry: one more if it precedes the body."""
        graph = self._prepared.graph
        loop = graph.loop_of[block]
        header = graph.loops[loop].header
        trips = self._scenario.trips
        assumed = self._unknowns.assumed_trips.get(loop)
        if assumed is not None:
            trips = assumed.count
            if not assumed.is_exact:
                trips = scale_trips(assumed.count, self._scenario)
        return trips + (block == header and block not in graph.successors[block])

    def skip_trips(self, block: int, lanes: Lanes, trips: int) -> None:
        """Advance lanes by `trips` trips of the loop that `block` leaves."""
        self._trips_of(block, lanes)[lanes.index] += trips

    def _trips_of(self, block: int, lanes: Lanes) -> NDArray[np.int64]:
        trips = self._trips.get(block)
        if trips is None:
            trips = self._trips[block] = np.zeros(lanes.grid.count, np.int64)
        return trips

    def _leave_loop(self, block: int, exits: Array, lanes: Lanes) -> Value:
        """Return the lanes' direction: out of the loop after the scenario's number of trips."""
        trips = self._trips_of(block, lanes)
        trip_numbers = trips[lanes.index] + 1
        leaves = trip_numbers >= self._max_trips(block)
        trips[lanes.index] = np.where(leaves, 0, trip_numbers)
        if len(exits) == 2 and isinstance(self._prepared.blocks[block].terminator, Branch):
            return leaves == bool(exits[1])
        exit_target, loop_target = int(np.argmax(exits)), int(np.argmin(exits))
        return np.where(leaves, exit_target, loop_target)


def _overwriting_sites(kernel: PreparedKernel) -> frozenset[int]:
    """Return the sites that write private variables at other places than reads."""
    read = {site.pointer for site in kernel.sites if site.access is Access.READ}
    return frozenset(
        site.number
        for site in kernel.sites
        if site.space == PRIVATE and site.access is not Access.READ and site.pointer not in read
    )


def _object_numbers(address: Value) -> NDArray[np.int64]:
    """Return the number of the object of each address, which may lie before its object, too."""
    return (np.asarray(address, np.int64) + _HALF_OBJECT) >> SHIFT


def _draw(number: NDArray[np.int64], visit: int, positions: int) -> NDArray[np.int64]:
    """Return a random position for each number, another one at each visit."""
    hashed = _hash(number + np.int64(visit) * np.int64(0x632BE5AB)) % np.uint64(positions)
    return hashed.astype(np.int64)


def _targets_of_both(
    unknowns: Unknowns,
    block: int,
    visit: int,
    num_targets: int,
    items: NDArray[np.int64],
    warp_width: int,
) -> NDArray[np.int64]:
    """Return targets that are drawn for each work-item, or for neighbours that branch together.

    A rare target is drawn for whole warps, as equal values lie together.
    """
    neighbours = unknowns.shared_blocks.get(block, 1)
    rare = unknowns.rare_targets.get(block)
    if rare is not None:
        neighbours, num_targets = max(neighbours, warp_width), RARE_SHARE_INVERSE
    hashed = _hash(items // neighbours * 31 + np.int64(block * 7919 + visit))
    targets = (hashed % np.uint64(num_targets)).astype(np.int64)
    return targets if rare is None else np.where(targets == 0, rare, 1 - rare)


def _hash(value: NDArray[np.int64]) -> NDArray[np.uint64]:
    mixed = value.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(29))
