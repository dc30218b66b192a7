"""The row tables: facts that can be many millions, as columns of 64-bit integers."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table of 64-bit integers: its name and its columns, in the order they are stored."""

    name: str
    columns: tuple[str, ...]

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def index(self, column: str) -> int:
        """The position of `column`. Raises: `ValueError` for a column that is not there."""
        return self.columns.index(column)


LAUNCHES = RowTable(
    "launches", ("enter_host_ns", "return_host_ns", "circumstance_id", "event_handle")
)
"""Plain kernel launches: no wait list, no offset. The hot path writes nothing but these rows."""

CIRCUMSTANCES = RowTable(
    "circumstances",
    ("circumstance_id", "launch_id", "site_id", "thread_id", "queue_handle"),
)
"""What was launched, from where, by which thread, on which queue: stored once, named by many rows."""

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
"""Every other host call: launches that are not plain, other enqueues, waits, builds, creations.

`mark` joins a row with its wait list and completion; 0 when it has neither. `subject_id` is a
launch for a launch, a program for a build, a buffer for a creation. `size_bytes` is -1 where it has
no meaning or is unknown. `event_handle` is 0 for a call that made no command. The last column of both
command tables is the event, which the recording process holds as an object until it has read the
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
"""The device's stamps. `command` is twice the row number in `LAUNCHES`, or twice that in `CALLS` plus 1.
`execution_status` is 0, or the negative OpenCL error with which the command ended."""

COMPLETIONS = RowTable("completions", ("mark", "complete_host_ns"))
"""When the host learned of a command's completion: timing by callback or by waiting."""

EDGES = RowTable("edges", ("mark", "event_handle"))
"""The events that a command, or a host call, waits for."""

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
"""Memory objects. `created_here` is 0 for one first seen in use, made where cltrace cannot look."""

RELEASES = RowTable(
    "releases",
    ("buffer_id", "not_before_host_ns", "not_after_host_ns"),
)
"""When a memory object was destroyed, between two looks."""

REGIONS = RowTable(
    "regions",
    ("name_text_id", "thread_id", "enter_host_ns", "leave_host_ns"),
)
"""Named stretches of the program."""

ANCHORS = RowTable("anchors", ("host_ns", "raw_host_ns", "realtime_ns", "bracket_ns"))
"""The host's clocks read together. `bracket_ns` is how long the reading took: its uncertainty."""

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
