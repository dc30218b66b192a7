"""Samples and baselines as documents: of what, when and where, and what each kernel took."""

from collections.abc import Sequence

import numpy as np

from cltrace.regress.baselines import Baseline, devices_of
from cltrace.regress.runs import KernelKey
from cltrace.regress.sample_files import SampleFile, Side
from cltrace.report.comparison import size_text
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.untrusted_text import plain


def baselines_report(found: Sequence[tuple[Baseline, SampleFile]]) -> Document:
    """Every baseline, a row each."""
    columns = (
        Column("name", "name"),
        Column("device", "device", keep=80),
        Column("date", "date"),
        Column("runs", "runs", Unit.COUNT, 90),
        Column("revision", "revision", keep=85),
        Column("machine", "machine", keep=60),
    )
    rows = [
        (
            one.name,
            _devices(samples),
            samples.date,
            sum(len(each.head) for each in samples.rounds),
            _revision(samples.head) or None,
            one.machine,
        )
        for one, samples in found
    ]
    table = Table("baselines", "Baselines", columns, rows, why_empty="there is none here")
    return Document("", [], [table])


def samples_report(name: str, samples: SampleFile) -> Document:
    """What samples are of, and the times of head's kernels over its runs."""
    runs = [run for one in samples.rounds for run in one.head]
    head = samples.head
    facts = [
        Fact("command", "command", plain(" ".join(head.command))),
        Fact("device", "device", _devices(samples)),
        Fact("host", "host", f"{samples.host}, {samples.processor}"),
        Fact("date", "date", f"{samples.date}, by cltrace {samples.cltrace}"),
        Fact("runs", "runs", str(len(runs)), len(runs)),
    ]
    if head.revision:
        facts.append(Fact("revision", "revision", _revision(head)))
    columns = (
        Column("kernel", "kernel"),
        Column("global_size", "global size", keep=60),
        Column("device", "device", keep=40),
        Column("launches", "launches a run", Unit.COUNT, 70),
        Column("median_ns", "median", Unit.NS),
        Column("low_ns", "least", Unit.NS, 80),
        Column("high_ns", "most", Unit.NS, 81),
    )
    keys = dict.fromkeys(key for run in runs for key in run.kernels)
    rows = [_row(key, samples) for key in keys]
    return Document(name, facts, [Table("kernels", "Kernels, a value a run", columns, rows)])


def _row(key: KernelKey, samples: SampleFile) -> tuple[Value, ...]:
    of_runs = [run.kernels[key] for one in samples.rounds for run in one.head if key in run.kernels]
    times = [one.median_ns for one in of_runs]
    launches = int(np.median([one.launches for one in of_runs]))
    size = size_text(key.global_size)
    return key.kernel, size, key.device, launches, float(np.median(times)), min(times), max(times)


def _devices(samples: SampleFile) -> str:
    return ", ".join(f"{one.name} (driver {one.driver})" for one in devices_of(samples))


def _revision(side: Side) -> str:
    changed = " and changes" if side.is_dirty else ""
    return f"{side.revision[:12]}{changed}" if side.revision else ""
