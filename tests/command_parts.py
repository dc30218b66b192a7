"""The commands of a trace as a table that several processes read."""

from pathlib import Path

import cltrace
from cltrace.trace.table_location import TableLocation, file_identity

NAMES = ("id", "api", "queue_id", "enter_host_ns", "start_device_ns", "size_bytes", "flags")


def source_of(path: Path) -> TableLocation:
    """Some columns of the commands of a trace."""
    return TableLocation(path, file_identity(path), "command", {name: name for name in NAMES})


def highest_of(path: Path) -> int:
    with cltrace.load(path) as trace:
        return int(trace.rows("SELECT max(command_id) FROM v_command")[0][0])
