"""Power channels of a trace: their samples on the trace's axis, and the devices that they measure."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cltrace.errors import DamagedTraceError
from cltrace.events.power import PowerChannel, Scope
from cltrace.power.mean_power import Observations, compute_observations
from cltrace.timeline.columns import Int64s
from cltrace.timeline.hosts import Axis
from cltrace.trace.reader import Trace

_COLUMNS: Final = (
    "channel_id, host, key, reader, label, quantity, scope, inside, device, unit_per_step, "
    "modulus_steps, quantum, period_s, window_s, delay_s, lag_s, gain_error, is_estimated, note"
)
_SAMPLES: Final = {
    "channel": "power_channel_id",
    "time_ns": "host_ns",
    "within_ns": "within_ns",
    "raw": "raw",
    "flags": "flags",
}
_MAX_SAMPLE: Final = 1 << 61
_MAX_REAL: Final = 1e9
_CPU_SCOPES: Final = frozenset({Scope.CPU, Scope.CORES, Scope.UNCORE, Scope.DRAM})
_GPU_SCOPES: Final = frozenset({Scope.GPU, Scope.GPU_MEMORY})


@dataclass(frozen=True, slots=True)
class MeteredDevice:
    """Device of a trace, as sensors identify it. `ids` are its ids in all processes that used it."""

    ids: tuple[int, ...]
    host: str
    name: str
    kind: str
    bus: str
    uuid: str


@dataclass(frozen=True, slots=True)
class ChannelReadings:
    """Channel of a trace with its readings, as observations of mean power."""

    channel: PowerChannel
    observations: Observations
    sample_count: int

    @property
    def measurand(self) -> tuple[str, ...]:
        """Key that channels share which measure the same quantity in different ways."""
        channel = self.channel
        if channel.device:
            return channel.host, channel.scope, channel.device, channel.reader
        return channel.host, channel.key


def read_devices(trace: Trace) -> tuple[MeteredDevice, ...]:
    """Return the devices of a trace. A device that several processes used is returned once."""
    rows = trace.rows(
        "SELECT d.device_id, d.process_id, p.host, d.platform, d.name, d.kind, d.bus, d.uuid "
        "FROM v_device d LEFT JOIN v_process p ON p.process_id = d.process_id ORDER BY d.device_id"
    )
    last_copies: dict[tuple[object, ...], int] = {}
    devices: dict[tuple[object, ...], list[object]] = {}
    for row in rows:
        number, process, *facts = row
        # Equal devices in the same process are different devices.
        copy = last_copies[process, *facts] = last_copies.get((process, *facts), -1) + 1
        devices.setdefault((*facts, copy), []).append(number)
    return tuple(_device(facts, numbers) for facts, numbers in devices.items())


def read_channels(trace: Trace, axis: Axis) -> tuple[ChannelReadings, ...]:
    """Return the channels of a trace with their readings, merged over the ranks that read them.

    Labels that channels of different boards or hosts share end with the board's address and the host,
    and with the channel's key where they are equal still.
    Raises: `DamagedTraceError`.
    """
    trace.check_tables("power_sample")
    channels = read_stored_channels(trace)
    if not channels:
        return ()
    columns = _by_channel(_samples(trace))
    origins = _origins(trace, axis)
    groups: dict[tuple[str, str], list[PowerChannel]] = {}
    for channel in channels:
        groups.setdefault((channel.host, channel.key), []).append(channel)
    labels = _distinct_labels([group[0] for group in groups.values()])
    return tuple(
        _read([replace(each, label=label) for each in group], columns, origins)
        for group, label in zip(groups.values(), labels, strict=True)
    )


def _distinct_labels(channels: Sequence[PowerChannel]) -> list[str]:
    labels = [channel.label for channel in channels]
    boards = [f"{label} {_short(each)}" for label, each in zip(labels, channels, strict=True)]
    labels = _mark_shared(labels, boards, [channel.device for channel in channels])
    hosts = [f"{label} on {each.host}" for label, each in zip(labels, channels, strict=True)]
    labels = _mark_shared(labels, hosts, [channel.host for channel in channels])
    # A board may have several channels of one name, as two readers give it.
    keys = [f"{label} ({each.key})" for label, each in zip(labels, channels, strict=True)]
    return _mark_shared(labels, keys, [channel.key for channel in channels])


def _mark_shared(
    labels: Sequence[str], marked: Sequence[str], identities: Sequence[str]
) -> list[str]:
    """Return the labels, with the marked ones in place of those that different identities share."""
    owners: dict[str, set[str]] = {}
    for label, identity in zip(labels, identities, strict=True):
        owners.setdefault(label, set()).add(identity)
    return [
        longer if len(owners[label]) > 1 else label
        for label, longer in zip(labels, marked, strict=True)
    ]


def _short(channel: PowerChannel) -> str:
    return channel.device.removeprefix("0000:") or channel.key


def split_unused(
    channels: Collection[ChannelReadings], devices: Collection[MeteredDevice]
) -> tuple[tuple[ChannelReadings, ...], tuple[ChannelReadings, ...]]:
    """Return the channels that may measure the program's energy, and those of boards that it did not use.

    A board is unused if its channel names it, no device of the trace is that board, and the trace knows
    the board of each of its GPUs on that host.
    """
    unused = {id(each) for each in channels if _is_unused(each.channel, devices)}
    return (
        tuple(each for each in channels if id(each) not in unused),
        tuple(each for each in channels if id(each) in unused),
    )


def _is_unused(channel: PowerChannel, devices: Collection[MeteredDevice]) -> bool:
    if not channel.device or channel.scope not in _GPU_SCOPES:
        return False
    if any(measures_device(channel, device) for device in devices):
        return False
    host_devices = [
        device
        for device in devices
        if not (channel.host and device.host) or channel.host == device.host
    ]
    gpus = [device for device in host_devices if "GPU" in device.kind]
    return bool(host_devices) and all(device.bus or device.uuid for device in gpus)


def read_stored_channels(trace: Trace) -> list[PowerChannel]:
    """Return the channels of a trace as they were recorded. Raises: `DamagedTraceError`."""
    rows = trace.rows(f"SELECT {_COLUMNS} FROM v_power_channel ORDER BY channel_id")
    return [_channel(row) for row in rows]


def measures_device(channel: PowerChannel, device: MeteredDevice) -> bool:
    """Return whether a channel measures the power of a device."""
    if channel.host and device.host and channel.host != device.host:
        return False
    if channel.device:
        names = {_normalise(device.bus), _normalise(device.uuid), _normalise(_as_slot(device.bus))}
        return _normalise(channel.device) in names - {""}
    is_cpu, is_gpu = "CPU" in device.kind, "GPU" in device.kind
    if channel.scope in _CPU_SCOPES:
        return is_cpu
    return is_gpu if channel.scope in _GPU_SCOPES else True


def measures_kind(channel: PowerChannel, kind: str) -> bool:
    """Return whether a channel's scope fits a kind of device: `cpu` or `gpu`."""
    is_cpu = "cpu" in kind.lower()
    if channel.scope in _CPU_SCOPES:
        return is_cpu
    return not (is_cpu and channel.scope in _GPU_SCOPES)


