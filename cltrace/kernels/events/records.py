"""Records of the events inside a launch."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.events.annotations import Binding, Emission
from cltrace.kernels.machine import Machine


class EventKind(IntEnum):
    """Kind of an event of memory."""

    READ = 0
    WRITE = 1
    ATOMIC = 2
    LOCAL_BARRIER = 3
    """A barrier that orders accesses of local memory."""
    GLOBAL_BARRIER = 4
    """A barrier that orders accesses of global memory."""
    FULL_BARRIER = 5
    """A barrier that orders accesses of both."""
    UNFENCED_BARRIER = 6
    """A barrier that orders no accesses: `barrier(0)`."""

    @property
    def is_barrier(self) -> bool:
        """True for barriers."""
        return self >= EventKind.LOCAL_BARRIER

    def orders(self, space: str) -> bool:
        """Return True for a barrier that orders accesses of an address space."""
        fences = {
            EventKind.LOCAL_BARRIER: {"local"},
            EventKind.GLOBAL_BARRIER: {"global"},
            EventKind.FULL_BARRIER: {"local", "global"},
        }
        return space in fences.get(self, set())

    @property
    def label(self) -> str:
        """The kind in words."""
        return self.name.lower().replace("_", " ")


class DecisionKind(StrEnum):
    """Kind of a statement that decides where a work-item goes on."""

    CONDITION = "condition"
    LOOP = "loop"
    CASE = "case"
    """A case of a `switch`, which is taken or left for the next one."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """Code between a decision and the next.

    Attributes:
        decision: the number of the next decision, -1 if the work-item ends without one.
        lines: the lines of the program's own source that run until then, ascending.
        blocks: the blocks that run until then, as positions in the order of the code. The last one has
            the decision.
    """

    decision: int
    lines: tuple[int, ...]
    blocks: tuple[int, ...]
    is_within_block: bool = False
    """True between two decisions of a `switch`, which one block has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A condition that work-items evaluate. Each evaluation adds a bit to a work-item's stream.

    Attributes:
        file: the name of the source file.
        line: the line, from 1.
        column: the column, from 1.
        kind: the kind of the decision.
        depth: the number of loops around it.
        if_false: how a work-item goes on for which the condition is false.
        if_true: the same for one for which it is true.
        text: the condition as the source has it, empty if it is not found there.
    """

    file: str
    line: int
    column: int
    kind: DecisionKind
    depth: int
    if_false: Continuation
    if_true: Continuation
    text: str = ""

    def after(self, bit: int) -> Continuation:
        """Return how a work-item goes on after an evaluation."""
        return self.if_true if bit else self.if_false


def all_ways(begin: Continuation, decisions: Sequence[Decision]) -> tuple[Continuation, ...]:
    """Return the way to the first decision, then those from each decision, if false and if true."""
    decided = ((item.if_false, item.if_true) for item in decisions)
    return (begin, *(way for pair in decided for way in pair))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSite:
    """A place of the source that accesses memory, or has a barrier.

    `access_bytes` is the size of one work-item's access, 0 for a barrier; an instruction of a GPU moves
    `request_bytes` of it. `element` is its type.
    `is_assumed` is True if the address depends on unknown contents.
    """

    file: str
    line: int
    column: int
    kind: EventKind
    element: str
    access_bytes: int
    request_bytes: int
    is_assumed: bool = False


@dataclass(frozen=True, slots=True)
class EventMemory:
    """An argument or variable that is accessed. `space` is global, constant, local or private.

    `sides` are width, height and depth of an image, whose texels have `element_bytes` each.
    """

    name: str
    space: str
    size_bytes: int
    sides: tuple[int, ...] = ()
    element_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ItemTable:
    """The recorded work-items, by work-group and within it by linear local id. One entry for each.

    Attributes:
        item: linear global ids, first dimension fastest, without the global offset.
        group: linear numbers of work-groups.
        warp: numbers of warps among those recorded, ascending.
        stream: the end of each work-item's stream, as a node of `StreamTable`.
        operations: operations that each executed.
    """

    item: NDArray[np.int64]
    group: NDArray[np.int64]
    warp: NDArray[np.int64]
    stream: NDArray[np.int64]
    operations: NDArray[np.int64]


@dataclass(frozen=True)
class StreamTable:
    """The streams of bits as a tree of their prefixes. Node 0 is the empty stream.

    Attributes:
        parent: the node of each node's stream without its last bit, -1 for node 0. Lower than the node.
        bit: the last bit.
    """

    parent: NDArray[np.int64]
    bit: NDArray[np.uint8]

    @cached_property
    def length(self) -> NDArray[np.int64]:
        """The number of bits of each node's stream."""
        ancestor = np.maximum(self.parent, 0)
        lengths = (self.parent >= 0).astype(np.int64)
        while ancestor.any():  # each round doubles the distance to the ancestor
            lengths += lengths[ancestor]
            ancestor = ancestor[ancestor]
        return lengths

    def prefixes(self, nodes: NDArray[np.int64], max_bits: int) -> NDArray[np.int64]:
        """Return the nodes of the first `max_bits` bits of streams."""
        climb = np.maximum(self.length[nodes] - max_bits, 0)
        ancestor, prefixes = np.maximum(self.parent, 0), nodes.copy()
        while climb.any():
            is_odd = climb % 2 == 1
            prefixes[is_odd] = ancestor[prefixes[is_odd]]
            climb, ancestor = climb // 2, ancestor[ancestor]
        return prefixes

    def bit_rows(self, nodes: NDArray[np.int64], max_bits: int) -> NDArray[np.uint8]:
        """Return the first bits of streams, with zeros behind shorter ones: shape (streams, bits)."""
        current = self.prefixes(nodes, max_bits)
        position = self.length[current] - 1
        rows = np.zeros((len(nodes), int(position.max(initial=-1)) + 1), np.uint8)
        while (is_open := position >= 0).any():
            rows[is_open, position[is_open]] = self.bit[current[is_open]]
            current[is_open] = self.parent[current[is_open]]
            position -= 1
        return rows

    def texts(self, nodes: NDArray[np.int64], max_bits: int) -> list[str]:
        """Return the first bits of streams as digits."""
        lengths = np.minimum(self.length[nodes], max_bits).tolist()
        rows = self.bit_rows(nodes, max_bits) + ord("0")
        return [row[:length].tobytes().decode() for row, length in zip(rows, lengths, strict=True)]

    def bits(self, node: int) -> NDArray[np.uint8]:
        """Return the bits of a node's stream, in the order of evaluation."""
        backwards = []
        while node > 0:
            backwards.append(self.bit[node])
            node = int(self.parent[node])
        return np.asarray(backwards[::-1], np.uint8)


