"""Readings of power sensors as rows of the trace's tables."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from cltrace.errors import SpoolError
from cltrace.events.power import POWER_READS, POWER_SAMPLES, PowerChannel, PowerProbe
from cltrace.spool.layout import ProcessIdentity, power_directory
from cltrace.spool.reader import read_process
from cltrace.trace import schema
from cltrace.trace.commands import ABSENT, Int64s
from cltrace.trace.database import TraceDatabase
from cltrace.trace.process_rows import valid_unicode

if TYPE_CHECKING:
    from cltrace.trace.reader import Trace

_SECONDS_PER_NS: Final = 1e-9
_PERCENTILES: Final = (5, 50, 95)
NO_READS: Final[tuple[float | None, ...]] = (0, None, None, None, None, None, 0)
"""Statistics of a reader that was never read while a program ran."""


@dataclass(frozen=True, slots=True)
class LogOffset:
    """Offset from the times of a power log to the host's clock, and the log's file.

    `within_ns` is the uncertainty of the offset, at 95 %.
    """

    offset_ns: int
    within_ns: int
    source: str


LIVE: Final = LogOffset(int(ABSENT), int(ABSENT), "")
"""Value for a channel that was read while the program ran."""


def has_power(trace: "Trace") -> bool:
    """Return whether power was requested for a trace, or was added to it."""
    return bool(
        trace.rows("SELECT 1 FROM v_power_channel UNION ALL SELECT 1 FROM v_power_probe LIMIT 1")
    )


def add_recorded_power(database: TraceDatabase, parts: Path) -> None:
    """Add the sensor readings in `parts`, if there are any. Raises: `SpoolError`."""
    directory = power_directory(parts)
    if directory.is_symlink():
        raise SpoolError(f"{directory} is a symbolic link: these parts are damaged or forged")
    spool = read_process(directory, ProcessIdentity(0, 0))
    # A reader that was dropped has a second record with the reason, so the last record counts.
    probes = {probe.reader: probe for probe in spool.records(PowerProbe)}
    channels = [(channel, LIVE) for channel in spool.records(PowerChannel)]
    reads = spool.rows(POWER_READS)
    insert_channels(database, channels)
    insert_samples(
        database, dict(zip(POWER_SAMPLES.columns, spool.rows(POWER_SAMPLES).T, strict=True))
    )
    insert_probes(
        database,
        [
            (probe, read_statistics(reads, number))
            for number, probe in enumerate(probes.values(), 1)
        ],
    )


def insert_channels(
    database: TraceDatabase, channels: Sequence[tuple[PowerChannel, LogOffset]]
) -> None:
    """Insert channels, each with the offset of its times."""
    rows = []
    for channel, log in channels:
        row: list[Any] = [_valid_text(value) for value in astuple(channel)]
        times = (None if value == ABSENT else value for value in (log.offset_ns, log.within_ns))
        rows.append((*row, *times, valid_unicode(log.source)))
    database.insert(schema.POWER_CHANNEL, rows)


def insert_samples(database: TraceDatabase, columns: Mapping[str, Int64s]) -> None:
    """Insert samples, which are given as columns of `POWER_SAMPLES`."""
    renamed = {
        "power_channel_id" if name == "channel_id" else name: columns[name] for name in columns
    }
    database.insert_columns(schema.POWER_SAMPLE, renamed)


def insert_probes(
    database: TraceDatabase, probes: Sequence[tuple[PowerProbe, tuple[float | None, ...]]]
) -> None:
    """Insert the results of probing, with the statistics of each reader's readings."""
    database.insert(
        schema.POWER_PROBE,
        ((*map(_valid_text, astuple(probe)), *statistics) for probe, statistics in probes),
    )


def read_statistics(reads: Int64s, number: int) -> tuple[float | None, ...]:
    """Return how regularly reader `number` was read, as the last columns of `power_probe`.

    `reads` are rows of `POWER_READS`. A row with a negative reader states the requested period of that
    reader, in `due_host_ns`.
    """
    requested = reads[reads[:, 0] == -number, 1]
    mine = reads[reads[:, 0] == number]
    if len(mine) < 2:
        return (len(mine), *NO_READS[1:])
    due, begin, end = mine[:, 1], mine[:, 2], mine[:, 3]
    period_ns = int(requested[0]) if len(requested) else 0
    intervals_s = np.diff(begin) * _SECONDS_PER_NS
    missed = int(np.maximum(np.rint(np.diff(due) / period_ns) - 1, 0).sum()) if period_ns else 0
    return (
        len(mine),
        period_ns * _SECONDS_PER_NS if period_ns else None,
        *(float(np.percentile(intervals_s, percent)) for percent in _PERCENTILES),
        float(np.median(end - begin) * _SECONDS_PER_NS),
        missed,
    )


def _valid_text(value: Any) -> Any:
    return valid_unicode(value) if isinstance(value, str) else value
