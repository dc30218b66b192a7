"""Sets of launches that run beside each other: pairs of all kinds, and more of one kind or of several."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Final

from cltrace.events.workloads import LaunchBeside, Workload
from cltrace.profile import DeviceFacts
from cltrace.suite.together.kernels import GROUP_ITEMS, Kind, KindKernel, Room

MAX_LAUNCHES: Final = 8
"""Largest number of launches at once."""
_MIXTURES: Final = (
    (Kind.STREAM, Kind.RANDOM),
    (Kind.STREAM, Kind.CACHE),
    (Kind.STREAM, Kind.COMPUTE),
    (Kind.RANDOM, Kind.CACHE),
    (Kind.ATOMICS, Kind.STREAM),
    (Kind.LOCAL, Kind.COMPUTE),
)
"""Kinds that take turns in sets of three and more."""
_SPARE_BUFFERS: Final = 4 * MAX_LAUNCHES
"""Times that a buffer must fit into memory: two for each launch, and as many again for others."""


@dataclass(frozen=True, slots=True)
class BesideCase:
    """A launch beside others, by kinds.

    Attributes:
        kind: that of the launch.
        others: those of its neighbours, in order; empty for a launch alone.
        is_memory_shared: True if all have the same buffers.
        has_own_units: True if each has compute units of its own.
        work: the launches.
    """

    kind: Kind
    others: tuple[Kind, ...]
    is_memory_shared: bool
    has_own_units: bool
    work: LaunchBeside

    @property
    def threads(self) -> int:
        """Number of launches at once (Büsser 2018: T)."""
        return 1 + len(self.others)

    @property
    def name(self) -> str:
        """Name that tells it from other cases of the same number of launches."""
        beside = f" beside {', '.join(self.others)}" if self.others else " alone"
        memory = ", same buffers" if self.is_memory_shared else ""
        return f"{self.kind}{beside}{memory}{self._units}"

    @property
    def alone_name(self) -> str:
        """Name of the case of the same launch alone."""
        return f"{self.kind} alone{self._units}"

    @property
    def _units(self) -> str:
        return "" if self.has_own_units else ", same units"


@dataclass(frozen=True, slots=True)
class SharedDevice:
    """A device that launches share. `parts` is the number of parts that it has room for."""

    compute_units: int
    cache_bytes: int
    max_buffer_bytes: int
    max_group_items: int
    is_cpu: bool

    @property
    def parts(self) -> int:
        """Number of parts of equal size into which the device is divided."""
        return parts_of(self.compute_units)

    @classmethod
    def of(cls, device: DeviceFacts) -> "SharedDevice":
        """Return a device of some facts. Half of its memory is left to others."""
        return cls(
            compute_units=device.compute_units,
            cache_bytes=device.cache_bytes,
            max_buffer_bytes=min(device.max_buffer_bytes, device.global_bytes // 4),
            max_group_items=device.max_group_items,
            is_cpu=device.kind == "cpu",
        )

    def room(self, *, has_own_units: bool) -> Room:
        """Return the room for a launch on its part of the device, or beside the others on all of it.

        A CPU's drivers divide it; a launch there may have any number of work-groups.
        """
        units = self.compute_units
        groups = units // self.parts if has_own_units else units
        return Room(
            cache_bytes=self.cache_bytes,
            max_buffer_bytes=self.max_buffer_bytes // _SPARE_BUFFERS * 4,
            groups=None if self.is_cpu else groups,
            group_items=min(GROUP_ITEMS, self.max_group_items),
        )


def parts_of(compute_units: int) -> int:
    """Return the number of parts into which a device with so many compute units is divided."""
    return max(min(MAX_LAUNCHES, compute_units), 1)


def beside_cases(
    device: SharedDevice, kernels: Mapping[Kind, KindKernel], counts: Sequence[int]
) -> Iterator[BesideCase]:
    """Yield launches alone, and then in sets of `counts` launches, as many as there are parts for."""
    for has_own_units in (True,) if device.is_cpu else (True, False):
        room = device.room(has_own_units=has_own_units)
        launches = {kind: kernel.launch(kind, room) for kind, kernel in kernels.items()}
        parts = device.parts if has_own_units else 1
        for kind in Kind:
            yield _case(launches, (kind,), parts, is_memory_shared=False)
        for threads in counts:
            if threads <= device.parts:
                yield from _sets(launches, threads, parts)
    if device.is_cpu:
        yield from _undivided(device, kernels)


def _undivided(device: SharedDevice, kernels: Mapping[Kind, KindKernel]) -> Iterator[BesideCase]:
    """Yield a pair on the whole of a CPU, where drivers mostly run one launch after another."""
    room = device.room(has_own_units=False)
    launches = {Kind.COMPUTE: kernels[Kind.COMPUTE].launch(Kind.COMPUTE, room)}
    for kinds in ((Kind.COMPUTE,), (Kind.COMPUTE, Kind.COMPUTE)):
        yield _case(launches, kinds, 1, is_memory_shared=False)


def _sets(launches: Mapping[Kind, Workload], threads: int, parts: int) -> Iterator[BesideCase]:
    for is_memory_shared in (False, True):
        for kinds in _mixtures(threads):
            for first in dict.fromkeys(kinds):
                others = list(kinds)
                others.remove(first)
                ordered = (first, *others)
                yield _case(launches, ordered, parts, is_memory_shared=is_memory_shared)


def _mixtures(threads: int) -> Iterator[tuple[Kind, ...]]:
    if threads == 2:
        yield from combinations_with_replacement(Kind, 2)
        return
    for kind in Kind:
        yield (kind,) * threads
    for pair in _MIXTURES:
        yield tuple(pair[number % 2] for number in range(threads))


def _case(
    launches: Mapping[Kind, Workload],
    kinds: tuple[Kind, ...],
    parts: int,
    *,
    is_memory_shared: bool,
) -> BesideCase:
    work = LaunchBeside(
        launches[kinds[0]],
        tuple(launches[kind] for kind in kinds[1:]),
        parts,
        is_memory_shared,
    )
    return BesideCase(kinds[0], kinds[1:], is_memory_shared, parts > 1, work)
