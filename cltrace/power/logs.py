"""Alignment of a log with a trace: on the host's clock, with an offset estimated from the work.

The clock of a log is that of another machine, or has a resolution of a second. The work of the trace is
visible in the log's power, so the offset is the one at which the work explains the power best. Its
uncertainty is stored with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.errors import PowerError
from cltrace.events.power import POWER_SAMPLES, PowerChannel
from cltrace.power.activity_shares import SensorResponse
from cltrace.power.channels import MeteredDevice, measures_device, read_devices
from cltrace.power.load_classes import Load, group_loads
from cltrace.power.mean_power import compute_observations
from cltrace.power.protocol import Log, LogClock, validate_channel
from cltrace.power.sensor_response import ResponseFit, align, keep_strongest
from cltrace.timeline.activity import Activity
from cltrace.timeline.reading import read_activity
from cltrace.trace.commands import Int64s
from cltrace.trace.power import LogOffset
from cltrace.trace.reader import Trace

_S_NS: Final = 1_000_000_000
_BLOCK: Final = 5
_MARGIN_S: Final = 30.0
_MAX_ACTIVITIES: Final = 3


@dataclass(frozen=True, slots=True)
class AlignedLog:
    """Log in the form of a trace: channels with the offsets of their times, and their samples.

    `alignment` is `None` for a log that is already on the host's clock.
    """

    channels: tuple[tuple[PowerChannel, LogOffset], ...]
    samples: dict[str, Int64s]
    alignment: ResponseFit | None


def align_log(
    trace: Trace, log: Log, *, reader: str, source: str, max_shift_s: float, offset_s: float | None
) -> AlignedLog:
    """Return a log on the trace's clock.

    The offset is `offset_s`, or if that is `None` the best one up to `max_shift_s`. Raises: `PowerError`
    if the log has no samples near the trace, or its power does not determine the offset.
    """
    host = str(next(iter(trace.rows("SELECT host FROM v_process ORDER BY process_id")), ("",))[0])
    try:
        recorded = [
            validate_channel(channel.to_record(number, host, reader))
            for number, channel in enumerate(log.channels, 1)
        ]
    except ValueError as error:
        raise PowerError(f"{source}: {error}") from error
    columns = _columns(log, recorded)
    if log.clock is LogClock.HOST:
        no_offset = LogOffset(0, 0, source)
        return AlignedLog(tuple((channel, no_offset) for channel in recorded), columns, None)
    to_host_ns = _wall_to_host(trace, host)
    columns["host_ns"] = columns["host_ns"] + to_host_ns
    activity = read_activity(trace)
    _check_near(trace, activity, columns["host_ns"], max_shift_s)
    if offset_s is None:
        alignment = _find_offset(trace, activity, recorded, columns, max_shift_s)
    else:
        alignment = ResponseFit(SensorResponse(offset_s, 0.0), 0.0, 0.0, is_measured=True)
    if not alignment.is_measured or (offset_s is None and alignment.within_s >= max_shift_s / 2):
        raise PowerError(
            "the log does not show what the program did: its offset cannot be determined within "
            f"±{max_shift_s:g} s. State it with --offset S, or search further with --search S"
        )
    # The delay of the log is subtracted from its times.
    shift_ns = -round(alignment.response.delay_s * _S_NS)
    columns["host_ns"] = columns["host_ns"] + shift_ns
    offset = LogOffset(shift_ns, round(alignment.within_s * _S_NS), source)
    return AlignedLog(tuple((channel, offset) for channel in recorded), columns, alignment)


def _columns(log: Log, recorded: Sequence[PowerChannel]) -> dict[str, Int64s]:
    """Return the readings as columns. Raises: `PowerError` if there are none."""
    ids = {channel.key: channel.id for channel in recorded}
    rows = [
        (ids[sample.key], sample.time_ns, sample.within_ns, sample.raw, int(sample.flags))
        for sample in log.samples
        if sample.key in ids
    ]
    if not rows:
        raise PowerError("the log has no readings")
    table = np.array(rows, np.int64).reshape(-1, POWER_SAMPLES.width)
    return dict(zip(POWER_SAMPLES.columns, table.T, strict=True))


def _wall_to_host(trace: Trace, host: str) -> int:
    """Return the difference from times since 1970 to times of a host, in ns."""
    rows = trace.rows(
        "SELECT c.host_ns, c.realtime_ns FROM v_host_clock c JOIN v_process p USING (process_id) "
        "WHERE c.realtime_ns IS NOT NULL AND p.host = :host",
        {"host": host},
    )
    if rows:
        return int(np.median([int(host) - int(wall) for host, wall in rows]))
    origin, started = trace.meta_int("origin_host_ns"), trace.meta_int("started_realtime_ns")
    if origin is None or started is None:
        raise PowerError(
            f"{trace.path} does not contain the time of its recording: a log cannot be added"
        )
    return origin - started


def _check_near(trace: Trace, activity: Activity, host_ns: Int64s, max_shift_s: float) -> None:
    origin = next(iter(activity.axis.origin_host_ns.values()), 0)
    begin = (trace.meta_int("origin_host_ns") or origin) / _S_NS
    end = (trace.meta_int("ended_host_ns") or origin) / _S_NS
    seconds = host_ns / _S_NS
    near = (seconds > begin - max_shift_s - _MARGIN_S) & (seconds < end + max_shift_s + _MARGIN_S)
    if not near.any():
        away = float(np.median(seconds)) - (begin + end) / 2
        when = "after" if away > 0 else "before"
        raise PowerError(
            f"the log is {abs(away) / 3600:.2f} h {when} the trace: "
            "check --tz, or search further with --search S"
        )


def _find_offset(
    trace: Trace,
    activity: Activity,
    recorded: Sequence[PowerChannel],
    columns: dict[str, Int64s],
    max_shift_s: float,
) -> ResponseFit:
    """Return the alignment of the channel that determines the offset best."""
    best: ResponseFit | None = None
    devices = read_devices(trace)
    origin = next(iter(activity.axis.origin_host_ns.values()), 0)
    for channel in recorded:
        loads = _loads_of(channel, activity, devices)
        mask = columns["channel_id"] == channel.id
        observations = compute_observations(
            channel,
            columns["host_ns"][mask] - origin,
            columns["raw"][mask],
            np.zeros_like(columns["within_ns"][mask]),
            columns["flags"][mask],
        )
        alignment = align(
            observations,
            keep_strongest([load.active_time for load in loads], _MAX_ACTIVITIES),
            declared=SensorResponse(),
            max_shift_s=max_shift_s,
            lags_s=(0.0,),
            block=_BLOCK,
        )
        if alignment.is_measured and (best is None or alignment.within_s < best.within_s):
            best = alignment
    return best or ResponseFit(SensorResponse(), max_shift_s, 0.0, is_measured=False)


def _loads_of(
    channel: PowerChannel, activity: Activity, devices: Sequence[MeteredDevice]
) -> tuple[Load, ...]:
    """Return the loads on the devices that a channel measures."""
    ids = [
        number for device in devices if measures_device(channel, device) for number in device.ids
    ]
    return group_loads(activity, {}, ids) if ids else ()