@dataclass(frozen=True, slots=True)
class AccessTable:
    """The events of memory, in the order of their execution. One entry for each.

    Attributes:
        row: the work-item, as a position in `ItemTable`.
        site: the place, as a position in `LaunchEvents.sites`.
        memory: the accessed object, as a position in `LaunchEvents.memories`; -1 for barriers, and for
            accesses outside of all objects.
        offset_bytes: the offset in it.
        epoch: the number of barriers that the work-item has passed before.
        step: number of the execution. Work-items with the same step did it together.
    """

    row: NDArray[np.int64]
    site: NDArray[np.int64]
    memory: NDArray[np.int64]
    offset_bytes: NDArray[np.int64]
    epoch: NDArray[np.int64]
    step: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ValueTable:
    """The emitted values, in the order of their execution. One entry for each.

    Attributes:
        row: the work-item, as a position in `ItemTable`.
        emission: the name, as a position in `LaunchEvents.emissions`.
        index: the index, by default the number of values that the work-item has emitted before.
        value: the value.
    """

    row: NDArray[np.int64]
    emission: NDArray[np.int64]
    index: NDArray[np.int64]
    value: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DroppedEvents:
    """Events that were not recorded, because a limit was reached.

    `stopped_items` are the work-items that a device stopped before their end, with others of their
    work-groups; what they would have done after that is not counted.
    """

    bits: int = 0
    accesses: int = 0
    values: int = 0
    stopped_items: int = 0

    @property
    def has_whole_items(self) -> bool:
        """True if no work-item's events of memory end early."""
        return not self.accesses and not self.stopped_items


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchEvents:
    """The events of a launch's recorded work-groups.

    Attributes:
        kernel: the kernel's name.
        source: the program's source.
        form: the code that was executed.
        global_size: the size of the launch.
        local_size: the size of its work-groups.
        machine: the device that warps, sectors and banks are those of.
        begin: the code before the first decision.
        decisions: the decisions, by number.
        sites: the places of accesses and barriers.
        memories: the accessed arguments and variables.
        items: the recorded work-items.
        warp_operations: operations that each warp issued.
        streams: their streams.
        accesses: their events of memory.
        emissions: the values that were asked for.
        bindings: the charts of them that were asked for.
        values: the emitted values.
        dropped: events that were not recorded.
        notes: assumptions, and faults of the program.
        device: name of the device that executed it; empty for the executor.
    """

    kernel: str
    source: str
    form: CodeForm
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    machine: Machine
    begin: Continuation
    decisions: tuple[Decision, ...]
    sites: tuple[EventSite, ...]
    memories: tuple[EventMemory, ...]
    items: ItemTable
    warp_operations: NDArray[np.int64]
    streams: StreamTable
    accesses: AccessTable
    emissions: tuple[Emission, ...]
    bindings: tuple[Binding, ...]
    values: ValueTable
    dropped: DroppedEvents
    notes: tuple[str, ...]
    device: str = ""

    @property
    def ways(self) -> tuple[Continuation, ...]:
        """The way to the first decision, then those from each decision, if false and if true."""
        return all_ways(self.begin, self.decisions)

    @property
    def groups(self) -> int:
        """The number of work-groups of the launch."""
        groups = 1
        for size, local in zip(self.global_size, self.local_size, strict=True):
            groups *= -(-size // local)
        return groups

    @property
    def recorded_groups(self) -> int:
        """The number of recorded work-groups."""
        return len(np.unique(self.items.group))
