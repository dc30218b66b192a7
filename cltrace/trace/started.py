"""The time at which a recording began."""

from datetime import UTC, datetime
from typing import Final

from cltrace.events import NS_PER_S
from cltrace.trace.reader import Trace

_MAX_REALTIME_NS: Final = 1 << 62


def started_at(trace: Trace) -> datetime | None:
    """Return the begin of a recording in UTC, in whole microseconds; None if it is not known."""
    realtime_ns = trace.meta_int("started_realtime_ns")
    if realtime_ns is None or not 0 <= realtime_ns < _MAX_REALTIME_NS:
        return None
    seconds, rest_ns = divmod(realtime_ns, NS_PER_S)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest_ns // 1000)
