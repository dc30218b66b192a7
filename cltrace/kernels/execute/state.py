"""What an execution is at: memory, lanes, and who looks on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from cltrace.kernels.execute.images import Image
from cltrace.kernels.execute.lanes import Grid, Lanes
from cltrace.kernels.execute.memory import Memory
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.values import Array, Value


@dataclass(frozen=True, slots=True)
class Site:
    """A place in a kernel that accesses memory: what one lane touches there at a time."""

    number: int
    place: Place
    block: int
    access: Access
    space: int
    """The address space that the program names; generic pointers may point into any."""
    access_bytes: int
    element: str
    """The type of what is accessed, such as `float4`."""
    pointer: int
    """The slot of the address."""
    indices: tuple[int, ...]
    """Slots that addresses depend on besides: a vector's number, coordinates."""


class Observer(Protocol):
    """Is told what lanes do, as they do it."""

    def runs(self, block: int, lanes: Lanes) -> None:
        """Lanes run a block."""

    def accesses(self, site: int, address: Value, lanes: Lanes, memory: Memory) -> None:
        """Lanes access memory at addresses, a scalar or one entry a lane."""

    def branches(self, block: int, taken: Array, lanes: Lanes) -> None:
        """Lanes go different ways at the end of a block: `taken` numbers the way of each."""


class Redirection(Protocol):
    """Decides what depends on contents that are not known."""

    def address(self, site: int, address: Value, lanes: Lanes, memory: Memory) -> Value:
        """The addresses that lanes access at a site instead of `address`."""

    def way(self, block: int, lanes: Lanes) -> Value:
        """Which way lanes go at the end of a block."""


@dataclass(slots=True)
class State:
    """An execution. `redirected_sites` and `redirected_blocks` are those that `redirection` decides."""

    grid: Grid
    memory: Memory
    images: Mapping[int, Image]
    observer: Observer
    redirection: Redirection | None = None
    redirected_sites: frozenset[int] = frozenset()
    redirected_blocks: frozenset[int] = frozenset()
    notes: set[str] = field(default_factory=set)
    """What went wrong in the program, in words."""


class Unobserved:
    """An observer that does not look."""

    def runs(self, block: int, lanes: Lanes) -> None:
        """Nothing."""

    def accesses(self, site: int, address: Value, lanes: Lanes, memory: Memory) -> None:
        """Nothing."""

    def branches(self, block: int, taken: Array, lanes: Lanes) -> None:
        """Nothing."""


Frame: TypeAlias = list[Value]
"""The values of a set of lanes, by slot."""


class Step(Protocol):
    """One instruction, ready to run: it reads and writes the frame of a set of lanes."""

    def __call__(self, frame: Frame, lanes: Lanes, state: State, /) -> None:
        """Do it."""


class Accessed(Protocol):
    """Tells the observer of an access; returns the addresses that are accessed."""

    def __call__(self, site: int, address: Value, lanes: Lanes, state: State, /) -> Value:
        """Do it."""
