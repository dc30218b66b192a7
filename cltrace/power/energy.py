"""Energy of a trace: energy per sensor, attribution to commands, and agreement of sensors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from cltrace.events.power import PowerChannel, Scope
from cltrace.power.activity_shares import ActiveTime, SensorResponse
from cltrace.power.attribution import attribute
from cltrace.power.channels import (
    ChannelReadings,
    MeteredDevice,
    find_outermost,
    group_by_measurand,
    measures_device,
    read_channels,
    read_devices,
    read_probes,
    split_unused,
)
from cltrace.power.design import AttributionInput
from cltrace.power.load_classes import Load, active_intervals, group_loads
from cltrace.power.mean_power import Observations
from cltrace.power.results import Attribution, EnergyLine, Tier
from cltrace.timeline.activity import Activity
from cltrace.timeline.reading import read_activity
from cltrace.trace.device_labels import device_labels
from cltrace.trace.reader import Trace

_S: Final = 1e-9
_OUTSIDE_IN: Final = (
    frozenset({Scope.WALL}),
    frozenset({Scope.PSU}),
    frozenset({Scope.PLATFORM}),
    frozenset({Scope.CPU, Scope.DRAM, Scope.GPU, Scope.OTHER}),
    frozenset(Scope),
)
"""Scopes from the outermost to the innermost."""
_SUMMED_SCOPES: Final = frozenset({Scope.CPU})
"""Scopes of which a device may have several, each with its own meter: packages of a processor."""
_NEAREST_FIRST: Final = (
    Scope.GPU,
    Scope.CPU,
    Scope.OTHER,
    Scope.PLATFORM,
    Scope.PSU,
    Scope.WALL,
)
"""Scopes by distance from a device. The nearest measured scope gives the energy of its commands."""
_ENERGIES: Final[WeakKeyDictionary[Trace, "TraceEnergy"]] = WeakKeyDictionary()
_COMPONENTS: Final[Mapping[str, str]] = {Scope.GPU: "GPU", Scope.CPU: "CPU", Scope.DRAM: "CPU"}


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """Comparison of a second channel with the main channel of the same measurand.

    `main_j` and `other_j` are the energies in the time that both cover. `loaded_ratio` is the ratio of
    their powers during commands, `None` without enough of this time.
    """

    other: PowerChannel
    main_j: float
    other_j: float
    loaded_ratio: float | None

    @property
    def ratio(self) -> float:
        """Energy of the other channel relative to the main one."""
        return self.other_j / self.main_j if self.main_j else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergySource:
    """Measured energy of a channel. `energy_j` is the energy of the time with readings, `covered_s`.

    `component` is the part of the machine: `GPU`, `CPU`, or the channel's scope. `devices` are those
    whose power the channel measures. `attribution` is `None` where no command of the trace runs on
    these devices, or the readings are too few. `checks` compare further channels of the same measurand.
    `context_span_s` is the time on the trace's axis for which the program had a queue on the devices,
    `None` where it is unknown.
    """

    channel: PowerChannel
    component: str
    devices: tuple[MeteredDevice, ...]
    energy_j: float
    covered_s: float
    sample_count: int
    observations: Observations
    attribution: Attribution | None
    checks: tuple[CrossCheck, ...]
    context_span_s: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEnergy:
    """Energy of a trace. `sources` do not overlap; each of `parts` is contained in another source.

    `unused` are sources of boards of the same host that the program did not use: they are in no sum.
    `failures` are messages about readers that read nothing, or were dropped. `unserved` are the classes
    of commands without a sensor. `device_names` and `device_labels` are by number; the labels tell
    devices of one name apart. `calibrated` are lines that were measured in other traces, by
    `configuration`.
    """

    sources: tuple[EnergySource, ...]
    parts: tuple[EnergySource, ...]
    failures: tuple[str, ...]
    unserved: tuple[Load, ...]
    device_names: Mapping[int, str]
    device_labels: Mapping[int, str] = field(default_factory=dict)
    unused: tuple[EnergySource, ...] = ()
    calibrated: Mapping[tuple[tuple[str, ...], str, str], EnergyLine] = field(default_factory=dict)

    @property
    def all_sources(self) -> tuple[EnergySource, ...]:
        """All sources, contained in another one or not."""
        return (*self.sources, *self.parts)

    @property
    def total_j(self) -> float:
        """Total measured energy, each component once: a containing source replaces its parts."""
        return sum(source.energy_j for source in self._outermost())

    def energy_between_j(self, begin_s: float, end_s: float) -> float:
        """Return the part of the total that was measured between two times of the trace's axis."""
        return sum(
            source.observations.energy_between_j(begin_s, end_s) for source in self._outermost()
        )

    def _outermost(self) -> Sequence[EnergySource]:
        for scopes in _OUTSIDE_IN:
            outermost = [source for source in self.sources if source.channel.scope in scopes]
            if any(source.energy_j for source in outermost):
                return outermost
        return ()

    @property
    def lines(self) -> tuple[EnergyLine, ...]:
        """Energy of each class of commands, each class once.

        The nearest measured source of the device gives the energy. Packages of a processor are summed;
        of other sources with the same scope, the one with most readings is used.
        """
        lines: list[EnergyLine] = []
        devices = [device for source in self.all_sources for device in source.devices]
        for device in dict.fromkeys(devices):
            lines += _device_lines(device, self.all_sources, lines)
        lines += [EnergyLine.unresolved(load, self._why_unserved(load)) for load in self.unserved]
        filled = [self._fill(line) for line in lines]
        return tuple(sorted(filled, key=lambda line: -(line.energy_j or 0.0)))

    def configuration(self, load: Load) -> tuple[tuple[str, ...], str, str]:
        """Return the key of a load in other traces: its names, its global size, and the device."""
        return load.names, load.size, self.device_names.get(load.device, "")

    def _why_unserved(self, load: Load) -> str:
        measured = {
            number
            for source in self.all_sources
            for device in source.devices
            for number in device.ids
        }
        return "too few readings" if load.device in measured else "no sensor of its device"

    def _fill(self, line: EnergyLine) -> EnergyLine:
        """Return an unresolved line with the energy of its calibration, if there is one."""
        load = line.load
        other = self.calibrated.get(self.configuration(load))
        if line.tier is not Tier.UNRESOLVED or other is None or not len(other.load):
            return line
        scale = len(load) / len(other.load)
        return replace(
            line,
            tier=Tier.CALIBRATED,
            why="",
            energy_j=(other.energy_j or 0.0) * scale,
            within_j=(other.within_j or 0.0) * scale,
            dynamic_j=(other.dynamic_j or 0.0) * scale,
            dynamic_within_j=(other.dynamic_within_j or 0.0) * scale,
        )


