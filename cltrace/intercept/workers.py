"""Workers of `multiprocessing`: a pool terminates them as soon as their last result was taken.

So a worker writes what it has recorded before it hands over a result, not up to 100 ms later.
"""

import sys
from collections.abc import Callable
from typing import Any

from cltrace.intercept.import_watch import ImportWatch
from cltrace.intercept.tracebacks import hide_own_frames


def watch_workers(flush: Callable[[], None]) -> None:
    """Call `flush` in a worker before each result that it puts into its queue."""
    ImportWatch("multiprocessing.queues", lambda: _watch_results(flush))


def _watch_results(flush: Callable[[], None]) -> None:
    queue_class = sys.modules["multiprocessing.queues"].SimpleQueue
    parent_process = sys.modules["multiprocessing.process"].parent_process
    original = queue_class.put

    def put(queue: Any, obj: Any) -> None:
        try:
            if parent_process() is not None:
                flush()
            original(queue, obj)
        except BaseException as error:
            hide_own_frames(error)
            raise

    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(put, name, getattr(original, name))
    put.__wrapped__ = original  # type: ignore[attr-defined]
    queue_class.put = put
