"""Commands and host calls of a process, as columns."""

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