def fill_from_calibration(energy: TraceEnergy, calibrations: Sequence[TraceEnergy]) -> TraceEnergy:
    """Return the energy of a trace, its unresolved kernels filled in from direct measurements elsewhere.

    A kernel of the same name and global size, on a device of the same name, is assumed to use the same
    energy as in the trace in which it ran alone for long.
    """
    calibrated: dict[tuple[tuple[str, ...], str, str], EnergyLine] = {}
    for calibration in calibrations:
        direct = (line for line in calibration.lines if line.tier is Tier.DIRECT)
        calibrated.update({calibration.configuration(line.load): line for line in direct})
    return replace(energy, calibrated=calibrated)


def energy_of(trace: Trace, activity: Activity | None = None) -> TraceEnergy:
    """Return the energy that a trace's sensors measured, computed once. Raises: `DamagedTraceError`."""
    if trace not in _ENERGIES:
        _ENERGIES[trace] = _compute_energy(trace, activity or read_activity(trace))
    return _ENERGIES[trace]


def _compute_energy(trace: Trace, activity: Activity) -> TraceEnergy:
    channels = read_channels(trace, activity.axis)
    devices = read_devices(trace)
    sizes = {
        int(launch): str(size or "")
        for launch, size in trace.rows("SELECT launch_id, global_size FROM v_launch")
    }
    first_ids = {number: device.ids[0] for device in devices for number in device.ids}
    builder = _SourceBuilder(activity, devices, sizes, first_ids, _queue_spans_s(trace, activity))
    channels, unused = split_unused(channels, devices)
    outermost = {id(channel) for channel in find_outermost(channels)}
    built = [
        (builder.build(group), id(group[0]) in outermost) for group in group_by_measurand(channels)
    ]
    attributed = [source for source, _ in built if source.attribution]
    served = {number for source in attributed for device in source.devices for number in device.ids}
    unserved = [number for device in devices for number in device.ids if number not in served]
    return TraceEnergy(
        sources=tuple(source for source, is_outermost in built if is_outermost),
        parts=tuple(source for source, is_outermost in built if not is_outermost),
        failures=tuple(_failures(trace)),
        unserved=group_loads(activity, sizes, unserved, first_ids) if unserved else (),
        device_names={number: device.name for device in devices for number in device.ids},
        device_labels=device_labels(trace),
        unused=tuple(map(builder.build, group_by_measurand(find_outermost(unused)))),
    )


