"""Workers of `multiprocessing`: a pool terminates them as soon as it has taken their last result.

So a worker writes its recorded rows before it hands over a result, not up to 100 ms later.
"""

import sys
from typing import Any, Final

from cltrace.intercept.tracebacks import hide_own_frames

_SESSION: Final = "cltrace.intercept.session"


def watch_results() -> None:
    """Flush before each result that a worker puts into its queue.

    The program has imported `multiprocessing.queues`, and no worker has begun.
    """
    queue_class = sys.modules["multiprocessing.queues"].SimpleQueue
    parent_process = sys.modules["multiprocessing.process"].parent_process
    original = queue_class.put

    def put(queue: Any, obj: Any) -> None:
        try:
            session = sys.modules.get(_SESSION)  # imported together with pyopencl
            if session is not None and parent_process() is not None:
                session.flush()
            original(queue, obj)
        except BaseException as error:
            hide_own_frames(error)
            raise

    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(put, name, getattr(original, name))
    put.__wrapped__ = original  # type: ignore[attr-defined]
    queue_class.put = put
