"""Assumptions about values that depend on unknown contents.

Unknown addresses are assumed to be coalesced in one scenario and random within their memory in
another. Unknown branches are taken in both directions, and unknown loops have an assumed number of
trips. The scenarios together bound the counts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.records import Assumption
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.memory import SHIFT, Memory
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.execute.state import Frame
from cltrace.kernels.flow.known_conditions import KnownParts
from cltrace.kernels.flow.taint import Taint
from cltrace.kernels.ir.instructions import Access, Branch, Select, Switch
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.values import Array, Value, broadcast

MIN_TRIPS: Final = 2
TYPICAL_TRIPS: Final = 16
MAX_TRIPS: Final = 64
_RUN_LANES: Final = 8
"""Lanes of a run: those of a warp that a partition into four parts moves together."""
_SELECTS: Final = 1 << 32
"""Key of the visits of slot 0, beyond those of all sites."""


class AddressAssumption(Enum):
    """Assumed addresses of lanes at an access with an unknown address."""

    COALESCED = auto()
    """Each lane next to the preceding lane."""
    RUNS = auto()
    """Runs of a few neighbouring lanes, each at a random address."""
    RANDOM = auto()
    """Random addresses in the memory object."""


class BranchAssumption(Enum):
    """Assumed direction of lanes at an unknown branch."""

    SHORTER = auto()
    LONGER = auto()
    BOTH = auto()
    """Half of the lanes in each direction, at random."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A set of assumptions, with the number of trips per entry of an unknown loop.

    Lanes that write without atomics have addresses of their own, so their programs compute them: a
    partition or a compaction moves neighbours together. Reads and atomics have no such order.
    """

    addresses: AddressAssumption
    writes: AddressAssumption
    branches: BranchAssumption
    trips: int


TYPICAL_SCENARIO: Final = Scenario(
    AddressAssumption.RANDOM, AddressAssumption.RUNS, BranchAssumption.BOTH, TYPICAL_TRIPS
)
MIN_SCENARIO: Final = Scenario(
    AddressAssumption.COALESCED, AddressAssumption.COALESCED, BranchAssumption.SHORTER, MIN_TRIPS
)
MAX_SCENARIO: Final = Scenario(
    AddressAssumption.RANDOM, AddressAssumption.RANDOM, BranchAssumption.LONGER, MAX_TRIPS
)


class ScenarioRedirection:
    """A redirection for one execution, which supplies unknown values according to a scenario."""

    def __init__(
        self,
        sliced_kernel: PreparedKernel,
        scenario: Scenario,
        group_items: int,
        unknown: frozenset[int],
        known_parts: Mapping[int, KnownParts],
    ) -> None:
        """`unknown` are the blocks with an unknown branch, `known_parts` what is known of theirs."""
        self._known_parts = known_parts
        self._prepared = sliced_kernel
        self._scenario = scenario
        self._group_items = group_items
        self._visits: dict[int, int] = {}
        self._shorter_targets: dict[int, int] = {}
        """By block, the number of the branch target with less code."""
        self._trips: dict[int, NDArray[np.int64]] = {}
        self._exits = {block: _find_exits(sliced_kernel, block) for block in sliced_kernel.blocks}
        self._guards = {
            block: _find_entry_condition(sliced_kernel, block, unknown) for block in unknown
        }

    def redirect_address(self, site: int, address: Value, lanes: Lanes, memory: Memory) -> Value:
        """Return addresses within the object that the lanes point into."""
        first = int(address if type(address) is not np.ndarray else address.flat[0]) >> SHIFT
        if not 0 < first < len(memory.objects):
            return address
        size = self._prepared.sites[site].access_bytes
        num_positions = memory.objects[first].size_bytes // max(size, 1)
        if num_positions < 1:
            return address
        visit = self._visits[site] = self._visits.get(site, 0) + 1
        item = self._linear_ids(lanes)
        is_write = self._prepared.sites[site].access is Access.WRITE
        assumption = self._scenario.writes if is_write else self._scenario.addresses
        if assumption is AddressAssumption.COALESCED:
            position = (item + visit * lanes.grid.count) % num_positions
        else:
            run_lanes = _RUN_LANES if assumption is AddressAssumption.RUNS else 1
            run = _draw(item // run_lanes, visit, num_positions)
            position = (run + item % run_lanes) % num_positions
        return np.int64(first << SHIFT) + position * size

    def _linear_ids(self, lanes: Lanes) -> NDArray[np.int64]:
        grid = lanes.grid
        return lanes.take(grid.group_numbers[grid.group] * self._group_items + grid.linear_in_group)

    def redirect_branch(self, block: int, frame: Frame, lanes: Lanes) -> Value:
        """Return the direction of lanes at a branch, or their exit from a loop."""
        assumed = self._assume_branch(block, lanes)
        parts = self._known_parts.get(block)
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
            hashed = _hash(self._linear_ids(lanes) * 31 + np.int64(block * 7919 + visit))
            targets = (hashed % np.uint64(num_targets)).astype(np.int64)
        else:
            targets = np.full(lanes.count, self._directed_target(block, num_targets), np.int64)
        return targets if isinstance(terminator, Switch) else targets != 0

    def redirect_select(self, slot: int, lanes: Lanes) -> Value:
        """Return the condition by which lanes select a value: half of them each, or all the same."""
        visit = self._visits[_SELECTS + slot] = self._visits.get(_SELECTS + slot, 0) + 1
        if self._scenario.addresses is AddressAssumption.COALESCED:
            return np.bool_(visit & 1)
        hashed = _hash(self._linear_ids(lanes) * 31 + np.int64(slot * 7919 + visit))
        return hashed % np.uint64(2) != 0

    def _directed_target(self, block: int, num_targets: int) -> int:
        """Return the number of the target with less or more code. Target 1 of a branch is its first."""
        terminator = self._prepared.blocks[block].terminator
        if not isinstance(terminator, Branch):
            return 0 if self._scenario.branches is BranchAssumption.SHORTER else num_targets - 1
        shorter = self._shorter_targets.get(block)
        if shorter is None:
            then_size = _code_size(self._prepared, terminator.then, terminator.otherwise)
            otherwise_size = _code_size(self._prepared, terminator.otherwise, terminator.then)
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
        header = graph.loops[graph.loop_of[block]].header
        return self._scenario.trips + (block == header and block not in graph.successors[block])

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
        return np.where(leaves, exit_target, broadcast(loop_target, lanes.count))


def _draw(number: NDArray[np.int64], visit: int, positions: int) -> NDArray[np.int64]:
    """Return a random position for each number, another one at each visit."""
    hashed = _hash(number + np.int64(visit) * np.int64(0x632BE5AB)) % np.uint64(positions)
    return hashed.astype(np.int64)


def _hash(value: NDArray[np.int64]) -> NDArray[np.uint64]:
    mixed = value.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(29))


def _find_exits(sliced_kernel: PreparedKernel, block: int) -> Array | None:
    """Return a mask of the branch targets that leave the loop of a block; None if none or all do.

    The targets of a `Branch` are in the order not taken, taken.
    """
    loop = sliced_kernel.graph.loop_of[block]
    terminator = sliced_kernel.blocks[block].terminator
    if loop < 0:
        return None
    blocks = sliced_kernel.graph.loops[loop].blocks
    match terminator:
        case Branch(_, then, otherwise):
            targets = [otherwise, then]
        case Switch(_, _, default, cases):
            targets = [default, *(target for _, target in cases)]
        case _:
            return None
    is_exit = np.asarray([target not in blocks for target in targets])
    return is_exit if is_exit.any() and not is_exit.all() else None


def _code_size(sliced_kernel: PreparedKernel, block: int, other: int) -> float:
    """Return the size of code reachable from `block`, not from `other`, weighted by loop depth."""
    graph = sliced_kernel.graph
    exclusive = _reachable(sliced_kernel, block) - _reachable(sliced_kernel, other)
    return sum(
        float(TYPICAL_TRIPS) ** min(graph.depth(graph.loop_of[number]), 4)
        * (1 + len(sliced_kernel.blocks[number].steps))
        for number in exclusive
    )


def _reachable(sliced_kernel: PreparedKernel, block: int) -> set[int]:
    reachable: set[int] = set()
    pending = [block]
    while pending:
        number = pending.pop()
        if number not in reachable:
            reachable.add(number)
            pending.extend(sliced_kernel.graph.successors[number])
    return reachable


def _find_entry_condition(
    sliced_kernel: PreparedKernel, block: int, unknown: frozenset[int]
) -> bool | None:
    """Return the condition value with which a guard enters a loop of unknown trips.

    The result is None for a block that is not such a guard. Compilers place a first test before the
    loop: one target leads to the loop, the other to its exit.
    """
    terminator = sliced_kernel.blocks[block].terminator
    if not isinstance(terminator, Branch):
        return None
    for target, other_target, is_taken in (
        (terminator.then, terminator.otherwise, True),
        (terminator.otherwise, terminator.then, False),
    ):
        header = next(
            (
                number
                for number in _straight_line(sliced_kernel, target)
                if _is_header(sliced_kernel, number)
            ),
            None,
        )
        if header is None:
            continue
        blocks = next(item.blocks for item in sliced_kernel.graph.loops if item.header == header)
        exits = {
            target for inside in blocks for target in sliced_kernel.graph.successors[inside]
        } - blocks
        exit_blocks = {number for end in exits for number in _straight_line(sliced_kernel, end)}
        is_unknown = not unknown.isdisjoint(blocks)
        if (
            is_unknown
            and block not in blocks
            and not exit_blocks.isdisjoint(_straight_line(sliced_kernel, other_target))
        ):
            return is_taken
    return None


def _is_header(sliced_kernel: PreparedKernel, block: int) -> bool:
    return any(loop.header == block for loop in sliced_kernel.graph.loops)


def _straight_line(sliced_kernel: PreparedKernel, block: int) -> list[int]:
    """Return `block` and its successors up to the first block with several successors."""
    chain = [block]
    while len(sliced_kernel.graph.successors[chain[-1]]) == 1:
        (following,) = sliced_kernel.graph.successors[chain[-1]]
        if following in chain:
            break
        chain.append(following)
    return chain


def _places_of_selects(sliced_kernel: PreparedKernel, selects: frozenset[int]) -> Iterator[Place]:
    for block in sliced_kernel.function.blocks:
        for item in block.instructions:
            if isinstance(item, Select) and item.result in selects:
                yield item.place


def describe_assumptions(
    sliced_kernel: PreparedKernel,
    taint: Taint,
    sites: frozenset[int],
    known_parts: Mapping[int, KnownParts],
) -> tuple[Assumption, ...]:
    """Describe the assumptions, one per place, in source order."""
    entries: dict[tuple[str, str], Assumption] = {}
    for number in sorted(sites):
        place = sliced_kernel.sites[number].place
        entries.setdefault(
            (str(place), "address"),
            Assumption(
                place,
                "the address depends on unknown contents",
                "between coalesced addresses and random ones",
            ),
        )
    for place in _places_of_selects(sliced_kernel, taint.selects):
        meaning = "half of the lanes with each value, or all with the same"
        what = "the selected value depends on unknown contents"
        entries.setdefault((str(place), what), Assumption(place, what, meaning))
    for block in sorted(taint.blocks):
        place = sliced_kernel.blocks[block].terminator.place
        if _find_entry_condition(sliced_kernel, block, taint.blocks) is not None:
            continue  # described at the loop that it guards
        if _find_exits(sliced_kernel, block) is not None:
            what = "the number of trips depends on unknown contents"
            meaning = f"{TYPICAL_TRIPS} trips, between {MIN_TRIPS} and {MAX_TRIPS}"
            if block in known_parts:
                meaning += ", or all that the loop has if these are fewer"
        else:
            what = "the branch depends on unknown contents"
            meaning = "half of the lanes in each direction, between none and all in the longer one"
        entries.setdefault((str(place), what), Assumption(place, what, meaning))
    return tuple(sorted(entries.values(), key=lambda item: (item.place.file, item.place.line)))
