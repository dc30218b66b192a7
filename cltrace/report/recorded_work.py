"""Launches of a recorded stretch of a program, as a table."""

import io

from cltrace.regress.comparison import Comparison
from cltrace.regress.gate import Basis
from cltrace.regress.recorded_work import RecordedWork
from cltrace.regress.work import SizedKernel, WorkKind
from cltrace.report.comparison import regression_report, size_text
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.formats.terminal import console_for, renderable
from cltrace.report.quantities import value_text


def work_text(work: RecordedWork, width: int = 80) -> str:
    """Return the kernels, the work of each launch, and the other counters."""
    return _text(_document(work), width)


def difference_text(comparison: Comparison, width: int = 80) -> str:
    """Return the differences from an earlier run."""
    return _text(regression_report(comparison, Basis.SINGLE_TRACES), width)


def _text(document: Document, width: int) -> str:
    out = io.StringIO()
    console = console_for(out, width=width, color="never")
    console.print(renderable(document, width=width, is_ascii=True))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).strip("\n")


def _document(work: RecordedWork) -> Document:
    facts = [
        Fact("launches", "launches", str(work.launches)),
        Fact("to_device", "to device", value_text(work.bytes_to_device, Unit.BYTES)),
        Fact("builds", "builds", str(work.builds)),
        Fact("failures", "failures", str(work.failures)),
    ]
    columns = [
        Column("kernel", "kernel"),
        Column("global_size", "global size", keep=70),
        Column("launches", "launches", Unit.COUNT),
        Column("median_ns", "median", Unit.NS, 60),
        Column("operations", "operations", Unit.COUNT, 80),
        Column("transactions", "memory transactions", Unit.COUNT, 90),
    ]
    rows = [_row(key, count, work) for key, count in work.by_size.items()]
    table = Table(
        key="kernels", title="Kernels", columns=columns, rows=rows, why_empty="it launched nothing"
    )
    return Document("", facts, [table])


def _row(key: SizedKernel, count: int, recorded: RecordedWork) -> tuple[Value, ...]:
    times = [
        launches.median_ns
        for other, launches in recorded.sample.kernels.items()
        if (other.kernel, other.global_size) == (key.kernel, key.global_size)
    ]
    work = recorded.counted().get(key)
    amounts = [
        None if work is None else round(work.amounts[kind].total)
        for kind in (WorkKind.OPERATIONS, WorkKind.TRANSACTIONS)
    ]
    median = times[0] if times else None
    return key.kernel, size_text(key.global_size), count, median, *amounts
