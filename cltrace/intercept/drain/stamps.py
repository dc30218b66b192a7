"""Reading the stamps of events, natively and many at once."""

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any, Final

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray
from pyopencl import _cl

NO_STAMP: Final = -(2**63)
"""What stands for a stamp that the driver does not give."""

_STATUS: Final = int(cl.event_info.COMMAND_EXECUTION_STATUS)
_STAGES: Final = tuple(
    int(stage)
    for stage in (
        cl.profiling_info.QUEUED,
        cl.profiling_info.SUBMIT,
        cl.profiling_info.START,
        cl.profiling_info.END,
    )
)
_STAGES_LAST_FIRST: Final = _STAGES[::-1]


class Stamps:
    """Asks the driver past our hooks, which the program's questions go through."""

    def __init__(self) -> None:
        self._native_status: Callable[..., Any] = _cl.Event.get_info
        self._native_stamp: Callable[..., Any] = _cl.Event.get_profiling_info

    def status_of(self, event: cl.Event) -> int:
        """The execution status of a command: 0 when it is complete, negative when it failed."""
        return int(self._native_status(event, _STATUS))

    def when_complete(self, events: list[cl.Event]) -> NDArray[np.int64] | None:
        """The stamps of all of `events`, of shape (n, 4), or nothing when one is incomplete.

        When the last of them is complete the others mostly are. Whether they are, the stamps say
        themselves: OpenCL gives none of a command that is not complete, or failed.
        """
        if self.status_of(events[-1]) != 0:
            return None
        try:
            stamps = np.stack([self._stage(events, stage) for stage in _STAGES_LAST_FIRST], axis=1)
        except cl.Error:
            return None
        # A driver that does give some gives zeros.
        return stamps[:, ::-1] if stamps[:, 0].all() else None

    def of(self, events: list[cl.Event]) -> NDArray[np.int64]:
        """The four stamps of each event, of shape (n, 4)."""
        return np.array([self._of_one(event) for event in events], np.int64).reshape(-1, 4)

    def _stage(self, events: Iterable[cl.Event], stage: int) -> NDArray[np.int64]:
        return np.fromiter(map(self._native_stamp, events, repeat(stage)), np.uint64).view(np.int64)

    def _of_one(self, event: cl.Event) -> list[int]:
        """The stamps of an event that may have none: its queue has no profiling, or it failed."""
        try:
            return [int(self._stage([event], stage)[0]) for stage in _STAGES]
        except cl.Error:
            return [NO_STAMP] * len(_STAGES)
