"""Runs of several programs, machines or revisions side by side: times, counters, work, energy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cltrace.regress.counters import select_steady
from cltrace.regress.run_records import RunSample
from cltrace.regress.work import RunWork, SizedKernel, WorkKind, combine_work
from cltrace.report.comparison import not_counted_note, size_text
from cltrace.report.document import Column, Document, Table, Unit, Value
from cltrace.report.quantities import count_text, round_significant
from cltrace.report.side_labels import legend, side_letters
from cltrace.report.untrusted_text import escape_controls


@dataclass(frozen=True, slots=True)
class NamedRuns:
    """Runs of one program, machine or revision, with a name for it."""

    name: str
    runs: tuple[RunSample, ...]

    @property
    def work(self) -> RunWork | None:
        """The work of its kernels."""
        return combine_work([run.work for run in self.runs if run.work is not None])


def side_by_side_report(sides: Sequence[NamedRuns]) -> Document:
    """Return all sides, compared with the first one. It judges nothing."""
    labels = side_letters(len(sides))
    facts = legend([f"{escape_controls(side.name)}: {_describe(side)}" for side in sides])
    tables = [
        _times(labels, sides),
        _work(labels, sides),
        _counters(labels, sides),
        _energy(labels, sides),
    ]
    notes = []
    uncounted = [label for label, side in zip(labels, sides, strict=True) if side.work is None]
    if uncounted:
        notes.append(not_counted_note(uncounted))
    if any(len(side.runs) == 1 for side in sides):
        notes.append("note: times of a single run decide nothing; `cltrace bench` makes more")
    return Document("side by side", facts, tables, notes)


def _describe(side: NamedRuns) -> str:
    devices = dict.fromkeys(device for run in side.runs for device in run.devices)
    names = ", ".join(f"{device.name} (driver {device.driver})" for device in devices)
    return escape_controls(f"{count_text(len(side.runs), 'run', 'runs')} on {names or 'no device'}")


def _columns(
    labels: Sequence[str], unit: Unit, *first: Column, has_ratios: bool
) -> tuple[Column, ...]:
    """Return the first columns, one of values per side, and one of ratios to the first side."""
    values = [
        Column(f"value_{number}", label, unit, 90 - number)
        for number, label in enumerate(labels, 1)
    ]
    by_first = [
        Column(f"ratio_{number}", f"{label}/{labels[0]}", Unit.PLAIN, 80 - number)
        for number, label in enumerate(labels[1:], 2)
    ]
    return (*first, *values, *(by_first if has_ratios else ()))


def _with_ratios(values: Sequence[float | None]) -> tuple[Value, ...]:
    first, *others = values
    ratios = [
        None if first is None or other is None or not first else round_significant(other / first)
        for other in others
    ]
    return (*values, *ratios)


def _times(labels: Sequence[str], sides: Sequence[NamedRuns]) -> Table:
    medians_ns = [_median_ns(side) for side in sides]
    rows = [
        (
            key.kernel,
            size_text(key.global_size),
            *_with_ratios([median_ns.get(key) for median_ns in medians_ns]),
        )
        for key in _in_order(medians_ns)
    ]
    columns = _columns(
        labels,
        Unit.NS,
        Column("kernel", "kernel"),
        Column("global_size", "global size", keep=40),
        has_ratios=True,
    )
    return Table(
        key="kernels",
        title="Kernels: the median launch of the median run",
        columns=columns,
        rows=rows,
        why_empty="no kernel was timed",
        lists_hidden=True,
    )


def _median_ns(side: NamedRuns) -> Mapping[SizedKernel, float]:
    """Return median times by kernel and size, on any device."""
    times: dict[SizedKernel, list[float]] = {}
    for run in side.runs:
        for key, time in run.kernels.items():
            times.setdefault(SizedKernel(key.kernel, key.global_size), []).append(time.median_ns)
    return {key: float(np.median(values)) for key, values in times.items()}


def _in_order(sides: Sequence[Mapping[SizedKernel, float]]) -> Iterator[SizedKernel]:
    """Yield the keys of all sides, the longest first."""
    longest: dict[SizedKernel, float] = {}
    for side in sides:
        for key, value in side.items():
            longest[key] = max(longest.get(key, 0.0), value)
    yield from sorted(longest, key=lambda key: (-longest[key], key))


def _work(labels: Sequence[str], sides: Sequence[NamedRuns]) -> Table:
    works = [side.work for side in sides]
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
        key="work",
        title="Work per launch, counted from the source",
        columns=columns,
        rows=rows,
        lists_hidden=True,
    )


def _per_launch(work: RunWork | None, key: SizedKernel, kind: WorkKind) -> float | None:
    if work is None or key not in work.kernels:
        return None
    kernel_work = work.kernels[key]
    return kernel_work.amounts[kind].total / max(kernel_work.launches, 1)


def _counters(labels: Sequence[str], sides: Sequence[NamedRuns]) -> Table:
    counters = [select_steady([run.counters for run in side.runs]) for side in sides]
    keys = sorted({key for side_counters in counters for key in side_counters})
    rows = [
        (
            str(key.kind),
            key.subject_text or None,
            *(side_counters.get(key, 0) for side_counters in counters),
        )
        for key in keys
    ]
    first = (Column("kind", "what"), Column("subject", "of"))
    columns = _columns(labels, Unit.COUNT, *first, has_ratios=False)
    return Table(
        key="counters",
        title="Counters that are the same in all runs",
        columns=columns,
        rows=rows,
        lists_hidden=True,
    )


def _energy(labels: Sequence[str], sides: Sequence[NamedRuns]) -> Table:
    medians_j = [_median_j(side) for side in sides]
    rows = [
        (
            key.kernel or "the whole run",
            size_text(key.global_size),
            *_with_ratios([median_j.get(key) for median_j in medians_j]),
        )
        for key in _in_order(medians_j)
    ]
    first = (Column("of", "of"), Column("global_size", "global size", keep=40))
    columns = _columns(labels, Unit.JOULES, *first, has_ratios=True)
    return Table(
        key="energy",
        title="Energy per launch, and of the whole run",
        columns=columns,
        rows=rows,
        lists_hidden=True,
    )


def _median_j(side: NamedRuns) -> Mapping[SizedKernel, float]:
    values: dict[SizedKernel, list[float]] = {}
    for run in side.runs:
        for key, joules in run.energy_j.items():
            values.setdefault(key, []).append(joules)
    return {key: float(np.median(samples)) for key, samples in values.items()}
