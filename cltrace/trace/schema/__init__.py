"""Tables of a trace file, as data. `docs/trace-format.md` describes the views over them.

A trace is an SQLite file. Its `application_id` marks it as a trace, its `user_version` is the version of
the schema. The tables are private; the `v_*` views (`trace.views`) are the public interface.
"""

from typing import Final

from cltrace.trace.schema.activity import (
    API,
    API_CALL,
    API_ROLLUP,
    CLOCK_SEGMENT,
    CONTENT,
    CONTENT_DATA,
    DIAGNOSTIC,
    EDGE,
    HOST_CLOCK,
    LAUNCH_BLOCK,
    LAUNCH_BLOCK_ARG,
    MAX_BLOCK_LAUNCHES,
    PACKED_COMMAND,
    REDACTION,
    REGION,
    ROLLUP,
    SURCHARGE,
    WAIT,
)
from cltrace.trace.schema.model import Table
from cltrace.trace.schema.objects import (
    BUFFER,
    BUILD,
    CONTEXT,
    CONTEXT_DEVICE,
    DEVICE,
    INCLUDE,
    KERNEL,
    META,
    PLATFORM,
    PROCESS,
    PROGRAM,
    PROGRAM_PARENT,
    QUEUE,
    SITE,
    STRING,
    THREAD,
    WORK_GROUP_INFO,
)
from cltrace.trace.schema.older import COMMAND, LAUNCH, LAUNCH_ARG
from cltrace.trace.schema.power import POWER_CHANNEL, POWER_PROBE, POWER_SAMPLE

APPLICATION_ID: Final = 0x434C5472
"""`CLTr` as a big-endian number, by which `file(1)` and readers recognise a trace."""

SCHEMA_VERSION: Final = 5

PAGE_BYTES: Final = 4096
LARGE_PAGE_BYTES: Final = 16384

__all__ = [
    "API",
    "API_CALL",
    "API_ROLLUP",
    "APPLICATION_ID",
    "BUFFER",
    "BUILD",
    "CLOCK_SEGMENT",
    "COMMAND",
    "CONTENT",
    "CONTENT_DATA",
    "CONTEXT",
    "CONTEXT_DEVICE",
    "DEVICE",
    "DIAGNOSTIC",
    "EDGE",
    "HOST_CLOCK",
    "INCLUDE",
    "KERNEL",
    "LARGE_PAGE_BYTES",
    "LAUNCH",
    "LAUNCH_ARG",
    "LAUNCH_BLOCK",
    "LAUNCH_BLOCK_ARG",
    "MAX_BLOCK_LAUNCHES",
    "META",
    "OLDER_TABLES",
    "PACKED_COMMAND",
    "PAGE_BYTES",
    "PLATFORM",
    "POWER_CHANNEL",
    "POWER_PROBE",
    "POWER_SAMPLE",
    "PROCESS",
    "PROGRAM",
    "PROGRAM_PARENT",
    "QUEUE",
    "REDACTION",
    "REGION",
    "ROLLUP",
    "SCHEMA_VERSION",
    "SITE",
    "STRING",
    "SURCHARGE",
    "TABLES",
    "THREAD",
    "WAIT",
    "WORK_GROUP_INFO",
    "Table",
    "tables_of",
]

TABLES: Final[tuple[Table, ...]] = (
    META,
    PROCESS,
    THREAD,
    STRING,
    SITE,
    PLATFORM,
    DEVICE,
    CONTEXT,
    CONTEXT_DEVICE,
    QUEUE,
    PROGRAM,
    PROGRAM_PARENT,
    INCLUDE,
    BUILD,
    KERNEL,
    WORK_GROUP_INFO,
    LAUNCH_BLOCK,
    LAUNCH_BLOCK_ARG,
    BUFFER,
    CONTENT,
    CONTENT_DATA,
    API,
    PACKED_COMMAND,
    API_CALL,
    EDGE,
    WAIT,
    REGION,
    HOST_CLOCK,
    CLOCK_SEGMENT,
    SURCHARGE,
    DIAGNOSTIC,
    REDACTION,
    ROLLUP,
    API_ROLLUP,
    POWER_CHANNEL,
    POWER_PROBE,
    POWER_SAMPLE,
)
"""All tables, in the order in which they are created."""

OLDER_TABLES: Final = (LAUNCH, LAUNCH_ARG, COMMAND)
"""Tables that only files of older versions have. In other files, views of these names have their rows."""


def tables_of(version: int) -> list[Table]:
    """Return the tables of a schema version."""
    return [table for table in (*TABLES, *OLDER_TABLES) if table.is_in(version)]
