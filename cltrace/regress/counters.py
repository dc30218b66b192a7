"""Counters of a run, which have no noise: one more launch, or a build in a loop, shows on any machine."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from cltrace.regress.work import SizedKernel, parse_sized_kernel
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
# A command with faulty stamps did end: the fault is the tracing's or the driver's, not the program's.
_UNTIMED: Final = (
    "SELECT count(*) FROM v_command WHERE duration_ns IS NULL AND stamp_faults IS NULL"
)
_BLOCKING: Final = "SELECT count(*) FROM v_command WHERE blocking = 1"
_MIN_RUNS_FOR_OUTLIER: Final = 6


class CounterKind(StrEnum):
    """Kind of event that is counted. An increase of any of them is a regression."""

    LAUNCHES = "launches"
    TRANSFERS = "transfers"
    BYTES = "bytes"
    BUILDS = "builds"
    FAILURES = "failures"
    BLOCKING = "blocking calls"
    UNTIMED = "commands without a time"
    """Commands that nobody saw end, or of queues without profiling."""


class CounterDirection(StrEnum):
    """CounterDirection of transfers."""

    TO_DEVICE = "to device"
    FROM_DEVICE = "from device"
    WITHIN_DEVICE = "within device"
    FILLED = "filled"


class FailureKind(StrEnum):
    """Kind of failure."""

    CALLS = "calls"
    COMMANDS = "commands"


_DIRECTIONS: Final = {
    "write": CounterDirection.TO_DEVICE,
    "read": CounterDirection.FROM_DEVICE,
    "copy": CounterDirection.WITHIN_DEVICE,
    "fill": CounterDirection.FILLED,
}

Subject: TypeAlias = SizedKernel | CounterDirection | FailureKind | None


@dataclass(frozen=True, slots=True)
class CounterKey:
    """A counter: the kind of event, and its subject; None for the events of all subjects."""

    kind: CounterKind
    subject: Subject = None

    def __str__(self) -> str:
        return " ".join(filter(None, self.to_stored()))

    def __lt__(self, other: "CounterKey") -> bool:
        return self.to_stored() < other.to_stored()

    @property
    def subject_text(self) -> str:
        """The subject as text, "" for all subjects."""
        return "" if self.subject is None else str(self.subject)

    def to_stored(self) -> tuple[str, str]:
        """Return the kind and the subject as files store them."""
        return self.kind.value, self.subject_text


def parse_counter(kind: str, subject: str) -> CounterKey:
    """Return the counter for a stored kind and subject. Raises: `ValueError`."""
    counter_kind = CounterKind(kind)
    if not subject:
        return CounterKey(counter_kind)
    match counter_kind:
        case CounterKind.LAUNCHES:
            return CounterKey(counter_kind, parse_sized_kernel(subject))
        case CounterKind.TRANSFERS | CounterKind.BYTES:
            return CounterKey(counter_kind, CounterDirection(subject))
        case CounterKind.FAILURES:
            return CounterKey(counter_kind, FailureKind(subject))
        case CounterKind.BUILDS | CounterKind.BLOCKING | CounterKind.UNTIMED:
            raise ValueError(f"{kind} have no subject, and {subject!r} is given")


ALL_LAUNCHES: Final = CounterKey(CounterKind.LAUNCHES)
"""The counter of the launches of all kernels."""
_SINGLE_NUMBERS: Final = {
    ALL_LAUNCHES: _ALL,
    CounterKey(CounterKind.BUILDS): _BUILDS,
    CounterKey(CounterKind.FAILURES, FailureKind.CALLS): _FAILED,
    CounterKey(CounterKind.FAILURES, FailureKind.COMMANDS): _ENDED_BADLY,
    CounterKey(CounterKind.BLOCKING): _BLOCKING,
    CounterKey(CounterKind.UNTIMED): _UNTIMED,
}
Counters = Mapping[CounterKey, int]


@dataclass(frozen=True, slots=True)
class Difference:
    """A counter that differs between `base` and `head`; a counter that a side lacks is 0.

    `exemption` says why an increase does not fail the check, "" where it does.
    """

    key: CounterKey
    base: int
    head: int
    exemption: str = ""

    @property
    def is_worse(self) -> bool:
        """True for an increase that is not exempt."""
        return self.head > self.base and not self.exemption


def count_events(trace: Trace) -> Counters:
    """Return all counters of a trace that are not 0. Raises: `DamagedTraceError`."""
    return {key: value for key, value in sorted(_read_counters(trace)) if value}


def compare_counters(
    base: Sequence[Counters], head: Sequence[Counters]
) -> tuple[tuple[Difference, ...], tuple[CounterKey, ...]]:
    """Return the counters that differ between the runs of two sides, and the unsteady ones.

    A counter that varies among the runs of a side is unsteady and not compared. A single outlier among
    six or more runs, as a first run with a cold cache, is ignored. A kernel that only head launches is
    exempt: a new name is no regression, and all launches together have a counter of their own.
    """
    keys = sorted({key for run in (*base, *head) for key in run})
    differences, unsteady = [], []
    for key in keys:
        before, after = (_steady_value([run.get(key, 0) for run in side]) for side in (base, head))
        if before is None or after is None:
            unsteady.append(key)
        elif before != after:
            differences.append(Difference(key, before, after, _find_exemption(key, before)))
    return tuple(differences), tuple(unsteady)


def select_steady(runs: Sequence[Counters]) -> Counters:
    """Return the counters that are the same in all runs."""
    first, *others = runs
    return {
        key: value
        for key, value in first.items()
        if all(run.get(key, 0) == value for run in others)
    }


def _steady_value(values: Sequence[int]) -> int | None:
    """Return the value of all runs, or of all but an outlier; None where they vary."""
    ((value, count),) = Counter(values).most_common(1)
    others = len(values) - count
    is_steady = others == 0 or (others == 1 and len(values) >= _MIN_RUNS_FOR_OUTLIER)
    return value if is_steady else None


def _find_exemption(key: CounterKey, before: int) -> str:
    is_of_kernel = key.kind is CounterKind.LAUNCHES and key.subject is not None
    return "new" if is_of_kernel and not before else ""


def _read_counters(trace: Trace) -> Iterator[tuple[CounterKey, int]]:
    for kernel, size, count in trace.rows(_LAUNCHES):
        subject = SizedKernel(str(kernel), str(size)) if kernel or size else None
        yield CounterKey(CounterKind.LAUNCHES, subject), int(count)
    for kind, count, size_bytes in trace.rows(_MOVED):
        yield CounterKey(CounterKind.TRANSFERS, _DIRECTIONS[str(kind)]), int(count)
        yield CounterKey(CounterKind.BYTES, _DIRECTIONS[str(kind)]), int(size_bytes)
    for key, sql in _SINGLE_NUMBERS.items():
        ((count,),) = trace.rows(sql)
        yield key, int(count)
