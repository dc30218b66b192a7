"""What power sensors read during a recording, as rows of the trace's tables."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from cltrace.events.power import POWER_READS, POWER_SAMPLES, PowerChannel, PowerProbe
from cltrace.spool.layout import ProcessIdentity, power_directory
from cltrace.spool.reader import read_process
from cltrace.trace import schema
from cltrace.trace.commands import ABSENT, Int64s
from cltrace.trace.database import Store
from cltrace.trace.process_rows import clean

_NS: Final = 1e-9
_PERCENTILES: Final = (5, 50, 95)
NO_READS: Final[tuple[float | None, ...]] = (0, None, None, None, None, None, 0)
"""The statistics of a reader that was never read while a program ran."""


@dataclass(frozen=True, slots=True)
class LogOffset:
    """What was added to the times of a log to put it on the host's clock, and the file it came from.

    `within_ns` is how far off the times may be then, at 95 %.
    """

    offset_ns: int
    within_ns: int
    source: str


LIVE: Final = LogOffset(int(ABSENT), int(ABSENT), "")
"""Of a channel that was read while the program ran."""


def add_recorded_power(store: Store, parts: Path) -> None:
    """Add what was read into `parts`, if anything was."""
    spool = read_process(power_directory(parts), ProcessIdentity(0, 0))
    # A reader that is dropped says so by a second record: the last one counts.
    probes = {probe.reader: probe for probe in spool.records(PowerProbe)}
    channels = [(channel, LIVE) for channel in spool.records(PowerChannel)]
    reads = spool.rows(POWER_READS)
    insert_channels(store, channels)
    insert_samples(
        store, dict(zip(POWER_SAMPLES.columns, spool.rows(POWER_SAMPLES).T, strict=True))
    )
    insert_probes(
        store,
        [
            (probe, read_statistics(reads, number))
            for number, probe in enumerate(probes.values(), 1)
        ],
    )


def insert_channels(store: Store, channels: Sequence[tuple[PowerChannel, LogOffset]]) -> None:
    """Insert channels, with what was done to the times of each."""
    rows = []
    for channel, log in channels:
        row: list[Any] = [_clean(value) for value in astuple(channel)]
        times = (None if value == ABSENT else value for value in (log.offset_ns, log.within_ns))
        rows.append((*row, *times, clean(log.source)))
    store.insert(schema.POWER_CHANNEL, rows)


def insert_samples(store: Store, columns: Mapping[str, Int64s]) -> None:
    """Insert samples, given as columns of `POWER_SAMPLES`."""
    given = {
        "power_channel_id" if name == "channel_id" else name: columns[name] for name in columns
    }
    store.insert_columns(schema.POWER_SAMPLE, given)


def insert_probes(
    store: Store, probes: Sequence[tuple[PowerProbe, tuple[float | None, ...]]]
) -> None:
    """Insert what readers found, with the statistics of their reads."""
    store.insert(
        schema.POWER_PROBE,
        ((*map(_clean, astuple(probe)), *statistics) for probe, statistics in probes),
    )


def read_statistics(reads: Int64s, number: int) -> tuple[float | None, ...]:
    """How regularly reader `number` was read, as the last columns of `power_probe`.

    `reads` are rows of `POWER_READS`, of which the first is the period that was asked for: its reader
    is negative, and `due_host_ns` the period.
    """
    asked = reads[reads[:, 0] == -number, 1]
    mine = reads[reads[:, 0] == number]
    if len(mine) < 2:
        return (len(mine), *NO_READS[1:])
    due, begin, end = mine[:, 1], mine[:, 2], mine[:, 3]
    period_ns = int(asked[0]) if len(asked) else 0
    apart_s = np.diff(begin) * _NS
    missed = int(np.maximum(np.rint(np.diff(due) / period_ns) - 1, 0).sum()) if period_ns else 0
    return (
        len(mine),
        period_ns * _NS if period_ns else None,
        *(float(np.percentile(apart_s, percent)) for percent in _PERCENTILES),
        float(np.median(end - begin) * _NS),
        missed,
    )


def _clean(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value
