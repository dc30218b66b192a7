"""Reader of events' stamps that calls the driver directly, for whole blocks of events."""

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any, Final

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray
from pyopencl import _cl

NO_STAMP: Final = -(2**63)
"""Value of a stamp that the driver does not give."""

_STATUS: Final = int(cl.event_info.COMMAND_EXECUTION_STATUS)
_FAILED: Final = -1
"""The least grave status of a failed command."""
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


class StampReader:
    """Reader of events that bypasses the hooks on the program's own queries."""

    def __init__(self, native_status: Callable[..., Any] = _cl.Event.get_info) -> None:
        self._native_status = native_status
        self._native_stamp: Callable[..., Any] = _cl.Event.get_profiling_info

    def status_of(self, event: cl.Event) -> int:
        """Return the execution status of a command: 0 when it is complete, negative when it failed.

        A command of a context that an error has ended has that error as its status: NVIDIA's driver
        answers no query of its events.
        """
        try:
            return int(self._native_status(event, _STATUS))
        except cl.Error as error:
            return min(int(error.code), _FAILED)

    def read_if_complete(self, events: list[cl.Event]) -> NDArray[np.int64] | None:
        """Return the stamps of all `events`, of shape (n, 4), or `None` when one is incomplete.

        When the last event is complete, the others usually are. The stamps themselves show whether they
        are: OpenCL gives no stamps of a command that is not complete, or failed.
        """
        if self.status_of(events[-1]) != 0:
            return None
        try:
            stamps = np.stack([self._stage(events, stage) for stage in _STAGES_LAST_FIRST], axis=1)
        except cl.Error:
            return None
        # A driver that does give stamps of an incomplete command gives zeros.
        return stamps[:, ::-1] if stamps[:, 0].all() else None

    def read(self, events: list[cl.Event]) -> NDArray[np.int64]:
        """Return the four stamps of each event, of shape (n, 4)."""
        return np.array([self._read_event(event) for event in events], np.int64).reshape(-1, 4)

    def _stage(self, events: Iterable[cl.Event], stage: int) -> NDArray[np.int64]:
        return np.fromiter(map(self._native_stamp, events, repeat(stage)), np.uint64).view(np.int64)

    def _read_event(self, event: cl.Event) -> list[int]:
        """Return the stamps of an event that may have none: no profiling on its queue, or it failed."""
        try:
            return [int(self._stage([event], stage)[0]) for stage in _STAGES]
        except cl.Error:
            return [NO_STAMP] * len(_STAGES)
