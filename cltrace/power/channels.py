"""The power channels of a trace: their samples on the trace's axis, and whose power they tell."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.errors import DamagedTraceError
from cltrace.events.power import PowerChannel, Scope
from cltrace.power.mean_power import Observations, observations
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.timeline.hosts import Axis
from cltrace.trace.reader import Trace

_COLUMNS: Final = (
    "channel_id, host, key, reader, label, quantity, scope, inside, device, unit_per_step, "
    "modulus_steps, quantum, period_s, window_s, delay_s, lag_s, gain_error, is_estimated, note"
)
_SAMPLES: Final = {
    "channel": "power_channel_id", "time_ns": "host_ns", "within_ns": "within_ns", "raw": "raw",
    "flags": "flags",
}  # fmt: skip
_LARGEST: Final = 1 << 61
_MOST: Final = 1e9
_CPU_SCOPES: Final = frozenset({Scope.CPU, Scope.CORES, Scope.UNCORE, Scope.DRAM})
_GPU_SCOPES: Final = frozenset({Scope.GPU, Scope.GPU_MEMORY})


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a trace, as sensors know it. `ids` are its numbers in all processes that used it."""

    ids: tuple[int, ...]
    host: str
    name: str
    kind: str
    bus: str
    uuid: str


@dataclass(frozen=True, slots=True)
class ReadChannel:
    """A channel with what it tells; `samples` is how many readings there are of it."""

    channel: PowerChannel
    seen: Observations
    samples: int

    @property
    def alternative(self) -> tuple[str, ...]:
        """The same for channels that measure the same thing in different ways."""
        one = self.channel
        same = (one.scope, one.device, one.reader) if one.device else (one.key,)
        return (one.host, *same)


def devices_of(trace: Trace) -> tuple[Device, ...]:
    """The devices of a trace; one that several processes used is one."""
    rows = trace.rows(
        "SELECT d.device_id, d.process_id, p.host, d.platform, d.name, d.kind, d.bus, d.uuid "
        "FROM v_device d LEFT JOIN v_process p ON p.process_id = d.process_id ORDER BY d.device_id"
    )
    met: dict[tuple[object, ...], int] = {}
    found: dict[tuple[object, ...], list[tuple[object, ...]]] = {}
    for row in rows:
        number, process, *same = row
        # Devices of one process that are called the same are different ones.
        place = met[process, *same] = met.get((process, *same), -1) + 1
        found.setdefault((*same, place), []).append((number,))
    return tuple(_device(same, numbers) for same, numbers in found.items())


def read_channels(trace: Trace, axis: Axis) -> tuple[ReadChannel, ...]:
    """The channels of a trace with their readings. One that several ranks read is one.

    Raises: `DamagedTraceError`.
    """
    trace.check_tables("power_sample")
    channels = stored_channels(trace)
    if not channels:
        return ()
    columns = _by_channel(_samples(trace))
    origins = _origins(trace, axis)
    same: dict[tuple[str, str], list[PowerChannel]] = {}
    for channel in channels:
        same.setdefault((channel.host, channel.key), []).append(channel)
    return tuple(_read(group, columns, origins) for group in same.values())


def stored_channels(trace: Trace) -> list[PowerChannel]:
    """The channels of a trace as they were recorded. Raises: `DamagedTraceError`."""
    rows = trace.rows(f"SELECT {_COLUMNS} FROM v_power_channel ORDER BY channel_id")
    return [_channel(row) for row in rows]


def serves(channel: PowerChannel, device: Device) -> bool:
    """Whether a device's work draws the power that a channel tells."""
    if channel.host and device.host and channel.host != device.host:
        return False
    if channel.device:
        known = {_plain(device.bus), _plain(device.uuid), _plain(_as_slot(device.bus))}
        return _plain(channel.device) in known - {""}
    is_cpu, is_gpu = "CPU" in device.kind, "GPU" in device.kind
    if channel.scope in _CPU_SCOPES:
        return is_cpu
    return is_gpu if channel.scope in _GPU_SCOPES else True


def is_of_kind(channel: PowerChannel, kind: str) -> bool:
    """Whether a channel may tell of a device of a kind, as `cpu` or `gpu`: by what it measures."""
    is_cpu = "cpu" in kind.lower()
    if channel.scope in _CPU_SCOPES:
        return is_cpu
    return not (is_cpu and channel.scope in _GPU_SCOPES)


