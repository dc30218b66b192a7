"""Counters of a run that have no noise: a launch more or a build in a loop shows on any machine."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cltrace.trace.reader import Trace

_ALL: Final = "SELECT count(*) FROM v_command WHERE kind = 'kernel'"
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
# What stamps that are there tell is of the tracing, and not of what the program does.
_UNTIMED: Final = (
    "SELECT count(*) FROM v_command WHERE duration_ns IS NULL AND stamp_faults IS NULL"
)
_BLOCKING: Final = "SELECT count(*) FROM v_command WHERE blocking = 1"
_MANY_RUNS: Final = 6
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
    """Nobody saw them end, or their queue has no profiling."""


@dataclass(frozen=True, slots=True, order=True)
class CounterKey:
    """A counter: what is counted, and of what, as a kernel with its global size, or a direction."""

    kind: CounterKind
    subject: str


ALL_LAUNCHES: Final = CounterKey(CounterKind.LAUNCHES, "")
"""The counter of the launches of all kernels."""
_PLAIN: Final = {
    ALL_LAUNCHES: _ALL,
    CounterKey(CounterKind.BUILDS, ""): _BUILDS,
    CounterKey(CounterKind.FAILURES, "calls"): _FAILED,
    CounterKey(CounterKind.FAILURES, "commands"): _ENDED_BADLY,
    CounterKey(CounterKind.BLOCKING, ""): _BLOCKING,
    CounterKey(CounterKind.UNTIMED, ""): _UNTIMED,
}
Counters = Mapping[CounterKey, int]


@dataclass(frozen=True, slots=True)
class Difference:
    """A counter that is another one in `head` than in `base`; what one of them does not have is 0.

    `pardon` says why more of it fails nothing, "" where it does.
    """

    key: CounterKey
    base: int
    head: int
    pardon: str = ""

    @property
    def is_worse(self) -> bool:
        """Whether there is more of it, and that counts."""
        return self.head > self.base and not self.pardon


def counters_of(trace: Trace) -> Counters:
    """All counters of a trace that are not 0. Raises: `DamagedTraceError`."""
    return {key: value for key, value in sorted(_counted(trace)) if value}


def compared_counters(
    base: Sequence[Counters], head: Sequence[Counters]
) -> tuple[tuple[Difference, ...], tuple[CounterKey, ...]]:
    """The counters that differ between runs of two sides, and those that tell nothing.

    A counter that wavers among the runs of a side tells nothing; one run of many that is not like the
    others, as the first with a cold cache, is passed over. A kernel that base does not launch fails
    nothing by itself: another name is no regression, and there is a counter of all launches.
    """
    keys = sorted({key for run in (*base, *head) for key in run})
    found, unsteady = [], []
    for key in keys:
        before, after = (_usual([run.get(key, 0) for run in side]) for side in (base, head))
        if before is None or after is None:
            unsteady.append(key)
        elif before != after:
            found.append(Difference(key, before, after, _pardon(key, before)))
    return tuple(found), tuple(unsteady)


def steady(runs: Sequence[Counters]) -> Counters:
    """The counters that are the same in all runs."""
    first, *others = runs
    return {
        key: value
        for key, value in first.items()
        if all(one.get(key, 0) == value for one in others)
    }


def _usual(values: Sequence[int]) -> int | None:
    """The value of all runs, or of all but one of many; None where there is none."""
    ((value, count),) = Counter(values).most_common(1)
    others = len(values) - count
    return value if others == 0 or (others == 1 and len(values) >= _MANY_RUNS) else None


def _pardon(key: CounterKey, before: int) -> str:
    is_of_kernel = key.kind is CounterKind.LAUNCHES and bool(key.subject)
    return "new" if is_of_kernel and not before else ""


def _counted(trace: Trace) -> Iterator[tuple[CounterKey, int]]:
    for kernel, size, count in trace.rows(_LAUNCHES):
        yield CounterKey(CounterKind.LAUNCHES, f"{kernel} {size}".strip()), int(count)
    for kind, count, size_bytes in trace.rows(_MOVED):
        yield CounterKey(CounterKind.TRANSFERS, _MOVES[str(kind)]), int(count)
        yield CounterKey(CounterKind.BYTES, _MOVES[str(kind)]), int(size_bytes)
    for key, sql in _PLAIN.items():
        ((count,),) = trace.rows(sql)
        yield key, int(count)
