"""Additions to a trace: the trace is copied, and the complete copy replaces it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cltrace.events.power import PowerChannel, PowerProbe
from cltrace.trace import schema
from cltrace.trace.commands import Int64s
from cltrace.trace.database import TraceDatabase
from cltrace.trace.guard import open_trace, version_of
from cltrace.trace.power import (
    NO_READS,
    LogOffset,
    insert_channels,
    insert_probes,
    insert_samples,
)
from cltrace.trace.table_copies import table_copies
from cltrace.trace.validation import check_values


def add_power_log(
    path: Path,
    target: Path,
    channels: Sequence[tuple[PowerChannel, LogOffset]],
    samples: Mapping[str, Int64s],
    probe: PowerProbe,
) -> None:
    """Write the trace at `path` to `target`, with the channels of a power log and their samples.

    The ids of `channels` start at 1. They replace channels of the trace with the same host and key.
    `samples` are columns of `POWER_SAMPLES`. A trace of an older schema gets the current one.
    Raises: `TraceError`, `OutputError`.
    """
    existing = _read_channels(path)
    version = version_of(path)
    added = {(channel.host, channel.key) for channel, _ in channels}
    replaced = [channel_id for channel_id, host, key in existing if (host, key) in added]
    offset = max((channel_id for channel_id, *_ in existing), default=0)
    mode = path.stat().st_mode & 0o777
    database = TraceDatabase(target)
    try:
        database.copy(path, table_copies(version, {}, {}))
        database.delete(schema.POWER_SAMPLE, "power_channel_id", replaced)
        database.delete(schema.POWER_CHANNEL, "id", replaced)
        database.delete(schema.POWER_PROBE, "reader", [probe.reader])
        insert_channels(
            database,
            [(replace(channel, id=channel.id + offset), log) for channel, log in channels],
        )
        insert_samples(database, {**samples, "channel_id": samples["channel_id"] + offset})
        insert_probes(database, [(probe, NO_READS)])
        database.check()
        database.commit()
        target.chmod(mode)
    except BaseException:
        database.discard_quietly()
        raise


def _read_channels(path: Path) -> list[tuple[int, str, str]]:
    """Check the trace at `path`, and read the id, host and key of each power channel."""
    connection = open_trace(path)
    try:
        check_values(connection, path)
        return connection.execute("SELECT id, host, key FROM power_channel").fetchall()
    finally:
        connection.close()
