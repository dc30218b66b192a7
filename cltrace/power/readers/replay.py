"""Replay of recorded readings: lines of a meter (`lines`), or the channels of another trace."""

from collections.abc import Iterator
from typing import ClassVar, Final, Literal

import numpy as np

from cltrace.errors import PowerError, TraceError
from cltrace.events.power import PowerChannel, ProbeState, Quantity, SampleFlag, Scope
from cltrace.files import read_input
from cltrace.power.channels import read_stored_channels
from cltrace.power.protocol import API, Channel, Log, LogClock, LogRequest, Probe, Sample
from cltrace.power.readers.lines import LineReader
from cltrace.spool.layout import TRACE_SUFFIX
from cltrace.timeline.hosts import read_wall_offsets
from cltrace.trace.reader import Trace

_MAX_BYTES: Final = 1 << 30


class ReplayReader:
    """Reader of files of lines, and of the power in traces."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["log"]] = "log"

    def __init__(self, argument: str = "") -> None:
        self._argument = argument

    def probe(self) -> Probe:
        """Return ok: the reader needs no sensor."""
        return Probe(ProbeState.OK, "reads lines `t_us value [channel]`, and the power of traces")

    def read_log(self, request: LogRequest) -> Log:
        """Return the readings in a file. Raises: `PowerError`, `TraceError`."""
        if request.path.suffix == TRACE_SUFFIX:
            return _replay_trace(request)
        try:
            text = read_input(request.path, _MAX_BYTES).decode("utf-8", "replace")
        except OSError as error:
            raise PowerError(f"{request.path} cannot be read: {error.strerror}") from error
        reader = LineReader("replay")
        samples = sorted(reader.samples(text.splitlines()), key=lambda sample: sample.time_ns)
        return Log(reader.channels, tuple(samples), LogClock.WALL)


def _replay_trace(request: LogRequest) -> Log:
    with Trace(request.path) as other:
        hosts = other.rows("SELECT count(DISTINCT host) FROM v_process")[0][0]
        if hosts != 1:
            raise PowerError(
                f"{request.path} is of {hosts} machines, whose clocks differ: "
                "replay the trace of a single machine"
            )
        channels = {channel.id: _replay_channel(channel) for channel in read_stored_channels(other)}
        if not channels:
            raise PowerError(f"{request.path} has no power: nothing can be replayed")
        samples = tuple(_samples(other, channels))
    return Log(tuple(channels.values()), samples, LogClock.WALL)


def _samples(other: Trace, channels: dict[int, Channel]) -> Iterator[Sample]:
    offsets = read_wall_offsets(other)
    if not offsets:
        raise TraceError(f"{other.path} does not relate its clock to the wall clock")
    offset_ns = int(np.median(list(offsets.values())))
    columns = other.columns(
        {name: name for name in ("channel_id", "host_ns", "within_ns", "raw", "flags")},
        "v_power ORDER BY host_ns",
    )
    for number, host_ns, within_ns, raw, flags in zip(
        *(column.tolist() for column in columns.values()), strict=True
    ):
        if number in channels:
            key = channels[number].key
            yield Sample(key, host_ns + offset_ns, raw, within_ns, SampleFlag(flags & 7))


def _replay_channel(channel: PowerChannel) -> Channel:
    """Return a channel of a trace under the name of its replay."""
    scopes = {scope.value: scope for scope in Scope}
    return Channel(
        key=f"replay:{channel.key}",
        label=channel.label,
        quantity=Quantity.ENERGY if channel.quantity == Quantity.ENERGY else Quantity.POWER,
        scope=scopes.get(channel.scope, Scope.OTHER),
        unit_per_step=channel.unit_per_step,
        inside=f"replay:{channel.inside}" if channel.inside else "",
        device=channel.device,
        modulus_steps=channel.modulus_steps,
        quantum=channel.quantum,
        period_s=channel.period_s,
        window_s=channel.window_s,
        delay_s=channel.delay_s,
        lag_s=channel.lag_s,
        gain_error=channel.gain_error,
        is_estimated=channel.is_estimated,
        note=channel.note,
    )
