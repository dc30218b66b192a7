"""Tables of older versions of the schema that today's does not have.

`views.unpacked` gives the rows of newer tables under the same names.
"""

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
    until=3,
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
    until=3,
)
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
    until=3,
)
