"""State of an execution: memory, lanes, and the observer of their actions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from cltrace.kernels.execute.images import Image
from cltrace.kernels.execute.lanes import Grid, Lanes
from cltrace.kernels.execute.memory import Memory
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.values import Array, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A place in a kernel that accesses memory. Sizes and types are those of one lane's access."""

    number: int
    place: Place
    block: int
    access: Access
    space: int
    """The address space of the pointer's type; a generic pointer may point into any space."""
    access_bytes: int
    request_bytes: int
    """Bytes that an instruction of a GPU moves; a wider access takes several."""
    element: str
    """The accessed type, such as `float4`."""
    pointer: int
    """The slot of the address."""
    indices: tuple[int, ...]
    """Further slots that the address depends on: the index of a vector load, image coordinates."""


Frame: TypeAlias = list[Value]
"""The values of a set of lanes, by slot."""


class Observer(Protocol):
    """A watcher of the execution, which is called for each action of a set of lanes."""

    def on_block(self, block: int, lanes: Lanes) -> None:
        """Handle the run of a block."""

    def on_access(self, site: int, address: Value, lanes: Lanes, memory: Memory) -> None:
        """Handle a memory access. `address` is a scalar or has one entry per lane."""

    def on_branch(self, block: int, taken: Array, lanes: Lanes) -> None:
        """Handle a divergent branch at the end of a block.

        `taken` has the condition of a `Branch` or the target of a `Switch` per lane.
        """

    def on_value(self, emission: int, index: Value, value: Value, lanes: Lanes) -> None:
        """Handle a value that a program was asked to emit, with its index."""


class Redirection(Protocol):
    """A supplier of values that depend on unknown contents."""

    def redirect_address(self, site: int, address: Value, lanes: Lanes, memory: Memory) -> Value:
        """Return the addresses that lanes access at a site, in place of `address`."""

    def redirect_branch(self, block: int, frame: Frame, lanes: Lanes) -> Value:
        """Return each lane's branch at the end of a block.

        The result is the condition of a `Branch`, or the number of the case of a `Switch`, 0 for its
        default.
        """

    def redirect_select(self, slot: int, condition: int, lanes: Lanes) -> Value:
        """Return the condition by which lanes select the value of a slot, in place of `condition`'s."""


@dataclass(slots=True, kw_only=True)
class ExecutionState:
    """State of an execution.

    `redirection` decides at the sites `redirected_sites`, at the ends of the blocks
    `redirected_blocks`, and at the selections of the slots `redirected_selects`.
    """

    grid: Grid
    memory: Memory
    images: Mapping[int, Image]
    observer: Observer
    redirection: Redirection | None = None
    redirected_sites: frozenset[int] = frozenset()
    redirected_blocks: frozenset[int] = frozenset()
    redirected_selects: frozenset[int] = frozenset()
    texel_passes: dict[int, float] = field(default_factory=dict)
    """Passes through a unit for images that a read takes, by site."""
    texels: dict[int, int] = field(default_factory=dict)
    """Texels that a read or write of an image touches, by site."""
    notes: set[str] = field(default_factory=set)
    """Messages about faults of the program."""


class NullObserver:
    """An observer that ignores all actions."""

    def on_block(self, block: int, lanes: Lanes) -> None:
        """Ignore the action."""

    def on_access(self, site: int, address: Value, lanes: Lanes, memory: Memory) -> None:
        """Ignore the action."""

    def on_branch(self, block: int, taken: Array, lanes: Lanes) -> None:
        """Ignore the action."""

    def on_value(self, emission: int, index: Value, value: Value, lanes: Lanes) -> None:
        """Ignore the action."""


class Step(Protocol):
    """An instruction, ready to run, which reads and writes the frame of a set of lanes."""

    def __call__(self, frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        """Run the instruction."""


class RecordAccess(Protocol):
    """A function that reports an access to the observer."""

    def __call__(self, site: int, address: Value, lanes: Lanes, state: ExecutionState, /) -> Value:
        """Report the access and return the addresses that are accessed."""
