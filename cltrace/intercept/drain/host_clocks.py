"""Simultaneous readings of the host's clocks."""

import time
from typing import Final

import numpy as np

from cltrace.events import NS_PER_S
from cltrace.events.tables import ANCHORS
from cltrace.spool.writer import SpoolWriter

_PERIOD_NS: Final = NS_PER_S


class Anchors:
    """Writer of the anchors of a process, one per second."""

    def __init__(self, writer: SpoolWriter) -> None:
        self._writer = writer
        self._next_ns = 0

    def write_if_due(self) -> None:
        """Write an anchor if the last is a second old. Raises: `OSError`."""
        now_ns = time.perf_counter_ns()
        if now_ns >= self._next_ns:
            self._next_ns = now_ns + _PERIOD_NS
            self._writer.rows(ANCHORS, np.array([anchor()], np.int64))


def anchor() -> tuple[int, int, int, int]:
    """Return CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, and the time of the reading; in ns.

    The monotonic reading is the middle of two that enclose the others. The best of five is returned.
    """
    return min((_read() for _ in range(5)), key=lambda reading: reading[3])


def _read() -> tuple[int, int, int, int]:
    before_ns = time.perf_counter_ns()
    raw_ns = time.clock_gettime_ns(_RAW_CLOCK)
    realtime_ns = time.time_ns()
    after_ns = time.perf_counter_ns()
    return (before_ns + after_ns) // 2, raw_ns, realtime_ns, after_ns - before_ns


_RAW_CLOCK = getattr(time, "CLOCK_MONOTONIC_RAW", time.CLOCK_MONOTONIC)
