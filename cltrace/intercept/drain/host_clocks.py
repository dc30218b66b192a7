"""Simultaneous readings of the host's clocks."""

import time


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
