"""Counters of a run that have no noise: a launch more or a build in a loop shows on any machine."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cltrace.trace.reader import Trace

_LAUNCHES: Final = """
    SELECT coalesce(c.kernel, ''), coalesce(l.global_size, ''), count(*)
    FROM v_command c LEFT JOIN v_launch l ON l.launch_id = c.launch_id
    WHERE c.kind = 'kernel' GROUP BY 1, 2 ORDER BY 1, 2
"""
_MOVED: Final = """
    SELECT kind, count(*), coalesce(sum(size_bytes), 0) FROM v_command
    WHERE kind IN ('write', 'read', 'copy', 'fill') GROUP BY kind ORDER BY kind
"""
_BUILDS: Final = "SELECT count(*) FROM v_build"
_FAILED: Final = "SELECT coalesce(sum(failed), 0) FROM v_api_rollup"
_ENDED_BADLY: Final = "SELECT count(*) FROM v_command WHERE execution_status < 0"
_UNTIMED: Final = "SELECT count(*) FROM v_command WHERE duration_ns IS NULL"
_BLOCKING: Final = "SELECT count(*) FROM v_command WHERE blocking = 1"
_MOVES: Final = {
    "write": "to device", "read": "from device", "copy": "within device", "fill": "filled",
}  # fmt: skip


class CounterKind(StrEnum):
    """What is counted. More of any of them is worse."""

    LAUNCHES = "launches"
    TRANSFERS = "transfers"
    BYTES = "bytes"
    BUILDS = "builds"
    FAILURES = "failures"
    BLOCKING = "blocking calls"
    UNTIMED = "commands without a time"


@dataclass(frozen=True, slots=True, order=True)
class CounterKey:
    """A counter: what is counted, and of what, as a kernel with its global size, or a direction."""

    kind: CounterKind
    subject: str


_PLAIN: Final = {
    CounterKey(CounterKind.BUILDS, ""): _BUILDS,
    CounterKey(CounterKind.FAILURES, "calls"): _FAILED,
    CounterKey(CounterKind.FAILURES, "commands"): _ENDED_BADLY,
    CounterKey(CounterKind.BLOCKING, ""): _BLOCKING,
    CounterKey(CounterKind.UNTIMED, ""): _UNTIMED,
}
Counters = Mapping[CounterKey, int]


@dataclass(frozen=True, slots=True)
class Difference:
    """A counter that is another one in `head` than in `base`; what one of them does not have is 0."""

    key: CounterKey
    base: int
    head: int

    @property
    def is_worse(self) -> bool:
        """Whether there is more of it."""
        return self.head > self.base


def counters_of(trace: Trace) -> Counters:
    """All counters of a trace that are not 0. Raises: `DamagedTraceError`."""
    return {key: value for key, value in sorted(_counted(trace)) if value}


def differences(base: Counters, head: Counters) -> tuple[Difference, ...]:
    """The counters that differ, by kind and subject."""
    both = sorted({*base, *head})
    pairs = (Difference(key, base.get(key, 0), head.get(key, 0)) for key in both)
    return tuple(one for one in pairs if one.base != one.head)


def steady(runs: list[Counters]) -> tuple[Counters, tuple[CounterKey, ...]]:
    """The counters that are the same in all runs, and those that are not: these say nothing of a change.

    Raises: `ValueError` without runs.
    """
    first, *others = runs
    keys = {key for run in runs for key in run}
    unsteady = {key for key in keys if any(one.get(key, 0) != first.get(key, 0) for one in others)}
    same = {key: value for key, value in first.items() if key not in unsteady}
    return same, tuple(sorted(unsteady))


def _counted(trace: Trace) -> Iterator[tuple[CounterKey, int]]:
    for kernel, size, count in trace.rows(_LAUNCHES):
        yield CounterKey(CounterKind.LAUNCHES, f"{kernel} {size}".strip()), int(count)
    for kind, count, size_bytes in trace.rows(_MOVED):
        yield CounterKey(CounterKind.TRANSFERS, _MOVES[str(kind)]), int(count)
        yield CounterKey(CounterKind.BYTES, _MOVES[str(kind)]), int(size_bytes)
    for key, sql in _PLAIN.items():
        ((count,),) = trace.rows(sql)
        yield key, int(count)
