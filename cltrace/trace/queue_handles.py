"""Queues by their handles: which queue a handle denoted when a call was entered."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cltrace.events.records import Queue
from cltrace.trace.distinct_values import find_distinct

Int64s = NDArray[np.int64]


class QueueHandles:
    """Queues of a process by handle and time. A driver reuses the handle of a queue after its release."""

    def __init__(self, queues: Sequence[Queue]) -> None:
        by_handle: dict[int, list[Queue]] = {}
        for queue in sorted(queues, key=lambda queue: queue.known_host_ns):
            by_handle.setdefault(queue.handle, []).append(queue)
        self._queues = {
            handle: (
                np.array([queue.known_host_ns for queue in same_handle], np.int64),
                np.array([queue.id for queue in same_handle], np.int64),
            )
            for handle, same_handle in by_handle.items()
        }

    def find(self, handles: Int64s, enter_ns: Int64s) -> Int64s:
        """Return the queue that each handle denoted at a time; 0 for an unknown handle."""
        queue_ids = np.zeros(len(handles), np.int64)
        distinct = find_distinct(handles)
        for number, handle in enumerate(distinct.values.tolist()):
            if handle not in self._queues:
                continue
            since_ns, ids = self._queues[handle]
            here = (
                np.flatnonzero(distinct.inverse == number)
                if len(distinct.values) > 1
                else slice(None)
            )
            if len(ids) == 1:
                queue_ids[here] = ids[0]
                continue
            latest = np.searchsorted(since_ns, enter_ns[here], side="right") - 1
            queue_ids[here] = ids[np.maximum(latest, 0)]
        return queue_ids
