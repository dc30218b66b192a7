"""Tables of objects: processes, devices, programs, kernels, memory."""

from cltrace.trace.schema.model import KEY, Table

META = Table("meta", ("key TEXT PRIMARY KEY", "value TEXT"), " WITHOUT ROWID")
PROCESS = Table(
    "process",
    (
        KEY,
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
    "thread", (KEY, "process_id INTEGER NOT NULL", "native_id INTEGER NOT NULL", "name TEXT")
)
STRING = Table("string", (KEY, "text TEXT NOT NULL"))
SITE = Table(
    "site",
    (
        KEY,
        "file TEXT NOT NULL",
        "line INTEGER NOT NULL",
        "function TEXT NOT NULL",
        "outer_site_id INTEGER",
    ),
)
PLATFORM = Table(
    "platform",
    (
        KEY,
        "process_id INTEGER NOT NULL",
        "name TEXT NOT NULL",
        "vendor TEXT NOT NULL",
        "version TEXT NOT NULL",
    ),
)
DEVICE = Table(
    "device",
    (
        KEY,
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
CONTEXT = Table("context", (KEY, "process_id INTEGER NOT NULL"))
CONTEXT_DEVICE = Table("context_device", ("context_id INTEGER NOT NULL", "device_id INTEGER"))
QUEUE = Table(
    "queue",
    (
        KEY,
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
        KEY,
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
        KEY,
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
    "kernel", (KEY, "program_id INTEGER", "name TEXT NOT NULL", "argument_count INTEGER")
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
BUFFER = Table(
    "buffer",
    (
        KEY,
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
