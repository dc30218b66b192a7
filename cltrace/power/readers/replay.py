"""Readings that were recorded before: lines of a meter (`lines`), or the channels of another trace."""

from collections.abc import Iterator
from typing import ClassVar, Final, Literal

import numpy as np

from cltrace.errors import PowerError, TraceError
from cltrace.events.power import ProbeState, Quantity, SampleFlag, Scope
from cltrace.power.protocol import API, Channel, Log, LogClock, LogRequest, Probe, Sample
from cltrace.power.readers.lines import LineReader
from cltrace.timeline.hosts import wall_offsets
from cltrace.trace.reader import Trace
from cltrace.trace.spool.layout import TRACE_SUFFIX

_MOST_BYTES: Final = 1 << 30
_CHANNELS: Final = (
    "SELECT channel_id, key, label, quantity, scope, inside, device, unit_per_step, modulus_steps, "
    "quantum, period_s, window_s, delay_s, lag_s, gain_error, is_estimated, note FROM v_power_channel"
)


class ReplayReader:
    """Readings from a file of lines, or from a trace."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["log"]] = "log"

    def __init__(self, argument: str = "") -> None:
        self._argument = argument

    def probe(self) -> Probe:
        """It needs nothing."""
        return Probe(ProbeState.OK, "reads lines `t_us value [channel]`, and the power of traces")

    def read_log(self, request: LogRequest) -> Log:
        """The readings in a file. Raises: `PowerError`, `TraceError`."""
        if request.path.suffix == TRACE_SUFFIX:
            return _of_trace(request)
        try:
            if request.path.stat().st_size > _MOST_BYTES:
                raise PowerError(f"{request.path} is too large for a log")
            text = request.path.read_text("utf-8", "replace")
        except OSError as error:
            raise PowerError(f"{request.path} cannot be read: {error.strerror}") from error
        reader = LineReader("replay")
        samples = sorted(reader.samples(text.splitlines()), key=lambda one: one.time_ns)
        return Log(reader.channels, tuple(samples), LogClock.WALL)


def _of_trace(request: LogRequest) -> Log:
    with Trace(request.path) as other:
        hosts = other.rows("SELECT count(DISTINCT host) FROM v_process")[0][0]
        if hosts != 1:
            raise PowerError(
                f"{request.path} is of {hosts} machines, whose clocks differ: replay the trace of one"
            )
        channels = {int(row[0]): _channel(*row[1:]) for row in other.rows(_CHANNELS)}
        if not channels:
            raise PowerError(f"{request.path} has no power: nothing can be replayed")
        samples = tuple(_samples(other, channels))
    return Log(tuple(channels.values()), samples, LogClock.WALL)


def _samples(other: Trace, channels: dict[int, Channel]) -> Iterator[Sample]:
    offsets = wall_offsets(other)
    if not offsets:
        raise TraceError(f"{other.path} does not tell how its clock stood to the wall clock")
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


def _channel(key: object, label: object, quantity: object, scope: object, *rest: object) -> Channel:
    """A channel as a trace has it, which may be a stranger's."""
    inside, device, unit, *numbers, is_estimated, note = rest
    known = {one.value: one for one in Scope}
    modulus, quantum, period_s, window_s, delay_s, lag_s, gain_error = (
        one if isinstance(one, (int, float)) else None for one in numbers
    )
    return Channel(
        key=f"replay:{key}",
        label=str(label),
        quantity=Quantity.ENERGY if quantity == Quantity.ENERGY else Quantity.POWER,
        scope=known.get(str(scope), Scope.OTHER),
        unit_per_step=float(unit) if isinstance(unit, (int, float)) else 1.0,
        inside=f"replay:{inside}" if inside else "",
        device=str(device),
        modulus_steps=int(modulus) if modulus is not None else None,
        quantum=quantum,
        period_s=period_s,
        window_s=window_s,
        delay_s=delay_s,
        lag_s=lag_s,
        gain_error=gain_error,
        is_estimated=bool(is_estimated),
        note=str(note),
    )
