"""What is taken for what depends on contents that are not known.

Addresses are taken twice: next to each other by lane, and spread over what they point into. Branches are
taken both ways. Loops are taken to have some number of trips. The results span an interval.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.records import Assumption
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.memory import SHIFT, Memory
from cltrace.kernels.execute.prepared_kernel import Prepared
from cltrace.kernels.flow.taint import Tainted
from cltrace.kernels.ir.instructions import Branch, Switch
from cltrace.kernels.values import Array, Value, spread

FEWEST_TRIPS: Final = 2
USUAL_TRIPS: Final = 16
MOST_TRIPS: Final = 64


class Addresses(Enum):
    """Where lanes access memory at an address that is not known."""

    BESIDE = auto()
    """Each beside the lane before it."""
    SPREAD = auto()
    """Anywhere in what they point into, at random."""


class Ways(Enum):
    """Which way lanes go at a branch that is not known."""

    SHORTER = auto()
    LONGER = auto()
    BOTH = auto()
    """Half of the lanes of a warp each way, at random."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One reading of what is not known."""

    addresses: Addresses
    ways: Ways
    trips: int


USUAL: Final = Scenario(Addresses.SPREAD, Ways.BOTH, USUAL_TRIPS)
LEAST: Final = Scenario(Addresses.BESIDE, Ways.SHORTER, FEWEST_TRIPS)
MOST: Final = Scenario(Addresses.SPREAD, Ways.LONGER, MOST_TRIPS)


class Assumed:
    """Decides, for one execution, what is not known."""

    def __init__(
        self, prepared: Prepared, scenario: Scenario, group_items: int, unknown: frozenset[int]
    ) -> None:
        """`unknown` are the blocks whose branch is not known."""
        self._prepared = prepared
        self._scenario = scenario
        self._items = group_items
        self._visits: dict[int, int] = {}
        self._shorter: dict[int, int] = {}
        """By branch: which of its ways is the shorter."""
        self._trips: dict[int, NDArray[np.int64]] = {}
        self._exits = {block: _leaving(prepared, block) for block in prepared.blocks}
        self._guards = {block: _entering(prepared, block, unknown) for block in unknown}

    def address(self, site: int, address: Value, lanes: Lanes, memory: Memory) -> Value:
        """Addresses within the object that the lanes point into."""
        first = int(address if type(address) is not np.ndarray else address.flat[0]) >> SHIFT
        if not 0 < first < len(memory.objects):
            return address
        size = self._prepared.sites[site].access_bytes
        places = memory.objects[first].size_bytes // max(size, 1)
        if places < 1:
            return address
        visit = self._visits[site] = self._visits.get(site, 0) + 1
        item = self._item(lanes)
        if self._scenario.addresses is Addresses.SPREAD:
            place = _hashed(item + np.int64(visit) * np.int64(0x632BE5AB)) % np.uint64(places)
            found = place.astype(np.int64)
        else:
            found = (item + visit * lanes.grid.count) % places
        return np.int64(first << SHIFT) + found * size

    def _item(self, lanes: Lanes) -> NDArray[np.int64]:
        grid = lanes.grid
        return lanes.of(grid.group_numbers[grid.group] * self._items + grid.linear_in_group)

    def way(self, block: int, lanes: Lanes) -> Value:
        """Which way lanes go at a branch, or out of a loop."""
        leaving = self._exits[block]
        if leaving is not None:
            return self._loop_way(block, leaving, lanes)
        entering = self._guards.get(block)
        if entering is not None:
            enters = self._scenario.ways is not Ways.SHORTER
            return np.full(lanes.count, entering == enters)
        terminator = self._prepared.blocks[block].terminator
        visit = self._visits[-1 - block] = self._visits.get(-1 - block, 0) + 1
        ways = len(terminator.cases) + 1 if isinstance(terminator, Switch) else 2
        if self._scenario.ways is Ways.BOTH:
            mixed = _hashed(self._item(lanes) * 31 + np.int64(block * 7919 + visit))
            found = (mixed % np.uint64(ways)).astype(np.int64)
        else:
            found = np.full(lanes.count, self._one_way(block, ways), np.int64)
        return found if isinstance(terminator, Switch) else found != 0

    def _one_way(self, block: int, ways: int) -> int:
        """The way whose code is shorter or longer. The second way of a branch is its first target."""
        terminator = self._prepared.blocks[block].terminator
        if not isinstance(terminator, Branch):
            return 0 if self._scenario.ways is Ways.SHORTER else ways - 1
        shorter = self._shorter.get(block)
        if shorter is None:
            then = _size(self._prepared, terminator.then, terminator.otherwise)
            otherwise = _size(self._prepared, terminator.otherwise, terminator.then)
            shorter = self._shorter[block] = int(otherwise > then)
        return shorter if self._scenario.ways is Ways.SHORTER else 1 - shorter

    def leaves_loops(self, block: int) -> bool:
        """Whether a way out of a block's branch leads out of its loop."""
        return self._exits[block] is not None

    def trips_left(self, block: int, lanes: Lanes) -> int:
        """How many trips are still assumed of the loop that `block` leaves. `lanes` all began it."""
        return self._most(block) - int(self._trips_of(block, lanes)[lanes.index].max())

    def _most(self, block: int) -> int:
        """How often `block` runs before its loop is left: once more where it comes before the body."""
        graph = self._prepared.graph
        header = graph.loops[graph.loop_of[block]].header
        return self._scenario.trips + (block == header and block not in graph.successors[block])

    def pass_over(self, block: int, lanes: Lanes, trips: int) -> None:
        """Let lanes have gone around the loop that `block` leaves so many times more."""
        self._trips_of(block, lanes)[lanes.index] += trips

    def _trips_of(self, block: int, lanes: Lanes) -> NDArray[np.int64]:
        trips = self._trips.get(block)
        if trips is None:
            trips = self._trips[block] = np.zeros(lanes.grid.count, np.int64)
        return trips

    def _loop_way(self, block: int, leaving: Array, lanes: Lanes) -> Value:
        """Out of the loop after the scenario's number of trips."""
        trips = self._trips_of(block, lanes)
        mine = trips[lanes.index] + 1
        leaves = mine >= self._most(block)
        trips[lanes.index] = np.where(leaves, 0, mine)
        if len(leaving) == 2 and isinstance(self._prepared.blocks[block].terminator, Branch):
            return leaves == bool(leaving[1])
        out, stay = int(np.argmax(leaving)), int(np.argmin(leaving))
        return np.where(leaves, out, spread(stay, lanes.count))


