"""Runs of several programs, machines or revisions side by side: times, counters, work, energy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cltrace.regress.counters import steady
from cltrace.regress.runs import RunSample
from cltrace.regress.work import RunWork, WorkKey, WorkKind, steady_work
from cltrace.report.comparison import not_counted_note, size_text
from cltrace.report.document import Column, Document, Table, Unit, Value
from cltrace.report.quantities import counted, significant
from cltrace.report.side_labels import legend, letters
from cltrace.report.untrusted_text import plain


@dataclass(frozen=True, slots=True)
class Compared:
    """Runs of one thing, with a name for it."""

    name: str
    runs: tuple[RunSample, ...]

    @property
    def work(self) -> RunWork | None:
        """What its kernels had to do."""
        return steady_work([run.work for run in self.runs if run.work is not None])


def side_by_side_report(found: Sequence[Compared]) -> Document:
    """All of them, the first as what the others are compared with. It judges nothing."""
    labels = letters(len(found))
    facts = legend([f"{plain(one.name)}: {_what(one)}" for one in found])
    tables = [
        _times(labels, found),
        _work(labels, found),
        _counters(labels, found),
        _energy(labels, found),
    ]
    notes = []
    uncounted = [label for label, one in zip(labels, found, strict=True) if one.work is None]
    if uncounted:
        notes.append(not_counted_note(uncounted))
    if any(len(one.runs) == 1 for one in found):
        notes.append("note: times of a single run decide nothing; `cltrace bench` makes more")
    return Document("side by side", facts, tables, notes)


def _what(one: Compared) -> str:
    devices = dict.fromkeys(device for run in one.runs for device in run.devices)
    names = ", ".join(f"{device.name} (driver {device.driver})" for device in devices)
    return plain(f"{counted(len(one.runs), 'run', 'runs')} on {names or 'no device'}")


def _columns(
    labels: Sequence[str], unit: Unit, *first: Column, has_ratios: bool
) -> tuple[Column, ...]:
    """The first ones, a value of each, and how each but the first is by the first."""
    values = [Column(f"value_{at}", label, unit, 90 - at) for at, label in enumerate(labels, 1)]
    by_first = [
        Column(
            f"ratio_{at}",
            f"{label}/{labels[0]}",
            Unit.PLAIN,
            80 - at,
        )
        for at, label in enumerate(labels[1:], 2)
    ]
    return (*first, *values, *(by_first if has_ratios else ()))


def _with_ratios(values: Sequence[float | None]) -> tuple[Value, ...]:
    first, *others = values
    ratios = [
        None if first is None or one is None or not first else significant(one / first)
        for one in others
    ]
    return (*values, *ratios)


def _times(labels: Sequence[str], found: Sequence[Compared]) -> Table:
    sides = [_median_ns(one) for one in found]
    rows = [
        (key.kernel, size_text(key.global_size), *_with_ratios([side.get(key) for side in sides]))
        for key in _in_order(sides)
    ]
    columns = _columns(
        labels,
        Unit.NS,
        Column("kernel", "kernel"),
        Column("global_size", "global size", keep=40),
        has_ratios=True,
    )
    return Table(
        "kernels", "Kernels: the median launch of the median run", columns, rows,
        why_empty="no kernel was timed", says_hidden=True,
    )  # fmt: skip


def _median_ns(one: Compared) -> Mapping[WorkKey, float]:
    """Times by kernel and size, whatever the device."""
    times: dict[WorkKey, list[float]] = {}
    for run in one.runs:
        for key, time in run.kernels.items():
            times.setdefault(WorkKey(key.kernel, key.global_size), []).append(time.median_ns)
    return {key: float(np.median(values)) for key, values in times.items()}


def _in_order(sides: Sequence[Mapping[WorkKey, float]]) -> Iterator[WorkKey]:
    """Keys of any, the longest first."""
    longest: dict[WorkKey, float] = {}
    for side in sides:
        for key, value in side.items():
            longest[key] = max(longest.get(key, 0.0), value)
    yield from sorted(longest, key=lambda key: (-longest[key], key))


def _work(labels: Sequence[str], found: Sequence[Compared]) -> Table:
    works = [one.work for one in found]
    keys = sorted({key for work in works if work is not None for key in work.kernels})
    rows = []
    for key in keys:
        for kind in WorkKind:
            values = [_per_launch(work, key, kind) for work in works]
            if any(values):
                rows.append(
                    (key.kernel, size_text(key.global_size), str(kind), *_with_ratios(values))
                )
    first = (
        Column("kernel", "kernel"),
        Column("global_size", "global size", keep=40),
        Column("kind", "what", Unit.PROSE, 95),
    )
    columns = _columns(labels, Unit.COUNT, *first, has_ratios=True)
    return Table(
        "work", "What a launch has to do, counted from its source", columns, rows, says_hidden=True
    )


def _per_launch(work: RunWork | None, key: WorkKey, kind: WorkKind) -> float | None:
    if work is None or key not in work.kernels:
        return None
    one = work.kernels[key]
    return one.amounts[kind].total / max(one.launches, 1)


def _counters(labels: Sequence[str], found: Sequence[Compared]) -> Table:
    sides = [steady([run.counters for run in one.runs]) for one in found]
    keys = sorted({key for side in sides for key in side})
    rows = [
        (str(key.kind), key.subject or None, *(side.get(key, 0) for side in sides)) for key in keys
    ]
    first = (Column("kind", "what"), Column("subject", "of"))
    columns = _columns(labels, Unit.COUNT, *first, has_ratios=False)
    return Table(
        "counters", "Counters that are the same in all runs", columns, rows, says_hidden=True
    )


def _energy(labels: Sequence[str], found: Sequence[Compared]) -> Table:
    sides = [_median_j(one) for one in found]
    rows = [
        (
            key.kernel or "the whole run",
            size_text(key.global_size),
            *_with_ratios([side.get(key) for side in sides]),
        )
        for key in _in_order(sides)
    ]
    first = (Column("of", "of"), Column("global_size", "global size", keep=40))
    columns = _columns(labels, Unit.JOULES, *first, has_ratios=True)
    return Table(
        "energy", "Energy, of a launch and of the whole run", columns, rows, says_hidden=True
    )


def _median_j(one: Compared) -> Mapping[WorkKey, float]:
    values: dict[WorkKey, list[float]] = {}
    for run in one.runs:
        for key, joules in run.energy_j.items():
            values.setdefault(key, []).append(joules)
    return {key: float(np.median(mine)) for key, mine in values.items()}
