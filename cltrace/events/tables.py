"""Row tables: facts with up to millions of rows, in columns of 64-bit integers."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table of 64-bit integers: its name, and its columns in stored order."""

    name: str
    columns: tuple[str, ...]

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def index(self, column: str) -> int:
        """Return the position of `column`. Raises: `ValueError` for an unknown column."""
        return self.columns.index(column)


LAUNCHES = RowTable(
    "launches", ("enter_host_ns", "return_host_ns", "circumstance_id", "event_handle")
)
"""Plain kernel launches: without a wait list or offset. The hot path writes only these rows."""

CIRCUMSTANCES = RowTable(
    "circumstances",
    ("circumstance_id", "launch_id", "site_id", "thread_id", "queue_handle"),
)
"""Combinations of launch configuration, site, thread and queue, which rows of `LAUNCHES` refer to."""

CALLS = RowTable(
    "calls",
    (
        "enter_host_ns",
        "return_host_ns",
        "api",
        "status",
        "site_id",
        "thread_id",
        "queue_handle",
        "mark",
        "subject_id",
        "source_buffer_id",
        "target_buffer_id",
        "size_bytes",
        "source_offset_bytes",
        "target_offset_bytes",
        "flags",
        "event_handle",
    ),
)
"""All other host calls: launches that are not plain, other enqueues, waits, builds, creations.

`mark` joins a row with its wait list and completion; 0 if it has neither. `subject_id` is the launch
configuration of a launch, the program of a build, the buffer of a creation. `size_bytes` is -1 if it has
no meaning or is unknown. `event_handle` is 0 for a call that enqueued no command. The last column of
`LAUNCHES` and `CALLS` is the event; the recording process holds the event object until it has read the
stamps."""

STAMPS = RowTable(
    "stamps",
    (
        "command",
        "queued_device_ns",
        "submit_device_ns",
        "start_device_ns",
        "end_device_ns",
        "execution_status",
    ),
)
"""Device stamps. `command` is 2 * row number in `LAUNCHES`, or 2 * row number in `CALLS` + 1.
`execution_status` is 0, or the negative OpenCL error with which the command ended."""

COMPLETIONS = RowTable("completions", ("mark", "complete_host_ns"))
"""Times at which the host learned of completions, when timing by callbacks or waits."""

EDGES = RowTable("edges", ("mark", "event_handle"))
"""Events that commands and host calls wait for."""

BUFFERS = RowTable(
    "buffers",
    (
        "buffer_id",
        "handle",
        "context_id",
        "kind",
        "flags",
        "size_bytes",
        "parent_buffer_id",
        "origin_bytes",
        "width",
        "height",
        "depth",
        "site_id",
        "thread_id",
        "known_host_ns",
        "created_here",
    ),
)
"""Memory objects. `created_here` is 0 for an object that was first observed in use: cltrace did not
observe its creation."""

RELEASES = RowTable(
    "releases",
    ("buffer_id", "not_before_host_ns", "not_after_host_ns"),
)
"""Releases of memory objects, each between two checks of the object."""

REGIONS = RowTable(
    "regions",
    ("name_text_id", "thread_id", "enter_host_ns", "leave_host_ns"),
)
"""Regions of the program that the user named."""

ANCHORS = RowTable("anchors", ("host_ns", "raw_host_ns", "realtime_ns", "bracket_ns"))
"""Simultaneous readings of the host's clocks. `bracket_ns` is their duration: the uncertainty."""

ROW_TABLES: Final = (
    LAUNCHES,
    CIRCUMSTANCES,
    CALLS,
    STAMPS,
    COMPLETIONS,
    EDGES,
    BUFFERS,
    RELEASES,
    REGIONS,
    ANCHORS,
)
