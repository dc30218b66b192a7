"""A trace with something added: it is copied, and takes the place of the old one when it is whole."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cltrace.events.power import PowerChannel, PowerProbe
from cltrace.trace import schema
from cltrace.trace.commands import Int64s
from cltrace.trace.database import Store
from cltrace.trace.guard import open_trace, version_of
from cltrace.trace.power import (
    NO_READS,
    LogOffset,
    insert_channels,
    insert_probes,
    insert_samples,
)
from cltrace.trace.validation import check_values


def with_power_log(
    path: Path,
    target: Path,
    channels: Sequence[tuple[PowerChannel, LogOffset]],
    samples: Mapping[str, Int64s],
    probe: PowerProbe,
) -> None:
    """Write at `target` the trace at `path`, with the channels of a log and their samples.

    Channels are numbered from 1 here; those of the same host and key that the trace has are replaced.
    Samples are columns of `POWER_SAMPLES`. An older trace gets the present schema.
    Raises: `TraceError`, `OutputError`.
    """
    connection = open_trace(path)
    try:
        check_values(connection, path)
        there = connection.execute("SELECT id, host, key FROM power_channel").fetchall()
    finally:
        connection.close()
    version = version_of(path)
    copied = [table for table in schema.TABLES if table.since <= version]
    ours = {(channel.host, channel.key) for channel, _ in channels}
    replaced = [number for number, host, key in there if (host, key) in ours]
    first = max((number for number, *_ in there), default=0)
    mode = path.stat().st_mode & 0o777
    store = Store(target)
    try:
        store.copy(path, {table: table.column_names for table in copied})
        store.delete(schema.POWER_SAMPLE, "power_channel_id", replaced)
        store.delete(schema.POWER_CHANNEL, "id", replaced)
        store.delete(schema.POWER_PROBE, "reader", [probe.reader])
        insert_channels(store, [(replace(one, id=one.id + first), log) for one, log in channels])
        insert_samples(store, {**samples, "channel_id": samples["channel_id"] + first})
        insert_probes(store, [(probe, NO_READS)])
        store.check()
        store.commit()
        target.chmod(mode)
    except BaseException:
        store.discard_quietly()
        raise
