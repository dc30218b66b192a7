"""Sums over a part of the commands: of some kernels, or of some time."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from cltrace.errors import UsageError
from cltrace.events.kinds import UNUSABLE_STAMPS, fault_name
from cltrace.report.activity import Line
from cltrace.report.quantities import time_text
from cltrace.trace.commands import ABSENT, FIRST_LAUNCH, Int64s
from cltrace.trace.reader import Trace
from cltrace.trace.rollup import UNUSABLE, durations, roll_up

_KEYS: Final = {
    "kernel": "coalesce(kernel, '')",
    "queue": "coalesce(queue_id, '')",
    "device": "coalesce(device_id, '')",
    "process": "coalesce(process_id, '')",
    "thread": "coalesce(thread_id, '')",
    "callsite": "coalesce(site, '')",
}
_COLUMNS: Final = (
    "enter_host_ns",
    "queued_device_ns",
    "start_device_ns",
    "end_device_ns",
    "complete_host_ns",
    "size_bytes",
    "device_id",
)
_UNUSABLE_SQL: Final = " OR ".join(
    f"stamp_faults LIKE '%{fault_name(fault)}%'" for fault in UNUSABLE_STAMPS
)
_ROWS_AT_ONCE: Final = 100_000


@dataclass(frozen=True, slots=True)
class Selection:
    """Which commands are meant: of kernels whose name matches a glob, entered in a stretch of time.

    Times are in ns since the trace's start. `None` means no such condition.
    """

    kernel: str | None = None
    from_ns: int | None = None
    to_ns: int | None = None

    def __str__(self) -> str:
        words = []
        if self.kernel is not None:
            words.append(f"kernels like {self.kernel}")
        if self.from_ns is not None:
            words.append(f"from {time_text(self.from_ns)}")
        if self.to_ns is not None:
            words.append(f"to {time_text(self.to_ns)}")
        return ", ".join(words)

    @property
    def is_everything(self) -> bool:
        """Whether no condition is given."""
        return self.kernel is None and self.from_ns is None and self.to_ns is None


def selected_lines(trace: Trace, dimension: str, selection: Selection) -> list[Line]:
    """The sums of a dimension over the selected commands."""
    groups: dict[tuple[str, str], int] = {}
    numbers: list[Int64s] = []
    columns: dict[str, list[Int64s]] = {name: [] for name in (*_COLUMNS, "flags")}
    for rows in _batches(trace, dimension, selection):
        names, kinds, first, unusable, *values = zip(*rows, strict=True)
        keys = zip(names, kinds, strict=True)
        found = [groups.setdefault((str(n), str(k)), len(groups)) for n, k in keys]
        numbers.append(np.array(found, np.int64))
        for name, column in zip(_COLUMNS, values, strict=True):
            columns[name].append(_whole(column))
        is_first = np.array([one == 1 for one in first], np.int64)
        is_unusable = np.array([one == 1 for one in unusable], np.int64)
        columns["flags"].append(is_first * FIRST_LAUNCH | is_unusable * UNUSABLE)
    if not numbers:
        return []
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    listed = list(groups)
    labels = _labels(trace, dimension)
    sums = roll_up(np.concatenate(numbers), joined, durations(joined))
    return [
        Line(listed[at][0], labels.get(listed[at][0], listed[at][0]), listed[at][1], rollup)
        for at, rollup in sums
    ]


def _labels(trace: Trace, dimension: str) -> dict[str, str]:
    """What people call the groups of a dimension, by key."""
    sql = "SELECT DISTINCT key, label FROM v_rollup WHERE dimension = :dimension"
    return {str(key): str(label) for key, label in trace.rows(sql, {"dimension": dimension})}


def _batches(trace: Trace, dimension: str, selection: Selection) -> "_Batches":
    conditions = ["kind IS NOT NULL"]
    if selection.kernel is not None:
        conditions.append("kernel GLOB :kernel")
    if selection.from_ns is not None:
        conditions.append("enter_host_ns >= :from_ns")
    if selection.to_ns is not None:
        conditions.append("enter_host_ns < :to_ns")
    origin = trace.meta_int("origin_host_ns")
    if origin is None and (selection.from_ns, selection.to_ns) != (None, None):
        raise UsageError(
            "this trace has no start that times could count from: it was merged of several machines"
        )
    parameters = {
        "kernel": selection.kernel,
        "from_ns": (origin or 0) + (selection.from_ns or 0),
        "to_ns": (origin or 0) + (selection.to_ns or 0),
    }
    sql = (
        f"SELECT {_KEYS[dimension]}, kind, first_launch, {_UNUSABLE_SQL}, {', '.join(_COLUMNS)} "
        f"FROM v_command WHERE {' AND '.join(conditions)}"
    )
    return _Batches(trace.iterate(sql, parameters))


class _Batches:
    """An iterator's items in lists of bounded length."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __iter__(self) -> "_Batches":
        return self

    def __next__(self) -> list[tuple[Any, ...]]:
        batch = [row for row, _ in zip(self._rows, range(_ROWS_AT_ONCE), strict=False)]
        if not batch:
            raise StopIteration
        return batch


def _whole(values: tuple[Any, ...]) -> Int64s:
    """A column of whole numbers; what is none, or is absurd, is absent."""
    absent = int(ABSENT)
    return np.fromiter(
        (value if type(value) is int else absent for value in values), np.int64, len(values)
    )
