"""Samples and baselines as documents: machine, device, date and times of kernels."""

from collections.abc import Sequence

import numpy as np

from cltrace.regress.baselines import Baseline, head_devices
from cltrace.regress.run_records import KernelKey
from cltrace.regress.sample_files import SampleFile
from cltrace.report.benchmark_sides import revision_text
from cltrace.report.comparison import size_text
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.untrusted_text import escape_controls


def baselines_report(baselines: Sequence[tuple[Baseline, SampleFile]]) -> Document:
    """Return every baseline as a row."""
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
            baseline.name,
            _devices(samples),
            samples.date,
            sum(len(round_.head) for round_ in samples.rounds),
            revision_text(samples.head) or None,
            baseline.machine,
        )
        for baseline, samples in baselines
    ]
    table = Table(
        key="baselines",
        title="Baselines",
        columns=columns,
        rows=rows,
        why_empty="no baseline is stored here",
    )
    return Document("", [], [table])


def samples_report(name: str, samples: SampleFile) -> Document:
    """Return the facts of a sample file, and the times of head's kernels over its runs."""
    runs = [run for round_ in samples.rounds for run in round_.head]
    head = samples.head
    facts = [
        Fact("command", "command", escape_controls(" ".join(head.command))),
        Fact("device", "device", _devices(samples)),
        Fact("host", "host", f"{samples.host}, {samples.processor}"),
        Fact("date", "date", f"{samples.date}, by cltrace {samples.cltrace}"),
        Fact("runs", "runs", str(len(runs)), len(runs)),
    ]
    if head.revision:
        facts.append(Fact("revision", "revision", revision_text(head)))
    columns = (
        Column("kernel", "kernel"),
        Column("global_size", "global size", keep=60),
        Column("device", "device", keep=40),
        Column("launches", "launches per run", Unit.COUNT, 70),
        Column("median_ns", "median", Unit.NS),
        Column("low_ns", "min", Unit.NS, 80),
        Column("high_ns", "max", Unit.NS, 81),
    )
    keys = dict.fromkeys(key for run in runs for key in run.kernels)
    rows = [_row(key, samples) for key in keys]
    return Document(
        name,
        facts,
        [Table(key="kernels", title="Kernels, one value per run", columns=columns, rows=rows)],
    )


def _row(key: KernelKey, samples: SampleFile) -> tuple[Value, ...]:
    values = [
        run.kernels[key] for round_ in samples.rounds for run in round_.head if key in run.kernels
    ]
    times = [value.median_ns for value in values]
    launches = int(np.median([value.launches for value in values]))
    size = size_text(key.global_size)
    return key.kernel, size, key.device, launches, float(np.median(times)), min(times), max(times)


def _devices(samples: SampleFile) -> str:
    return ", ".join(f"{device.name} (driver {device.driver})" for device in head_devices(samples))
