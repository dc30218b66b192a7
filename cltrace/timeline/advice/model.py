"""What rules propose, what findings say, and the evidence that rules examine.

A rule is a function from `Evidence` to proposals. A `Proposal` names a place, the evidence, a remedy,
and the `Change` of the run that the remedy makes. `gains` replays the run with the change: a proposal
and its `Gain` become a `Finding`. The times of a finding therefore agree with those of the run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.columns import Int64s
from cltrace.timeline.dependencies import Dependencies
from cltrace.timeline.grouping import groups
from cltrace.timeline.memory_moves import MemoryMoves
from cltrace.timeline.replay import Change, HostEvents

MIN_SHARE: Final = 0.01
"""Share of the run from which a gain is worth a finding of its own."""

MIN_OCCURRENCES: Final = 8
"""Occurrences from which a pattern counts as a habit of the program."""

HOST_MEMORY: Final = (1 << 3) | (1 << 4)
"""`CL_MEM_USE_HOST_PTR` and `CL_MEM_ALLOC_HOST_PTR`."""

READ_ONLY: Final = 1 << 2
"""`CL_MEM_READ_ONLY`: kernels do not change the memory object."""


class MetricUnit(StrEnum):
    """Unit of a metric."""

    NS = "ns"
    BYTES = "bytes"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Metric:
    """A labelled number that supports a finding: a sum of its occurrences, or a typical one."""

    label: str
    value: float
    unit: MetricUnit
    is_sum: bool = True


def metric_ns(label: str, ns: float) -> Metric:
    """Return a metric that is a time."""
    return Metric(label, ns, MetricUnit.NS)


def typical_ns(label: str, ns: float) -> Metric:
    """Return a metric that is the time of a typical occurrence."""
    return Metric(label, ns, MetricUnit.NS, is_sum=False)


def metric_bytes(label: str, size_bytes: float) -> Metric:
    """Return a metric that is a size."""
    return Metric(label, size_bytes, MetricUnit.BYTES)


def metric_count(label: str, count: float) -> Metric:
    """Return a metric that is a count."""
    return Metric(label, count, MetricUnit.COUNT)


def typical_count(label: str, count: float) -> Metric:
    """Return a metric that is a number of a typical occurrence."""
    return Metric(label, count, MetricUnit.COUNT, is_sum=False)


def typical_bytes(label: str, size_bytes: float) -> Metric:
    """Return a metric that is the size of a typical occurrence."""
    return Metric(label, size_bytes, MetricUnit.BYTES, is_sum=False)


class Place(NamedTuple):
    """Line to change, as `file:line`: the nearest one that belongs to no installed package.

    `library` is the line inside of a package that made the call, empty where the program called itself.
    Both are empty where no site is recorded.
    """

    site: str
    library: str = ""


class Remedy(NamedTuple):
    """What to do, in a sentence, and a line of code before and after it; empty where none fits."""

    text: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An improvement that the program could make at one place.

    `rule` is a stable word for scripts, `times` the number of occurrences. `change` is the remedy's
    effect on the run; `None` if it saves no time. `least` and `most` are changes for the bounds of the
    gain, where a rule cannot know how much of the effect comes about; `None` where `change` serves.
    `limit_ns` is the time in the evidence that the expected gain is part of, `None` without such a limit.
    `until_site` is where a part of the program ends that begins at `place`; "" for a single line.
    `kernel_line` is the line of a kernel's source that the remedy concerns, `file:line`; "" without one.
    Proposals of a rule with the same `cause` are one finding; "" for one of its own.
    """

    rule: str
    title: str
    place: Place
    times: int
    metrics: tuple[Metric, ...]
    remedy: Remedy
    change: Change | None = None
    least: Change | None = None
    most: Change | None = None
    limit_ns: int | None = None
    until_site: str = ""
    kernel_line: str = ""
    cause: str = ""


class UncountedKernel(NamedTuple):
    """A kernel whose work could not be counted, the reason, and its share of the run."""

    kernel: str
    reason: str
    share: float


class AloneShare(NamedTuple):
    """Share of their time that launches which ran beside others would take alone, and its bounds."""

    expected: float
    low: float
    high: float


class DeviceLaunch(NamedTuple):
    """A launch configuration on a device, by their numbers."""

    device: int
    launch: int


@dataclass(frozen=True, slots=True)
class ModelledNeighbours:
    """What a model says of launches at the same time.

    `slower` is how many times longer a launch takes beside others like it, by the number of launches at
    once. `crowded` are those that would have been faster one after another.
    """

    slower: Mapping[DeviceLaunch, Mapping[int, float]]
    crowded: Mapping[DeviceLaunch, AloneShare]


NO_NEIGHBOURS: Final = ModelledNeighbours({}, {})


@dataclass(frozen=True, slots=True)
class KernelAdvice:
    """Proposals of rules about kernels.

    `modelled` are the launch configurations for which they say whether other work-groups are faster,
    `uncounted` the kernels that they say nothing of. `neighbours` is for rules about queues.
    """

    proposals: tuple[Proposal, ...] = ()
    modelled: frozenset[int] = frozenset()
    uncounted: tuple[UncountedKernel, ...] = ()
    neighbours: ModelledNeighbours = NO_NEIGHBOURS


