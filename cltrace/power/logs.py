"""Adding a log to a trace: on the host's clock, with the offset that the program's work tells.

A log's clock is another machine's, or the same one's to the second. What the trace did shows in the
log's power: the offset at which it explains it best is taken, and how far off it may be is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.errors import PowerError
from cltrace.events.power import POWER_SAMPLES, PowerChannel
from cltrace.power.activity_shares import Busy, Response
from cltrace.power.alignment import Alignment, aligned, strongest
from cltrace.power.channels import devices_of, serves
from cltrace.power.load_classes import loads
from cltrace.power.mean_power import observations
from cltrace.power.protocol import Log, LogClock, checked
from cltrace.timeline.activity import Activity
from cltrace.timeline.reading import read_activity
from cltrace.trace.commands import Int64s
from cltrace.trace.power import LogOffset
from cltrace.trace.reader import Trace

_S_NS: Final = 1_000_000_000
_BLOCK: Final = 5
_MARGIN_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class AlignedLog:
    """A log as it goes into a trace: channels with what was done to their times, and their samples.

    `alignment` is None for a log that is on the host's clock already.
    """

    channels: tuple[tuple[PowerChannel, LogOffset], ...]
    samples: dict[str, Int64s]
    alignment: Alignment | None


def aligned_log(
    trace: Trace, log: Log, *, reader: str, source: str, furthest_s: float, offset_s: float | None
) -> AlignedLog:
    """Put a log on the trace's clock. Offsets up to `furthest_s` are tried; `offset_s` is taken as it is.

    Raises: `PowerError` when nothing of the log is near the trace, or nothing tells the offset.
    """
    host = str(next(iter(trace.rows("SELECT host FROM v_process ORDER BY process_id")), ("",))[0])
    try:
        recorded = [
            checked(one.recorded(number, host, reader))
            for number, one in enumerate(log.channels, 1)
        ]
    except ValueError as error:
        raise PowerError(f"{source}: {error}") from error
    columns = _columns(log, recorded)
    if log.clock is LogClock.HOST:
        live = LogOffset(0, 0, source)
        return AlignedLog(tuple((one, live) for one in recorded), columns, None)
    to_host_ns = _wall_to_host(trace, host)
    columns["host_ns"] = columns["host_ns"] + to_host_ns
    activity = read_activity(trace)
    _check_near(trace, activity, columns["host_ns"], furthest_s)
    if offset_s is None:
        found = _fitted(trace, activity, recorded, columns, furthest_s)
    else:
        found = Alignment(Response(offset_s, 0.0), 0.0, 0.0, is_found=True)
    if not found.is_found or (offset_s is None and found.within_s >= furthest_s / 2):
        raise PowerError(
            "the log does not show what the program did: nothing tells its offset within "
            f"±{furthest_s:g} s. --offset S says it, --search S looks further"
        )
    # A log that shows things later than they were is put back by that.
    shift_ns = -round(found.response.delay_s * _S_NS)
    columns["host_ns"] = columns["host_ns"] + shift_ns
    offset = LogOffset(shift_ns, round(found.within_s * _S_NS), source)
    return AlignedLog(tuple((one, offset) for one in recorded), columns, found)


def _columns(log: Log, recorded: Sequence[PowerChannel]) -> dict[str, Int64s]:
    numbers = {one.key: one.id for one in recorded}
    rows = [
        (numbers[one.key], one.time_ns, one.within_ns, one.raw, int(one.flags))
        for one in log.samples
        if one.key in numbers
    ]
    table = np.array(rows, np.int64).reshape(-1, POWER_SAMPLES.width)
    return dict(zip(POWER_SAMPLES.columns, table.T, strict=True))


def _wall_to_host(trace: Trace, host: str) -> int:
    """What to add to times since 1970 to have those of a host."""
    rows = trace.rows(
        "SELECT c.host_ns, c.realtime_ns FROM v_host_clock c JOIN v_process p USING (process_id) "
        "WHERE c.realtime_ns IS NOT NULL AND p.host = :host",
        {"host": host},
    )
    if rows:
        return int(np.median([int(host) - int(wall) for host, wall in rows]))
    origin, started = trace.meta_int("origin_host_ns"), trace.meta_int("started_realtime_ns")
    if origin is None or started is None:
        raise PowerError(f"{trace.path} does not tell when it was recorded: a log cannot be added")
    return origin - started


def _check_near(trace: Trace, activity: Activity, host_ns: Int64s, furthest_s: float) -> None:
    origin = next(iter(activity.axis.origin_host_ns.values()), 0)
    begin = (trace.meta_int("origin_host_ns") or origin) / _S_NS
    end = (trace.meta_int("ended_host_ns") or origin) / _S_NS
    seconds = host_ns / _S_NS
    near = (seconds > begin - furthest_s - _MARGIN_S) & (seconds < end + furthest_s + _MARGIN_S)
    if not near.any():
        away = float(np.median(seconds)) - (begin + end) / 2
        when = "after" if away > 0 else "before"
        raise PowerError(
            f"the log is of {abs(away) / 3600:.2f} h {when} the trace: is --tz right? --search S looks "
            "further"
        )


def _fitted(
    trace: Trace,
    activity: Activity,
    recorded: Sequence[PowerChannel],
    columns: dict[str, Int64s],
    furthest_s: float,
) -> Alignment:
    """The offset by the channel that shows the program's work best."""
    best: Alignment | None = None
    origin = next(iter(activity.axis.origin_host_ns.values()), 0)
    for channel in recorded:
        numbers = [n for one in devices_of(trace) if serves(channel, one) for n in one.ids]
        work = loads(activity, {}, numbers) if numbers else ()
        active: list[Busy] = strongest([one.busy for one in work], 3)
        mine = columns["channel_id"] == channel.id
        within_ns = np.zeros_like(columns["within_ns"][mine])
        seen = observations(
            channel, columns["host_ns"][mine] - origin, columns["raw"][mine], within_ns,
            columns["flags"][mine],
        )  # fmt: skip
        found = aligned(
            seen, active, stated=Response(), furthest_s=furthest_s, lags_s=(0.0,), block=_BLOCK
        )
        if found.is_found and (best is None or found.within_s < best.within_s):
            best = found
    return best or Alignment(Response(), furthest_s, 0.0, is_found=False)
