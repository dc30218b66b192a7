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
    "launches",
    (
        "enter_host_ns",
        "return_host_ns",
        "circumstance_id",
        "arguments_id",
        "mark",
        "event_handle",
    ),
)
"""Kernel launches. `arguments_id` refers to a row of an `arguments_table`; 0 if the arguments were not
observed. `mark` joins a row with its wait list and completion; 0 if it has neither."""

_SIZES: Final = tuple(
    f"{extent}_{axis}"
    for extent in ("global_size", "local_size", "global_offset")
    for axis in range(3)
)

CIRCUMSTANCES = RowTable(
    "circumstances",
    (
        *("circumstance_id", "kernel_id", "site_id", "thread_id", "queue_handle", "flags"),
        *("global_dimensions", "local_dimensions", "offset_dimensions"),
        *_SIZES,
    ),
)
"""Combinations of kernel, site, thread, queue and NDRange, which rows of `LAUNCHES` refer to.

`local_dimensions` and `offset_dimensions` are 0 if the program gave no local size or no offset. Extents
beyond the dimensions are 0. `flags` is 0 or `CallFlag.EMPTY_RANGE`."""


def arguments_table(words: int) -> RowTable:
    """Return the table of argument lists of `words` words.

    A row has the number of the list, the number of its `ArgumentForm`, and its words. The form tells what
    the words are. Memory objects are in them by handle: which object a handle denoted is determined by
    the time of the launch.
    """
    return RowTable(
        f"arguments_{words}",
        ("arguments_id", "form_id", *(f"word_{position}" for position in range(words))),
    )


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
        "source_handle",
        "target_handle",
        "size_bytes",
        "source_offset_bytes",
        "target_offset_bytes",
        "flags",
        "event_handle",
    ),
)
"""All other host calls: failed launches, other enqueues, waits, builds, creations.

`subject_id` is the program of a build, the buffer of a creation. `source_handle` and `target_handle` are
those of memory objects, or addresses of shared virtual memory; 0 for none. `size_bytes` is -1 if it has
no meaning or is unknown. `event_handle` is 0 for a call that enqueued no command. The last column of
`LAUNCHES` and `CALLS` is the event; the recording process holds the event until it has read the stamps."""

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
"""Memory objects. `known_host_ns` is the time from which the handle denotes this object: the return of
the call that created it. `created_here` is 0 for an object that was first observed in use: cltrace did
not observe its creation, and `known_host_ns` is the entry of the call that used it."""

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