NO_KERNEL_ADVICE: Final = KernelAdvice()


@dataclass(frozen=True, slots=True)
class Gain:
    """Time by which a change shortens a run, ns: expected, and between which bounds."""

    expected_ns: int
    low_ns: int
    high_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A proposal with its gain, `None` where it saves no time. `other_places` have the same cause."""

    proposal: Proposal
    gain: Gain | None
    other_places: tuple[Place, ...] = ()

    @property
    def rule(self) -> str:
        """The rule that made the proposal."""
        return self.proposal.rule

    @property
    def site(self) -> str:
        """The line to change."""
        return self.proposal.place.site

    @property
    def times(self) -> int:
        """The number of occurrences."""
        return self.proposal.times


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings of a run, those with the largest gain first and those without a gain in time last.

    `together` is the gain of all changes at once, `None` if no finding has one. `span_ns` is the time
    from the first call to the end of the run.
    """

    findings: tuple[Finding, ...]
    together: Gain | None
    span_ns: int

    def worthwhile(self, min_share: float = MIN_SHARE) -> tuple[Finding, ...]:
        """Return the findings that save a share of the run, and those about something else than time."""
        return tuple(
            finding
            for finding in self.findings
            if finding.gain is None or finding.gain.expected_ns >= min_share * self.span_ns
        )


@dataclass(frozen=True, slots=True)
class BuildStep:
    """One build of a program: source, options, device number, and duration.

    `call` is the position of its call in the activity, -1 if the call is not there. `program` is the
    number of the program.
    """

    source: str
    options: str
    device: int
    duration_ns: int
    call: int = -1
    program: int = 0


@dataclass(frozen=True, slots=True)
class LaunchConfiguration:
    """Sizes of a launch, and the preferred work-group size multiple of its kernel.

    `local_size` is `None` when the driver chose it, `multiple` when the driver does not report it.
    `program` is the number of the kernel's program, 0 if it is not known.
    """

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    multiple: int | None
    program: int = 0


@dataclass(frozen=True, slots=True)
class MemoryObject:
    """A memory object: its kind, its `CL_MEM_*` flags, the site that created it, and its fate."""

    kind: str
    flags: int
    size_bytes: int
    site: str
    fate: str


@dataclass(frozen=True, slots=True)
class DeviceSummary:
    """Facts about a device that rules need."""

    name: str
    kind: str
    compute_units: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All facts that rules examine.

    `used_buffers` are the memory objects among a launch's arguments, for launches of which all arguments
    are recorded, and `constant_buffers` those of them that the launch cannot change.
    `moves` are uses of memory objects that another device had last. `parents` maps
    sub-buffers to the buffers that they are parts of. `places` has the place of each site,
    `dropped` the commands whose dropped events pyopencl waited for without a recorded call, and `events`
    what each thread did. `modelled` are the launch configurations for which a model says what other
    work-groups would take, `neighbours` what it says of launches at the same time.
    """

    activity: Activity
    dependencies: Dependencies
    builds: tuple[BuildStep, ...]
    configurations: Mapping[int, LaunchConfiguration]
    memory: Mapping[int, MemoryObject]
    devices: Mapping[int, DeviceSummary]
    used_buffers: Mapping[int, frozenset[int]]
    constant_buffers: Mapping[int, frozenset[int]]
    moves: MemoryMoves
    parents: Mapping[int, int]
    places: Mapping[int, Place]
    dropped: Int64s
    events: HostEvents
    pyopencl_below: frozenset[int]
    """Processes whose calls were recorded below pyopencl: those that it makes by itself are there too."""
    profiled_queues: frozenset[int] = frozenset()
    """Queues for which the program itself enabled profiling, to measure its commands."""
    modelled: frozenset[int] = frozenset()
    neighbours: ModelledNeighbours = NO_NEIGHBOURS

    def main_place(self, commands: Int64s) -> Place:
        """Return the place that enqueued the most of some commands."""
        places = self.by_place(self.activity.commands.site[commands], commands)
        most = max(places, key=lambda each: len(each[1]), default=None)
        return Place("") if most is None else most[0]

    def launched(self, commands: Int64s) -> list[DeviceLaunch]:
        """Return the launch configuration of each command, with its device."""
        own = self.activity.commands
        numbers = zip(own.device[commands].tolist(), own.launch[commands].tolist(), strict=True)
        return [DeviceLaunch(*each) for each in numbers]

    @property
    def shares_memory_with_host(self) -> bool:
        """Whether the host may use memory of kernels without a recorded command."""
        return any(each.kind == "svm" or each.flags & HOST_MEMORY for each in self.memory.values())

    def by_place(self, sites: Int64s, positions: Int64s) -> Iterator[tuple[Place, Int64s]]:
        """Yield each place with the positions whose sites are there, ascending."""
        of_place: dict[Place, list[Int64s]] = {}
        for site, members in groups(sites, positions):
            of_place.setdefault(self.places.get(site, Place("")), []).append(members)
        for place, parts in of_place.items():
            yield place, np.sort(np.concatenate(parts))
