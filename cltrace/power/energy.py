"""The energy of a trace: what each sensor tells, of which commands, and how sensors agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from cltrace.events.power import PowerChannel, Scope
from cltrace.power.activity_shares import Busy, Response
from cltrace.power.attribution import attributed
from cltrace.power.channels import (
    Device,
    ReadChannel,
    devices_of,
    outermost,
    probes_of,
    read_channels,
    serves,
)
from cltrace.power.design import Situation
from cltrace.power.load_classes import Load, busy_union, loads
from cltrace.power.mean_power import Observations
from cltrace.power.results import Attribution, EnergyLine, Tier
from cltrace.timeline.activity import Activity
from cltrace.timeline.reading import read_activity
from cltrace.trace.reader import Trace

_S: Final = 1e-9
_OUTSIDE_IN: Final = (
    frozenset({Scope.WALL}),
    frozenset({Scope.PSU}),
    frozenset({Scope.PLATFORM}),
    frozenset({Scope.CPU, Scope.DRAM, Scope.GPU, Scope.OTHER}),
    frozenset(Scope),
)
"""Scopes from what contains all to what is contained."""
_ADDED_UP: Final = frozenset({Scope.CPU})
"""Scopes of which a device may have several, each with a meter of its own: a processor's packages."""
_NEAREST: Final = (Scope.GPU, Scope.CPU, Scope.OTHER, Scope.PLATFORM, Scope.PSU, Scope.WALL)
"""Scopes by how near they are to a device: the first that was read tells of its commands."""
_COMPONENTS: Final[Mapping[str, str]] = {
    Scope.GPU: "GPU", Scope.CPU: "CPU", Scope.DRAM: "CPU",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """Two channels that measure the same thing: `other_j` by `main_j` over the time of both.

    `loaded` is the ratio while something ran, None where nothing ran for long.
    """

    other: PowerChannel
    main_j: float
    other_j: float
    loaded: float | None

    @property
    def ratio(self) -> float:
        """Of their energies."""
        return self.other_j / self.main_j if self.main_j else float("nan")


@dataclass(frozen=True, slots=True)
class Source:
    """What a channel tells. `energy_j` is that of the time with readings, `covered_s` that time.

    `component` is what it is a part of: `GPU`, `CPU`, or its scope. `attribution` is None where no
    command of the trace draws from it, or it has too few readings.
    """

    channel: PowerChannel
    component: str
    devices: tuple[Device, ...]
    energy_j: float
    covered_s: float
    samples: int
    seen: Observations
    attribution: Attribution | None
    checks: tuple[CrossCheck, ...]


@dataclass(frozen=True, slots=True)
class TraceEnergy:
    """The energy of a trace. `sources` may be added up, `parts` are inside of one of them.

    `failures` are readers that read nothing, or not to the end: which, and why. `unserved` are
    classes of commands that no sensor serves. `resident_s` is when the program had a context, on the
    trace's axis, None where that is not known. `calibrated` are lines measured in other traces, by
    kernel, global size and device.
    """

    sources: tuple[Source, ...]
    parts: tuple[Source, ...]
    failures: tuple[str, ...]
    unserved: tuple[Load, ...]
    device_names: Mapping[int, str]
    resident_s: tuple[float, float] | None = None
    calibrated: Mapping[tuple[str, str, str], EnergyLine] = field(default_factory=dict)

    @property
    def told(self) -> tuple[Source, ...]:
        """Every source that is a component of a machine, inside of another one or not."""
        return (*self.sources, *self.parts)

    @property
    def total_j(self) -> float:
        """All energy that was measured, once: what contains other components stands for them."""
        return sum(one.energy_j for one in self._outermost())

    def during_j(self, begin_s: float, end_s: float) -> float:
        """As much of it as was measured from one time of the trace's axis to another."""
        return sum(one.seen.during_j(begin_s, end_s) for one in self._outermost())

    def _outermost(self) -> Sequence[Source]:
        for scope in _OUTSIDE_IN:
            mine = [one for one in self.sources if one.channel.scope in scope]
            if any(one.energy_j for one in mine):
                return mine
        return ()

    @property
    def lines(self) -> tuple[EnergyLine, ...]:
        """The energy of every class of commands, once.

        It is that of what its device draws by itself if that was measured, else of what contains it.
        Packages of a processor are added up; of other meters of the same thing one is taken.
        """
        lines: list[EnergyLine] = []
        for device in dict.fromkeys(d for one in self.told for d in one.devices):
            lines += _lines_of(device, self.told, lines)
        lines += [
            EnergyLine(one, Tier.UNRESOLVED, None, None, None, None, 0.0, 0, self._why(one))
            for one in self.unserved
        ]
        filled = [self._calibrated(line) for line in lines]
        return tuple(sorted(filled, key=lambda line: -(line.energy_j or 0.0)))

    def configuration(self, load: Load) -> tuple[str, str, str]:
        """What tells a kernel's energy in another trace: its name, its global size, and the device."""
        return load.name, load.size, self.device_names.get(load.device, "")

    def _why(self, load: Load) -> str:
        """Why nothing tells of a class."""
        served = {number for one in self.told for device in one.devices for number in device.ids}
        return "too few readings" if load.device in served else "no sensor of its device"

    def _calibrated(self, line: EnergyLine) -> EnergyLine:
        """An unresolved line as it was measured elsewhere, if it was."""
        load = line.load
        other = self.calibrated.get(self.configuration(load))
        if line.tier is not Tier.UNRESOLVED or other is None or not len(other.load):
            return line
        share = len(load) / len(other.load)
        return replace(
            line,
            tier=Tier.CALIBRATED,
            why="",
            energy_j=(other.energy_j or 0.0) * share,
            within_j=(other.within_j or 0.0) * share,
            dynamic_j=(other.dynamic_j or 0.0) * share,
            dynamic_within_j=(other.dynamic_within_j or 0.0) * share,
        )


def with_calibrated(found: TraceEnergy, alone: Sequence[TraceEnergy]) -> TraceEnergy:
    """The same with kernels that are unresolved as they were measured directly in other traces.

    A kernel of the same name and global size on a device of the same name is taken to draw what it drew
    where it ran for long by itself.
    """
    known: dict[tuple[str, str, str], EnergyLine] = {}
    for one in alone:
        measured = (line for line in one.lines if line.tier is Tier.DIRECT)
        known.update({one.configuration(line.load): line for line in measured})
    return replace(found, calibrated=known)


def has_power(trace: Trace) -> bool:
    """Whether power was asked for when the trace was recorded, or was added to it."""
    return bool(
        trace.rows("SELECT 1 FROM v_power_channel UNION ALL SELECT 1 FROM v_power_probe LIMIT 1")
    )


def energy_of(trace: Trace, activity: Activity | None = None) -> TraceEnergy:
    """What the sensors of a trace tell. Raises: `DamagedTraceError`."""
    activity = read_activity(trace) if activity is None else activity
    channels = read_channels(trace, activity.axis)
    devices = devices_of(trace)
    sizes = {
        int(one): str(size or "")
        for one, size in trace.rows("SELECT launch_id, global_size FROM v_launch")
    }
    one_of = {number: device.ids[0] for device in devices for number in device.ids}
    made = _Maker(activity, devices, sizes, one_of, _resident_s(trace, activity))
    tops = {id(one) for one in outermost(channels)}
    groups: dict[tuple[str, ...], list[ReadChannel]] = {}
    for channel in channels:
        groups.setdefault(channel.alternative, []).append(channel)
    found = [(made.source(group), id(group[0]) in tops) for group in groups.values()]
    sources = tuple(source for source, is_top in found if is_top)
    served = {
        number for one, _ in found if one.attribution for d in one.devices for number in d.ids
    }
    rest = [n for device in devices for n in device.ids if n not in served]
    return TraceEnergy(
        sources,
        tuple(source for source, is_top in found if not is_top),
        tuple(_failures(trace)),
        loads(activity, sizes, rest, one_of) if rest else (),
        {number: device.name for device in devices for number in device.ids},
        made.resident_s,
    )


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes sources of a trace's channels."""

    activity: Activity
    devices: Sequence[Device]
    sizes: Mapping[int, str]
    one_of: Mapping[int, int]
    resident_s: tuple[float, float] | None

    def source(self, group: Sequence[ReadChannel]) -> Source:
        """What channels that measure the same thing tell: the finest, held against the others."""
        main, *others = sorted(group, key=_fineness)
        mine = tuple(one for one in self.devices if serves(main.channel, one))
        numbers = [number for device in mine for number in device.ids]
        work = loads(self.activity, self.sizes, numbers, self.one_of) if numbers else ()
        attribution = self._attribution(main, work) if work else None
        return Source(
            channel=main.channel,
            component=_COMPONENTS.get(main.channel.scope, main.channel.scope),
            devices=mine,
            energy_j=main.seen.energy_j,
            covered_s=float(main.seen.span_s.sum()),
            samples=main.samples,
            seen=main.seen,
            attribution=attribution,
            checks=tuple(_check(main, one, work) for one in others if len(one.seen) > 1),
        )

    def _attribution(self, main: ReadChannel, work: tuple[Load, ...]) -> Attribution | None:
        channel = main.channel
        stated = Response(channel.delay_s or 0.0, channel.lag_s or 0.0)
        is_stated = channel.lag_s is not None or channel.quantity == "energy"
        return attributed(Situation(main.seen, work, stated, is_stated, self.resident_s))


def _fineness(channel: ReadChannel) -> tuple[bool, float, str]:
    """Lower for a channel with more readings a second."""
    seen = channel.seen
    if len(seen) < 2:
        return True, 0.0, channel.channel.key
    return False, float(np.median(np.diff(seen.end_s))), channel.channel.key


def _check(main: ReadChannel, other: ReadChannel, work: tuple[Load, ...]) -> CrossCheck:
    """Two channels over the time that both have readings of."""
    begin = max(float(one.seen.end_s[0] - one.seen.span_s[0]) for one in (main, other))
    end = min(float(one.seen.end_s[-1]) for one in (main, other))
    parts = [
        one.seen.chosen((one.seen.end_s - one.seen.span_s >= begin) & (one.seen.end_s <= end))
        for one in (main, other)
    ]
    start, until = busy_union(work)
    busy = Busy.of(start, until)
    loaded = []
    for part in parts:
        share = busy.mean(part.begin_s, part.end_s, Response())
        inside = part.chosen(share > 0.99)
        seconds = float(inside.span_s.sum())
        loaded.append(inside.energy_j / seconds if seconds > 1.0 else 0.0)
    spans = [float(part.span_s.sum()) for part in parts]
    scale = spans[0] / spans[1] if spans[1] else 1.0
    return CrossCheck(
        other.channel,
        parts[0].energy_j,
        parts[1].energy_j * scale,
        loaded[1] / loaded[0] if loaded[0] and loaded[1] else None,
    )


def _resident_s(trace: Trace, activity: Activity) -> tuple[float, float] | None:
    """From the first use of OpenCL to the end of the last process, where that is known."""
    rows = trace.rows("SELECT process_id, ended_host_ns FROM v_process")
    queues = trace.rows("SELECT min(known_host_ns) FROM v_queue")
    origin = activity.axis.origin_host_ns
    ends = [int(end) - origin.get(int(one), 0) for one, end in rows if isinstance(end, int)]
    first = [int(one) for (one,) in queues if isinstance(one, int)]
    if not ends or not first or activity.axis.machines > 1:
        return None
    begin = first[0] - next(iter(origin.values()), 0)
    return begin * _S, max(ends) * _S


def _failures(trace: Trace) -> list[str]:
    said = []
    for reader, state, evidence, remedy, ended in probes_of(trace):
        if ended:
            said.append(f"{reader} was dropped: {ended}")
        elif state != "ok":
            then = f"; {remedy}" if remedy else ""
            said.append(f"{reader} is {state}: {evidence}{then}")
    return said


def _lines_of(
    device: Device, told: Sequence[Source], known: Sequence[EnergyLine]
) -> list[EnergyLine]:
    """The lines of a device's commands by the sources that are nearest to it."""
    mine = [one for one in told if device in one.devices and one.attribution is not None]
    near = next(
        (
            some
            for scope in _NEAREST
            if (some := [one for one in mine if one.channel.scope == scope])
        ),
        mine[:1],
    )
    if near and near[0].channel.scope not in _ADDED_UP:
        near = [max(near, key=lambda one: one.samples)]
    else:
        near = [one for one in near if one.channel.reader == near[0].channel.reader]
    there = {id(line) for line in known}
    groups: dict[tuple[str, ...], list[EnergyLine]] = {}
    for source in near:
        for line in source.attribution.lines if source.attribution is not None else ():
            if line.load.device in {*device.ids, 0} and id(line) not in there:
                key = (line.load.kind, line.load.name, line.load.size, str(line.load.device))
                groups.setdefault(key, []).append(line)
    return [_summed(some) for some in groups.values()]


def _summed(lines: Sequence[EnergyLine]) -> EnergyLine:
    """One line of several sources: sums, errors in quadrature, the worst tier."""
    first = lines[0]
    if len(lines) == 1:
        return first
    order = list(Tier)
    tier = max((line.tier for line in lines), key=order.index)
    if tier is Tier.UNRESOLVED:
        return next(line for line in lines if line.tier is tier)
    return replace(
        first,
        tier=tier,
        energy_j=sum(line.energy_j or 0.0 for line in lines),
        within_j=float(np.hypot.reduce([line.within_j or 0.0 for line in lines])),
        dynamic_j=sum(line.dynamic_j or 0.0 for line in lines),
        dynamic_within_j=float(np.hypot.reduce([line.dynamic_within_j or 0.0 for line in lines])),
        coverage=min(line.coverage for line in lines),
        updates=min(line.updates for line in lines),
    )