def _hashed(value: NDArray[np.int64]) -> NDArray[np.uint64]:
    mixed = value.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(29))


def _leaving(prepared: Prepared, block: int) -> Array | None:
    """Which ways of a block's branch leave its loop: of a branch, not taken and taken. None if none."""
    loop = prepared.graph.loop_of[block]
    terminator = prepared.blocks[block].terminator
    if loop < 0:
        return None
    blocks = prepared.graph.loops[loop].blocks
    match terminator:
        case Branch(_, then, otherwise):
            targets = [otherwise, then]
        case Switch(_, _, default, cases):
            targets = [default, *(target for _, target in cases)]
        case _:
            return None
    out = np.asarray([target not in blocks for target in targets])
    return out if out.any() and not out.all() else None


def _size(prepared: Prepared, block: int, other: int) -> float:
    """How much code is on the way by `block` that is not on the way by `other`: loops many times."""
    graph = prepared.graph
    alone = _reachable(prepared, block) - _reachable(prepared, other)
    return sum(
        float(USUAL_TRIPS) ** min(graph.depth(graph.loop_of[number]), 4)
        * (1 + len(prepared.blocks[number].steps))
        for number in alone
    )


def _reachable(prepared: Prepared, block: int) -> set[int]:
    found: set[int] = set()
    waiting = [block]
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting.extend(prepared.graph.successors[number])
    return found


def _entering(prepared: Prepared, block: int, unknown: frozenset[int]) -> bool | None:
    """For the guard of a loop of unknown trips: whether it is taken to enter it. None for others.

    Compilers put the first test of a loop before it: one way leads to the loop, the other to where it
    is left.
    """
    terminator = prepared.blocks[block].terminator
    if not isinstance(terminator, Branch):
        return None
    for way, around, is_taken in (
        (terminator.then, terminator.otherwise, True),
        (terminator.otherwise, terminator.then, False),
    ):
        loop = next((one for one in _straight(prepared, way) if _is_header(prepared, one)), None)
        if loop is None:
            continue
        blocks = next(one.blocks for one in prepared.graph.loops if one.header == loop)
        ends = {target for one in blocks for target in prepared.graph.successors[one]} - blocks
        after = {number for end in ends for number in _straight(prepared, end)}
        is_unknown = not unknown.isdisjoint(blocks)
        if is_unknown and block not in blocks and not after.isdisjoint(_straight(prepared, around)):
            return is_taken
    return None


def _is_header(prepared: Prepared, block: int) -> bool:
    return any(loop.header == block for loop in prepared.graph.loops)


def _straight(prepared: Prepared, block: int) -> list[int]:
    """The blocks that follow one another from `block` on, up to the first that has a choice."""
    found = [block]
    while len(prepared.graph.successors[found[-1]]) == 1:
        (following,) = prepared.graph.successors[found[-1]]
        if following in found:
            break
        found.append(following)
    return found


def described(
    prepared: Prepared, tainted: Tainted, sites: frozenset[int]
) -> tuple[Assumption, ...]:
    """The assumptions in words, one a place, in the order of the source."""
    entries: dict[tuple[str, str], Assumption] = {}
    for number in sorted(sites):
        place = prepared.sites[number].place
        entries.setdefault(
            (str(place), "address"),
            Assumption(
                place,
                "the address depends on contents that are not known",
                "between neighbouring lanes at neighbouring addresses and lanes spread at random",
            ),
        )
    for block in sorted(tainted.blocks):
        place = prepared.blocks[block].terminator.place
        if _entering(prepared, block, tainted.blocks) is not None:
            continue  # the loop that it guards is named
        if _leaving(prepared, block) is not None:
            what = "the number of trips depends on contents that are not known"
            meaning = f"{USUAL_TRIPS} trips, between {FEWEST_TRIPS} and {MOST_TRIPS}"
        else:
            what = "the branch depends on contents that are not known"
            meaning = "half of the lanes each way, between all the shorter and all the longer way"
        entries.setdefault((str(place), what), Assumption(place, what, meaning))
    return tuple(sorted(entries.values(), key=lambda item: (item.place.file, item.place.line)))