@dataclass(frozen=True, slots=True)
class _SourceBuilder:
    """Builder of a trace's energy sources.

    `first_ids` maps all ids of a device to its first one. `queue_spans_s` are the times from the first
    queue of each device to the end of its process.
    """

    activity: Activity
    devices: Sequence[MeteredDevice]
    sizes: Mapping[int, str]
    first_ids: Mapping[int, int]
    queue_spans_s: Mapping[int, tuple[float, float]]

    def build(self, group: Sequence[ChannelReadings]) -> EnergySource:
        """Return the source of channels of the same measurand: the one with most readings is main."""
        main, *others = sorted(group, key=_sampling_key)
        devices = tuple(device for device in self.devices if measures_device(main.channel, device))
        ids = [number for device in devices for number in device.ids]
        loads = group_loads(self.activity, self.sizes, ids, self.first_ids) if ids else ()
        spans = [self.queue_spans_s[number] for number in ids if number in self.queue_spans_s]
        span_s = (min(begin for begin, _ in spans), max(end for _, end in spans)) if spans else None
        return EnergySource(
            channel=main.channel,
            component=_COMPONENTS.get(main.channel.scope, main.channel.scope),
            devices=devices,
            energy_j=main.observations.energy_j,
            covered_s=float(main.observations.span_s.sum()),
            sample_count=main.sample_count,
            observations=main.observations,
            attribution=self._attribute(main, loads, span_s) if loads else None,
            checks=tuple(
                _cross_check(main, other, loads) for other in others if len(other.observations) > 1
            ),
            context_span_s=span_s,
        )

    def _attribute(
        self,
        main: ChannelReadings,
        loads: tuple[Load, ...],
        context_span_s: tuple[float, float] | None,
    ) -> Attribution | None:
        channel = main.channel
        declared = SensorResponse(channel.delay_s or 0.0, channel.lag_s or 0.0)
        is_lag_declared = channel.lag_s is not None or channel.quantity == "energy"
        return attribute(
            AttributionInput(main.observations, loads, declared, is_lag_declared, context_span_s)
        )


def _sampling_key(channel: ChannelReadings) -> tuple[bool, float, str]:
    """Return a sort key that is lower for a channel with more readings per second."""
    observations = channel.observations
    if len(observations) < 2:
        return True, 0.0, channel.channel.key
    return False, float(np.median(np.diff(observations.end_s))), channel.channel.key


