"""Tables of activity: launches, commands, host calls, waits, clocks and sums."""

from cltrace.trace.schema.model import KEY, Table

LAUNCH = Table(
    "launch",
    (
        KEY,
        "kernel_id INTEGER",
        "global_size TEXT NOT NULL",
        "local_size TEXT",
        "global_offset TEXT",
        "work_items INTEGER NOT NULL",
        "arguments_known INTEGER",
    ),
)
LAUNCH_ARG = Table(
    "launch_arg",
    (
        "launch_id INTEGER",
        "position INTEGER NOT NULL",
        "kind TEXT NOT NULL",
        "buffer_id INTEGER",
        "offset_bytes INTEGER",
        "size_bytes INTEGER",
        "dtype TEXT",
        "value BLOB",
        "detail TEXT",
    ),
)
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
COMMAND = Table(
    "command",
    (
        KEY,
        "api INTEGER NOT NULL",
        "thread_id INTEGER",
        "queue_id INTEGER",
        "site_id INTEGER",
        "launch_id INTEGER",
        "enter_host_ns INTEGER NOT NULL",
        "return_host_ns INTEGER NOT NULL",
        "queued_device_ns INTEGER",
        "submit_device_ns INTEGER",
        "start_device_ns INTEGER",
        "end_device_ns INTEGER",
        "complete_host_ns INTEGER",
        "execution_status INTEGER",
        "size_bytes INTEGER",
        "source_buffer_id INTEGER",
        "target_buffer_id INTEGER",
        "source_offset_bytes INTEGER",
        "target_offset_bytes INTEGER",
        "flags INTEGER",
    ),
)
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