def group_by_measurand(channels: Collection[ChannelReadings]) -> list[list[ChannelReadings]]:
    """Return the channels, together those that measure the same quantity in different ways."""
    groups: dict[tuple[str, ...], list[ChannelReadings]] = {}
    for channel in channels:
        groups.setdefault(channel.measurand, []).append(channel)
    return list(groups.values())


def find_outermost(channels: Collection[ChannelReadings]) -> list[ChannelReadings]:
    """Return the channels that no other channel with readings contains: their energies may be summed.

    Channels that claim to contain each other are all returned.
    """
    outer = {
        _key(each.channel): _outer_key(each.channel) for each in channels if len(each.observations)
    }
    return [each for each in channels if _is_outermost(_outer_key(each.channel), outer)]


def _key(channel: PowerChannel) -> tuple[str, str]:
    return channel.host, channel.key


def _outer_key(channel: PowerChannel) -> tuple[str, str]:
    return channel.host, channel.inside


def _is_outermost(
    inside: tuple[str, str], outer: Mapping[tuple[str, str], tuple[str, str]]
) -> bool:
    """Return whether the chain of containers from `inside` on is empty, or a cycle."""
    if inside not in outer:
        return True
    visited = set()
    while inside in outer and inside not in visited:
        visited.add(inside)
        inside = outer[inside]
    return inside in visited