def outermost(channels: Collection[ReadChannel]) -> list[ReadChannel]:
    """Those that are in no other that was read: their energies may be added up.

    Of channels that claim to be inside each other all are.
    """
    outer = {
        (one.channel.host, one.channel.key): (one.channel.host, one.channel.inside)
        for one in channels
        if len(one.seen)
    }
    return [one for one in channels if _is_outermost((one.channel.host, one.channel.inside), outer)]


def _is_outermost(
    inside: tuple[str, str], outer: Mapping[tuple[str, str], tuple[str, str]]
) -> bool:
    """Whether what is `inside` is in nothing that was read, or in something that is in itself."""
    if inside not in outer:
        return True
    met = set()
    while inside in outer and inside not in met:
        met.add(inside)
        inside = outer[inside]
    return inside in met


def _device(same: Sequence[object], numbers: Sequence[tuple[object, ...]]) -> Device:
    host, _, name, kind, bus, uuid, _ = same
    ids = tuple(int(one) for (one,) in numbers if isinstance(one, int))
    return Device(ids, *(str(one or "") for one in (host, name, kind, bus, uuid)))


def _plain(text: str) -> str:
    return text.lower().removeprefix("gpu-").replace("-", "")


def _as_slot(bus: str) -> str:
    """An address as traces before schema 3 have NVIDIA's, which took its slot for device and function."""
    match = re.fullmatch(r"([0-9a-f]{4}:[0-9a-f]{2}:)([0-9a-f]{2})\.([0-7])", bus)
    return f"{match[1]}{int(match[2], 16) * 8 + int(match[3]):02x}.0" if match is not None else ""


def _channel(row: Sequence[object]) -> PowerChannel:
    """A channel of a trace, which may be a stranger's. Raises: `DamagedTraceError`."""
    number, *texts = row[:9]
    unit, modulus, *numbers = row[9:-2]
    host, key, reader, label, quantity, scope, inside, device = map(str, texts)
    quantum, period_s, window_s, delay_s, lag_s, gain_error = map(_sane, numbers)
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


def _sane(value: object) -> float | None:
    """A number that a sensor can have."""
    return float(value) if isinstance(value, (int, float)) and 0 <= value < _MOST else None


def _samples(trace: Trace) -> Mapping[str, Int64s]:
    parts = list(trace.parts("power_sample", _SAMPLES))
    if not parts:
        return {name: np.zeros(0, np.int64) for name in _SAMPLES}
    columns = {name: np.concatenate([part[name] for part in parts]) for name in _SAMPLES}
    for name, column in columns.items():
        if len(column) and max(int(column.max()), -int(column.min())) > _LARGEST:
            raise DamagedTraceError(f"the trace is damaged: {name} of a power sample")
    return columns


def _by_channel(columns: Mapping[str, Int64s]) -> Mapping[str, Int64s]:
    """Samples ordered by their channel, and within it as they were."""
    order = np.argsort(columns["channel"], kind="stable")
    return {name: column[order] for name, column in columns.items()}


def _origins(trace: Trace, axis: Axis) -> Mapping[str, int]:
    """Where the axis begins on the clock of each host; "" for one without a process."""
    hosts = trace.rows("SELECT host, min(process_id) FROM v_process GROUP BY host")
    found = {str(host): axis.origin_host_ns.get(int(one), 0) for host, one in hosts}
    return {
        "": next(iter(axis.origin_host_ns.values()), trace.meta_int("origin_host_ns") or 0)
    } | found


def _read(
    same: Sequence[PowerChannel], columns: Mapping[str, Int64s], origins: Mapping[str, int]
) -> ReadChannel:
    channel = same[0]
    edges = [np.searchsorted(columns["channel"], [one.id, one.id + 1]) for one in same]
    time_ns, within_ns, raw, flags = (
        np.concatenate([columns[name][begin:end] for begin, end in edges])
        for name in ("time_ns", "within_ns", "raw", "flags")
    )
    origin = origins.get(channel.host, origins[""])
    seen = observations(channel, time_ns - origin, raw, within_ns, flags)
    return ReadChannel(channel, seen, len(raw))


def probes_of(trace: Trace) -> Iterator[tuple[str, str, str, str, str]]:
    """Reader, state, evidence, remedy and why it was dropped, of each reader that was asked for."""
    for row in trace.rows("SELECT reader, state, evidence, remedy, ended FROM v_power_probe"):
        reader, state, evidence, remedy, ended = map(str, row)
        yield reader, state, evidence, remedy, ended
