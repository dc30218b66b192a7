"""Commands and host calls of a process, as columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.records import Queue
from cltrace.spool.reader import ProcessSpool

if TYPE_CHECKING:
    from cltrace.trace.scratch import StoredRows
    from cltrace.trace.stored_columns import StoredColumns

Int64s = NDArray[np.int64]

ABSENT: Final = np.int64(-(2**63))
"""Placeholder for a missing value in a column. It becomes NULL in a trace."""

FIRST_LAUNCH: Final = 1 << 16
"""Bit in `flags` of the first launch of a kernel with a work-group size on a device, because drivers may
compile the kernel only then."""

OUT_OF_ORDER: Final = 1
"""`CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE`."""

STAMP_COLUMNS: Final = (
    *("queued_device_ns", "submit_device_ns", "start_device_ns", "end_device_ns"),
    "execution_status",
)
"""Columns of what the device told of a command, in the order of `STAMPS`."""


_MAX_STAMP_NS: Final = 1 << 62
"""Largest stamp whose difference to another is a 64-bit integer."""


def packed_times(commands: Mapping[str, Int64s]) -> dict[str, Int64s]:
    """Return the times of commands as the differences that `schema.PACKED_COMMAND` has."""
    stamps = [commands[name] for name in STAMP_COLUMNS[:4]]
    queued = stamps[0]
    has_base = np.ones(len(queued), np.bool_)
    for stamp in stamps:
        has_base &= (stamp < _MAX_STAMP_NS) & (stamp > -_MAX_STAMP_NS)
    base = np.where(has_base, queued, 0)
    after = {
        name.replace("_device_", "_after_"): np.where(stamp == ABSENT, ABSENT, stamp - base)
        for name, stamp in zip(STAMP_COLUMNS, stamps, strict=False)
    }
    return {
        "return_after_ns": commands["return_host_ns"] - commands["enter_host_ns"],
        "base_device_ns": base,
        **after,
    }


@dataclass(frozen=True, slots=True)
class HostCalls:
    """The commands, the other host calls and the dependencies of a process.

    `commands` and `calls` are columns by their name in the trace's tables, in the order in which the
    calls were entered. Ids are the process's own. `edges` are pairs of positions in `commands`: the first
    command waits for the second. `waits` are pairs of a position in `calls` and a position in `commands`:
    the call waits for the command. `damaged_rows` counts the calls that were left out because their entry
    point is unknown.
    """

    commands: dict[str, Int64s]
    calls: dict[str, Int64s]
    edges: Int64s
    waits: Int64s
    damaged_rows: int


@dataclass(frozen=True, slots=True)
class StoredHostCalls:
    """The host calls of a process as in `HostCalls`, in scratch files.

    `commands` also have the columns `kernel_id`, `mark` and `event_handle`, `calls` a `mark`.
    """

    commands: "StoredColumns"
    calls: "StoredColumns"
    edges: "StoredRows"
    waits: "StoredRows"
    damaged_rows: int


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """Facts about the queues of a process, by id: their devices, and which of them execute in order."""

    device_ids: dict[int, int]
    keeps_order: dict[int, bool]


def queue_facts(spool: ProcessSpool) -> QueueFacts:
    """Return the facts about a process's queues."""
    queues = spool.records(Queue)
    return QueueFacts(
        {queue.id: queue.device_id for queue in queues},
        {queue.id: not queue.properties & OUT_OF_ORDER for queue in queues},
    )