def _device(facts: Sequence[object], numbers: Sequence[object]) -> MeteredDevice:
    host, _, name, kind, bus, uuid, _ = facts
    ids = tuple(number for number in numbers if isinstance(number, int))
    return MeteredDevice(ids, *(str(text or "") for text in (host, name, kind, bus, uuid)))


def _normalise(text: str) -> str:
    return text.lower().removeprefix("gpu-").replace("-", "")


def _as_slot(bus: str) -> str:
    """Return the address of an NVIDIA device, "" for another form.

    Traces before schema 3 store the slot of such a device as its device and function numbers.
    """
    match = re.fullmatch(r"([0-9a-f]{4}:[0-9a-f]{2}:)([0-9a-f]{2})\.([0-7])", bus)
    return f"{match[1]}{int(match[2], 16) * 8 + int(match[3]):02x}.0" if match is not None else ""


def _channel(row: Sequence[object]) -> PowerChannel:
    """Return a channel of a trace, which may be untrusted. Raises: `DamagedTraceError`."""
    number, *texts = row[:9]
    unit, modulus, *numbers = row[9:-2]
    host, key, reader, label, quantity, scope, inside, device = map(str, texts)
    quantum, period_s, window_s, delay_s, lag_s, gain_error = map(_valid_or_none, numbers)
    scale = float(unit) if isinstance(unit, (int, float)) else 0.0
    if not 0 < scale < 1e6 or (isinstance(modulus, int) and modulus < 1):
        raise DamagedTraceError("the trace is damaged: a power channel has an impossible unit")
    return PowerChannel(
        id=number if isinstance(number, int) else 0,
        host=host,
        key=key,
        reader=reader,
        label=label,
        quantity=quantity,
        scope=scope,
        inside=inside,
        device=device,
        unit_per_step=scale,
        modulus_steps=modulus if isinstance(modulus, int) else None,
        quantum=quantum,
        period_s=period_s,
        window_s=window_s,
        delay_s=delay_s,
        lag_s=lag_s,
        gain_error=gain_error,
        is_estimated=bool(row[-2]),
        note=str(row[-1]),
    )


def _valid_or_none(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < _MAX_REAL else None


def _samples(trace: Trace) -> Mapping[str, Int64s]:
    parts = list(trace.column_parts("power_sample", _SAMPLES))
    if not parts:
        return {name: np.zeros(0, np.int64) for name in _SAMPLES}
    columns = {name: np.concatenate([part[name] for part in parts]) for name in _SAMPLES}
    for name, column in columns.items():
        if len(column) and max(int(column.max()), -int(column.min())) > _MAX_SAMPLE:
            raise DamagedTraceError(f"the trace is damaged: {name} of a power sample")
    return columns


def _by_channel(columns: Mapping[str, Int64s]) -> Mapping[str, Int64s]:
    """Return samples sorted by channel, in their previous order within it."""
    order = np.argsort(columns["channel"], kind="stable")
    return {name: column[order] for name, column in columns.items()}


def _origins(trace: Trace, axis: Axis) -> Mapping[str, int]:
    """Return the begin of the axis on the clock of each host; "" for a host without a process."""
    hosts = trace.rows("SELECT host, min(process_id) FROM v_process GROUP BY host")
    origins = {str(host): axis.origin_host_ns.get(int(process), 0) for host, process in hosts}
    default = next(iter(axis.origin_host_ns.values()), trace.meta_int("origin_host_ns") or 0)
    return {"": default} | origins


def _read(
    group: Sequence[PowerChannel], columns: Mapping[str, Int64s], origins: Mapping[str, int]
) -> ChannelReadings:
    """Return the readings of a channel that several ranks recorded."""
    channel = group[0]
    edges = [np.searchsorted(columns["channel"], [each.id, each.id + 1]) for each in group]
    time_ns, within_ns, raw, flags = (
        np.concatenate([columns[name][begin:end] for begin, end in edges])
        for name in ("time_ns", "within_ns", "raw", "flags")
    )
    origin = origins.get(channel.host, origins[""])
    observations = compute_observations(channel, time_ns - origin, raw, within_ns, flags)
    return ChannelReadings(channel, observations, len(raw))


def read_probes(trace: Trace) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the reader, state, evidence, remedy and reason of its end of each requested reader."""
    for row in trace.rows("SELECT reader, state, evidence, remedy, ended FROM v_power_probe"):
        reader, state, evidence, remedy, ended = map(str, row)
        yield reader, state, evidence, remedy, ended
