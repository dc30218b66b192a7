"""The tables of a trace file, as data. `docs/trace-format.md` describes the views over them.

A trace is an SQLite file. `application_id` says that it is one, `user_version` which schema it has.
Tables are private; the `v_*` views (`trace.views`) are the public interface.
"""

from dataclasses import dataclass
from typing import Final

APPLICATION_ID: Final = 0x434C5472
"""`CLTr` as a big-endian number: what `file(1)` and every reader look for."""

SCHEMA_VERSION: Final = 1

PAGE_BYTES: Final = 4096
LARGE_PAGE_BYTES: Final = 16384


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its name and its columns, each as SQLite declares it."""

    name: str
    columns: tuple[str, ...]
    options: str = ""

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.split()[0] for column in self.columns)

    @property
    def create_sql(self) -> str:
        """The statement that makes the table, in the one form that a trace may contain."""
        return f"CREATE TABLE {self.name} ({', '.join(self.columns)}){self.options}"

    @property
    def insert_sql(self) -> str:
        """The statement that inserts one row."""
        marks = ", ".join("?" * len(self.columns))
        return f"INSERT INTO {self.name} VALUES ({marks})"


_KEY = "id INTEGER PRIMARY KEY"

META = Table("meta", ("key TEXT PRIMARY KEY", "value TEXT"), " WITHOUT ROWID")
PROCESS = Table(
    "process",
    (
        _KEY,
        "host TEXT",
        "pid INTEGER NOT NULL",
        "parent_pid INTEGER",
        "rank INTEGER",
        "argv TEXT",
        "working_directory TEXT",
        "executable TEXT",
        "python_version TEXT",
        "pyopencl_version TEXT",
        "environment TEXT",
        "started_host_ns INTEGER",
        "ended_host_ns INTEGER",
        "ended_how TEXT NOT NULL",
        "hook_calls INTEGER",
        "hook_ns INTEGER",
        "reader_cpu_ns INTEGER",
        "event_waits INTEGER",
        "event_wait_ns INTEGER",
        "unread_events_peak INTEGER",
        "commands_skipped INTEGER",
        "memory_peak_bytes INTEGER",
        "memory_peak_host_ns INTEGER",
    ),
)
THREAD = Table(
    "thread", (_KEY, "process_id INTEGER NOT NULL", "native_id INTEGER NOT NULL", "name TEXT")
)
STRING = Table("string", (_KEY, "text TEXT NOT NULL"))
SITE = Table(
    "site",
    (
        _KEY,
        "file TEXT NOT NULL",
        "line INTEGER NOT NULL",
        "function TEXT NOT NULL",
        "outer_site_id INTEGER",
    ),
)
PLATFORM = Table(
    "platform",
    (
        _KEY,
        "process_id INTEGER NOT NULL",
        "name TEXT NOT NULL",
        "vendor TEXT NOT NULL",
        "version TEXT NOT NULL",
    ),
)
DEVICE = Table(
    "device",
    (
        _KEY,
        "platform_id INTEGER",
        "parent_device_id INTEGER",
        "name TEXT NOT NULL",
        "vendor TEXT NOT NULL",
        "version TEXT NOT NULL",
        "driver_version TEXT NOT NULL",
        "kind TEXT NOT NULL",
        "compute_units INTEGER",
        "clock_mhz INTEGER",
        "global_memory_bytes INTEGER",
        "local_memory_bytes INTEGER",
        "max_group_size INTEGER",
        "timer_resolution_ns INTEGER",
        "bus TEXT",
        "uuid TEXT",
        "extensions TEXT",
    ),
)
CONTEXT = Table("context", (_KEY, "process_id INTEGER NOT NULL"))
CONTEXT_DEVICE = Table("context_device", ("context_id INTEGER NOT NULL", "device_id INTEGER"))
QUEUE = Table(
    "queue",
    (
        _KEY,
        "context_id INTEGER",
        "device_id INTEGER",
        "properties INTEGER NOT NULL",
        "profiling INTEGER NOT NULL",
        "profiling_forced INTEGER NOT NULL",
        "known_host_ns INTEGER NOT NULL",
    ),
)
PROGRAM = Table(
    "program",
    (
        _KEY,
        "context_id INTEGER",
        "origin TEXT NOT NULL",
        "source_string_id INTEGER",
        "binary_bytes INTEGER",
        "created_host_ns INTEGER",
    ),
)
PROGRAM_PARENT = Table("program_parent", ("program_id INTEGER", "parent_program_id INTEGER"))
INCLUDE = Table("include", ("program_id INTEGER", "name TEXT", "string_id INTEGER"))
BUILD = Table(
    "build",
    (
        _KEY,
        "program_id INTEGER",
        "device_id INTEGER",
        "api INTEGER NOT NULL",
        "options TEXT NOT NULL",
        "status INTEGER NOT NULL",
        "log_string_id INTEGER",
        "enter_host_ns INTEGER NOT NULL",
        "return_host_ns INTEGER NOT NULL",
    ),
)
KERNEL = Table(
    "kernel", (_KEY, "program_id INTEGER", "name TEXT NOT NULL", "argument_count INTEGER")
)
WORK_GROUP_INFO = Table(
    "work_group_info",
    (
        "kernel_id INTEGER",
        "device_id INTEGER",
        "max_group_size INTEGER",
        "preferred_multiple INTEGER",
        "local_memory_bytes INTEGER",
        "private_memory_bytes INTEGER",
    ),
)
LAUNCH = Table(
    "launch",
    (
        _KEY,
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
BUFFER = Table(
    "buffer",
    (
        _KEY,
        "process_id INTEGER NOT NULL",
        "context_id INTEGER",
        "kind TEXT NOT NULL",
        "flags INTEGER NOT NULL",
        "size_bytes INTEGER NOT NULL",
        "parent_buffer_id INTEGER",
        "origin_bytes INTEGER",
        "width INTEGER",
        "height INTEGER",
        "depth INTEGER",
        "site_id INTEGER",
        "thread_id INTEGER",
        "known_host_ns INTEGER NOT NULL",
        "created_here INTEGER",
        "released_after_host_ns INTEGER",
        "released_before_host_ns INTEGER",
        "fate TEXT NOT NULL",
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
    "content_data", (_KEY, "sha256 TEXT NOT NULL", "size_bytes INTEGER NOT NULL", "deflated BLOB")
)
API = Table("api", (_KEY, "name TEXT NOT NULL", "command_kind TEXT"))
COMMAND = Table(
    "command",
    (
        _KEY,
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
        _KEY,
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
        _KEY,
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
        _KEY,
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
    LAUNCH,
    LAUNCH_ARG,
    BUFFER,
    CONTENT,
    CONTENT_DATA,
    API,
    COMMAND,
    API_CALL,
    EDGE,
    WAIT,
    REGION,
    HOST_CLOCK,
    SURCHARGE,
    DIAGNOSTIC,
    REDACTION,
    ROLLUP,
    API_ROLLUP,
)
"""Every table of schema version 1, in the order in which they are made."""
