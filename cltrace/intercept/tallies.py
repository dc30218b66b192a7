"""Cost of tracing in this process, counted while it is traced."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Tallies:
    """Counters of one process. All times in ns.

    A frequent hook is timed when the low six bits of its call's return time are zero: one in 64, at
    random. `sampled_ns` is the time of these hooks after their calls had returned, `rare_ns` that of all
    other hooks, which are timed always.
    """

    sampled_ns: int = 0
    rare_ns: int = 0
    reader_cpu_ns: int = 0
    event_waits: int = 0
    event_wait_ns: int = 0
    unread_events_peak: int = 0
    commands_skipped: int = 0
    count_late: Callable[[], None] | None = None

    def skip_command(self) -> None:
        """Count a command that is not recorded, also with `count_late` if that is set."""
        self.commands_skipped += 1
        if self.count_late is not None:
            self.count_late()

    def hook_ns(self, calls: int, entry_ns: int) -> int:
        """Return the time spent in the hooks of `calls` calls, without the calls themselves.

        `entry_ns` is the time of a hook before its call.
        """
        return 64 * self.sampled_ns + self.rare_ns + calls * entry_ns


def entry_cost_ns() -> int:
    """Measure a hook's cost before its call: a Python call and a clock reading. Median of 9 batches."""
    clock = time.perf_counter_ns

    def hook() -> int:
        return clock()

    def batch(calls: int) -> float:
        begin = clock()
        for _ in range(calls):
            hook()
        return (clock() - begin) / calls

    return round(sorted(batch(200) for _ in range(9))[4])
