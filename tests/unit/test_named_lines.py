"""Lines of sources with `#line` directives: events name what the directives state."""

import json
import re

import numpy as np

from cltrace.kernels import Argument, BufferArgument, parse
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.named_lines import NamedLines
from cltrace.kernels.events.recording_request import KernelLaunch
from cltrace.kernels.events.records import LaunchEvents
from cltrace.kernels.events.tables import event_columns, open_database
from cltrace.report.kernel_events import analyse_events, events_report
from cltrace.report.page.inside_kernel import render_inside_page

SOURCE = """/* #line 3 "comment.cl" */
#line 100 "user.cl"
__kernel void f(__global int *x)
{
    const int i = get_global_id(0);
    if (!(i < 4))
        x[i] = 1;
  # line 50
    x[i] += 2; //@emit int seen = x[i]
# 7 "lib.h"
    if (x[i] > 2) x[i] = 0;
    x[i + 1] = 4;
}
"""
PLAIN = re.sub(r"(?m)^ *#.*$", "", SOURCE)


def record(source: str) -> LaunchEvents:
    arguments: list[Argument] = [BufferArgument(64, np.zeros(16, np.int32))]
    return record_events(KernelLaunch(parse(source), "f", (8,), (8,), arguments))


def test_a_line_is_named_by_the_directive_before_it() -> None:
    lines = NamedLines(SOURCE)
    assert lines.code.split("\n")[1].strip() == lines.code.split("\n")[7].strip() == ""
    assert lines.code.count("\n") == SOURCE.count("\n")
    assert [lines.place("program.cl", line) for line in (1, 3, 7, 9, 11, 12)] == [
        ("program.cl", 1),
        ("user.cl", 100),
        ("user.cl", 104),
        ("user.cl", 50),
        ("lib.h", 7),
        ("lib.h", 8),
    ]
    assert lines.place("other.h", 9) == ("other.h", 9)


def test_events_are_those_of_the_source_and_name_its_lines() -> None:
    named, plain = record(SOURCE), record(PLAIN)
    assert named.streams.texts(named.items.stream, 99) == plain.streams.texts(
        plain.items.stream, 99
    )
    assert named.streams.texts(named.items.stream, 1) == list("00001111")  # as written, with its !
    places = event_columns(named, "decisions")
    assert list(zip(places["file"], places["line"], strict=True)) == [
        ("user.cl", 103),
        ("lib.h", 7),
    ]
    accesses = event_columns(named, "accesses")
    assert {*zip(accesses["file"], accesses["line"], strict=True)} == {
        ("user.cl", 104),
        ("user.cl", 50),
        ("lib.h", 7),
        ("lib.h", 8),
    }
    rows = open_database(named).execute("SELECT DISTINCT file, line FROM accesses WHERE line < 9")
    assert {*rows} == {("lib.h", 7), ("lib.h", 8)}


def test_reports_and_the_page_name_them() -> None:
    analysis = analyse_events(record(SOURCE))
    tables = {table.key: table.rows for table in events_report(analysis, top=None).tables}
    assert {"lib.h:8", "user.cl:50"} <= {row[0] for row in tables["accesses"]}
    assert {row[0] for row in tables["decisions"]} == {"lib.h:7", "user.cl:103"}
    assert any("lib.h:8" in row[:2] for row in tables["races"])
    match = re.search(r'id="report">(.*?)</script>', render_inside_page(analysis))
    assert match is not None
    report = json.loads(match[1])
    assert report["line_names"][8] == ["user.cl", 50]
    assert {site["line"] for site in report["sites"]} == {7, 9, 11, 12}
    assert [node["label"] for node in report["tree"] if node["outcome"] < 0] == [
        "begin",
        "user.cl:103",
        "lib.h:7",
    ]
