"""Tables of activity: launches, commands, host calls, waits, clocks and sums."""

from typing import Final

from cltrace.trace.schema.model import KEY, Table

LAUNCH_BLOCK = Table(
    "launch_block",
    (
        KEY,
        "launch_id INTEGER",
        "last_launch_id INTEGER",
        "launches INTEGER NOT NULL",
        "members BLOB",
        "kernel_id INTEGER",
        "global_size TEXT NOT NULL",
        "global_sizes BLOB",
        "local_size TEXT",
        "local_sizes BLOB",
        "global_offset TEXT",
        "global_offsets BLOB",
        "work_items INTEGER NOT NULL",
        "work_items_each BLOB",
        "arguments_known INTEGER",
    ),
    since=4,
)
"""Launch configurations of one kernel and form, up to `MAX_BLOCK_LAUNCHES` in a row.

A value that all have is in a column of its own type. Values that differ are in a BLOB: as many bytes for
each, one after another. Integers are decimal digits, to be added to the value of the column. Text has
spaces that do not belong to it. `members` are added to `launch_id`; without them the numbers follow one
another."""

LAUNCH_BLOCK_ARG = Table(
    "launch_block_arg",
    (
        "launch_block_id INTEGER",
        "position INTEGER NOT NULL",
        "kind TEXT NOT NULL",
        "buffer_id INTEGER",
        "buffers BLOB",
        "offset_bytes INTEGER",
        "offsets BLOB",
        "size_bytes INTEGER",
        "sizes BLOB",
        "dtype TEXT",
        "value BLOB",
        "scalars BLOB",
        "detail TEXT",
        "details BLOB",
    ),
    since=4,
)
"""An argument of the launch configurations of a block, whose values are stored as those of the block."""

MAX_BLOCK_LAUNCHES: Final = 256
"""Small enough that a row is within a page: SQLite reads a longer one anew for each of its values."""

CONTENT = Table(
    "content",
    (
        "buffer_id INTEGER",
        "launch_id INTEGER",
        "written_host_ns INTEGER",
        "content_data_id INTEGER",
    ),
)
CONTENT_DATA = Table(
    "content_data", (KEY, "sha256 TEXT NOT NULL", "size_bytes INTEGER NOT NULL", "deflated BLOB")
)
API = Table("api", (KEY, "name TEXT NOT NULL", "command_kind TEXT"))
PACKED_COMMAND = Table(
    "packed_command",
    (
        KEY,
        "api INTEGER NOT NULL",
        "thread_id INTEGER",
        "queue_id INTEGER",
        "site_id INTEGER",
        "launch_id INTEGER",
        "kernel_id INTEGER",
        "enter_host_ns INTEGER NOT NULL",
        "return_after_ns INTEGER NOT NULL",
        "base_device_ns INTEGER",
        "queued_after_ns INTEGER",
        "submit_after_ns INTEGER",
        "start_after_ns INTEGER",
        "end_after_ns INTEGER",
        "complete_host_ns INTEGER",
        "execution_status INTEGER",
        "size_bytes INTEGER",
        "source_buffer_id INTEGER",
        "target_buffer_id INTEGER",
        "source_offset_bytes INTEGER",
        "target_offset_bytes INTEGER",
        "flags INTEGER",
    ),
    since=4,
)
"""Commands, with times as differences, which take two bytes instead of six or eight: the return to the
entry, the stamps to `base_device_ns`."""

API_CALL = Table(
    "api_call",
    (
        KEY,
        "api INTEGER NOT NULL",
        "thread_id INTEGER",
        "queue_id INTEGER",
        "site_id INTEGER",
        "enter_host_ns INTEGER NOT NULL",
        "return_host_ns INTEGER NOT NULL",
        "status INTEGER NOT NULL",
        "size_bytes INTEGER",
    ),
)
EDGE = Table("edge", ("command_id INTEGER NOT NULL", "waits_for_command_id INTEGER NOT NULL"))
WAIT = Table("wait", ("api_call_id INTEGER NOT NULL", "command_id INTEGER NOT NULL"))
REGION = Table(
    "region",
    (
        KEY,
        "thread_id INTEGER",
        "name_string_id INTEGER",
        "enter_host_ns INTEGER NOT NULL",
        "leave_host_ns INTEGER",
    ),
)
HOST_CLOCK = Table(
    "host_clock",
    (
        "process_id INTEGER NOT NULL",
        "host_ns INTEGER NOT NULL",
        "raw_host_ns INTEGER",
        "realtime_ns INTEGER",
        "bracket_ns INTEGER",
    ),
)
CLOCK_SEGMENT = Table(
    "clock_segment",
    (
        "device_id INTEGER NOT NULL",
        "state TEXT NOT NULL",
        "is_straight INTEGER NOT NULL",
        "from_enter_host_ns INTEGER NOT NULL",
        "to_enter_host_ns INTEGER NOT NULL",
        "from_device_ns INTEGER NOT NULL",
        "to_device_ns INTEGER NOT NULL",
        "anchor_device_ns INTEGER NOT NULL",
        "anchor_host_ns INTEGER NOT NULL",
        "drift REAL NOT NULL",
        "drift_within REAL NOT NULL",
        "half_width_ns REAL NOT NULL",
        "bound_ns REAL NOT NULL",
        "observations INTEGER NOT NULL",
        "rejected INTEGER NOT NULL",
        "reason TEXT NOT NULL",
        "quantum_ns INTEGER NOT NULL",
        "method INTEGER NOT NULL",
        "input_hash INTEGER NOT NULL",
    ),
    since=2,
)
SURCHARGE = Table(
    "surcharge",
    (
        "device_id INTEGER",
        "launches INTEGER NOT NULL",
        "plain_ns REAL NOT NULL",
        "profiling_ns REAL NOT NULL",
    ),
)
DIAGNOSTIC = Table(
    "diagnostic",
    (
        KEY,
        "process_id INTEGER",
        "severity TEXT NOT NULL",
        "code TEXT NOT NULL",
        "message TEXT NOT NULL",
        "host_ns INTEGER",
    ),
)
REDACTION = Table("redaction", ("process_id INTEGER", "what TEXT NOT NULL"))
ROLLUP = Table(
    "rollup",
    (
        "dimension TEXT NOT NULL",
        "key TEXT NOT NULL",
        "label TEXT NOT NULL",
        "activity TEXT NOT NULL",
        "calls INTEGER NOT NULL",
        "timed_calls INTEGER NOT NULL",
        "total_ns INTEGER NOT NULL",
        "min_ns INTEGER",
        "median_ns REAL",
        "max_ns INTEGER",
        "busy_ns INTEGER",
        "size_bytes INTEGER NOT NULL",
        "waited_calls INTEGER NOT NULL",
        "wait_total_ns INTEGER NOT NULL",
        "wait_median_ns REAL",
        "first_calls INTEGER NOT NULL",
        "first_wait_ns INTEGER NOT NULL",
    ),
)
API_ROLLUP = Table(
    "api_rollup",
    (
        "process_id INTEGER NOT NULL",
        "api INTEGER NOT NULL",
        "calls INTEGER NOT NULL",
        "failed INTEGER NOT NULL",
        "total_ns INTEGER NOT NULL",
        "min_ns INTEGER NOT NULL",
        "median_ns REAL NOT NULL",
        "max_ns INTEGER NOT NULL",
    ),
)