def _cross_check(
    main: ChannelReadings, other: ChannelReadings, loads: tuple[Load, ...]
) -> CrossCheck:
    """Compare two channels in the time for which both have readings.

    A counter's step over a time in which the main channel was not read, as between two recordings, is
    left out.
    """
    first, second = main.observations, other.observations
    second = second.select(second.is_covered_by(first))
    common = [first.select(first.is_covered_by(second)), second]
    active_time = ActiveTime.of(*active_intervals(loads))
    loaded_w = []
    for each in common:
        share = active_time.mean(each.begin_s, each.end_s, SensorResponse())
        loaded = each.select(share > 0.99)
        seconds = float(loaded.span_s.sum())
        loaded_w.append(loaded.energy_j / seconds if seconds > 1.0 else 0.0)
    spans_s = [float(each.span_s.sum()) for each in common]
    scale = spans_s[0] / spans_s[1] if spans_s[1] else 1.0
    return CrossCheck(
        other.channel,
        common[0].energy_j,
        common[1].energy_j * scale,
        loaded_w[1] / loaded_w[0] if loaded_w[0] and loaded_w[1] else None,
    )


def _queue_spans_s(trace: Trace, activity: Activity) -> Mapping[int, tuple[float, float]]:
    """Return the time from each device's first queue to the end of its process, if that is known."""
    rows = trace.rows(
        "SELECT d.device_id, d.process_id, min(q.known_host_ns), p.ended_host_ns FROM v_device d "
        "JOIN v_queue q ON q.device_id = d.device_id JOIN v_process p ON p.process_id = d.process_id "
        "GROUP BY d.device_id"
    )
    origins = activity.axis.origin_host_ns
    spans = {}
    for device, process, begin_ns, end_ns in rows:
        if isinstance(begin_ns, int) and isinstance(end_ns, int):
            origin_ns = origins.get(int(process), 0)
            spans[int(device)] = ((begin_ns - origin_ns) * _S, (end_ns - origin_ns) * _S)
    return spans


def _failures(trace: Trace) -> list[str]:
    messages = []
    for reader, state, evidence, remedy, ended in read_probes(trace):
        if ended:
            messages.append(f"{reader} was dropped: {ended}")
        elif state != "ok":
            advice = f"; {remedy}" if remedy else ""
            messages.append(f"{reader} is {state}: {evidence}{advice}")
    return messages


def _device_lines(
    device: MeteredDevice, sources: Sequence[EnergySource], previous: Sequence[EnergyLine]
) -> list[EnergyLine]:
    """Return the lines of a device's commands from its nearest sources, without the previous lines."""
    taken = {id(line) for line in previous}
    groups: dict[tuple[str, tuple[str, ...], str, str], list[EnergyLine]] = {}
    for source in _nearest_sources(device, sources):
        for line in source.attribution.lines if source.attribution is not None else ():
            if line.load.device in {*device.ids, 0} and id(line) not in taken:
                key = (line.load.kind, line.load.names, line.load.size, str(line.load.device))
                groups.setdefault(key, []).append(line)
    return [_sum_lines(lines) for lines in groups.values()]


def _nearest_sources(
    device: MeteredDevice, sources: Sequence[EnergySource]
) -> Sequence[EnergySource]:
    """Return the attributed sources of the nearest scope: several only where they are to be summed."""
    attributed = [
        source for source in sources if device in source.devices and source.attribution is not None
    ]
    nearest = attributed[:1]
    for scope in _NEAREST_FIRST:
        of_scope = [source for source in attributed if source.channel.scope == scope]
        if of_scope:
            nearest = of_scope
            break
    if nearest and nearest[0].channel.scope not in _SUMMED_SCOPES:
        return [max(nearest, key=lambda source: source.sample_count)]
    return [source for source in nearest if source.channel.reader == nearest[0].channel.reader]


def _sum_lines(lines: Sequence[EnergyLine]) -> EnergyLine:
    """Return the sum of several sources' lines: errors in quadrature, and the least reliable tier."""
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
