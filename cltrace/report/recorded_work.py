"""What a piece of a program launched, as a table."""

import io

from cltrace.regress.comparison import Comparison
from cltrace.regress.gate import Basis
from cltrace.regress.recorded_work import RecordedWork
from cltrace.regress.work import WorkKey, WorkKind
from cltrace.report.comparison import regression_report, size_text
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.formats.terminal import console_for, renderable
from cltrace.report.quantities import shown


def work_text(found: RecordedWork, width: int = 80) -> str:
    """The kernels, what each launch had to do, and what else was counted."""
    return _text(_document(found), width)


def difference_text(found: Comparison, width: int = 80) -> str:
    """What differs from an earlier run."""
    return _text(regression_report(found, Basis.TRACES), width)


def _text(document: Document, width: int) -> str:
    out = io.StringIO()
    console = console_for(out, width=width, color="never")
    console.print(renderable(document, width=width, is_ascii=True))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).strip("\n")


def _document(found: RecordedWork) -> Document:
    facts = [
        Fact("launches", "launches", str(found.launches)),
        Fact("to_device", "to device", shown(found.bytes_to_device, Unit.BYTES)),
        Fact("builds", "builds", str(found.builds)),
        Fact("failures", "failures", str(found.failures)),
    ]
    columns = [
        Column("kernel", "kernel"),
        Column("global_size", "global size", keep=70),
        Column("launches", "launches", Unit.COUNT),
        Column("median_ns", "median", Unit.NS, 60),
        Column("operations", "operations", Unit.COUNT, 80),
        Column("transactions", "memory transactions", Unit.COUNT, 90),
    ]
    rows = [_row(key, count, found) for key, count in found.by_size.items()]
    table = Table("kernels", "Kernels", columns, rows, why_empty="it launched nothing")
    return Document("", facts, [table])


def _row(key: WorkKey, count: int, found: RecordedWork) -> tuple[Value, ...]:
    times = [
        one.median_ns for at, one in found.sample.kernels.items()
        if (at.kernel, at.global_size) == (key.kernel, key.global_size)
    ]  # fmt: skip
    work = found.counted().get(key)
    amounts = [
        None if work is None else round(work.amounts[kind].total)
        for kind in (WorkKind.OPERATIONS, WorkKind.TRANSACTIONS)
    ]
    median = times[0] if times else None
    return key.kernel, size_text(key.global_size), count, median, *amounts
