"""A trace from a stranger: whatever is in it, reading it harms nobody and ends in time."""

import contextlib
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import cltrace
from cltrace.commands import VERBS
from cltrace.errors import CltraceError, DamagedTraceError, QueryError
from cltrace.report.contents import contents_report
from cltrace.report.document import Document
from cltrace.report.formats.terminal import console_for, renderable
from cltrace.report.formats.text import FORMATS
from cltrace.report.page.trace_page import PageOptions, render_page
from cltrace.report.selection import Selection
from cltrace.report.summary import SummaryOptions, summary
from cltrace.report.timeline import TimelineOptions, timeline
from cltrace.timeline.analysis import Analysis
from cltrace.trace.query import query
from cltrace.trace.schema import SCHEMA_VERSION, tables_of
from cltrace.trace.views import VIEWS
from tests.conftest import Finished, MakeTrace, Runner
from tests.hostile import (
    BAD_VALUES,
    ENDLESS,
    FOREIGN_SCHEMAS,
    changed,
    hostile_text,
    one_value,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "schema-1.cltrace"

HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")

READING = {
    "summary": [
        ["summary"],
        ["summary", "--by", "callsite"],
        ["summary", "--by", "stack"],
        ["summary", "--by", "thread", "--sort", "name"],
        ["summary", "--by", "process", "--top", "0"],
        ["summary", "--failed"],
        ["summary", "--kernel", "*", "--from", "0", "--to", "99"],
    ],
    "timeline": [
        ["timeline"],
        ["timeline", "--top", "0"],
        ["timeline", "--kernel", "*", "--from", "0", "--to", "99"],
    ],
    "kernel": [["kernel", "{}"], ["kernel", "{}", "--kernel", "*", "--format", "json"]],
    "compare": [["compare", "{}", "{copy}"], ["compare", "-f", "--html", "x.html", "{}", "{copy}"]],
    "check": [["check", "{}", "{copy}"], ["check", "{}", "{copy}", "--all", "--format", "md"]],
    "predict": [["predict", "{}", "--profile", "=nvidia-h200"]],
    "accuracy": [["accuracy", "--trace", "{}", "--profile", "=nvidia-h200"]],
    "view": [["view", "-f", "-o", "x.html"]],
    "export": [
        ["export", "-f", "--to", "perfetto", "-o", "x.pftrace"],
        ["export", "-f", "--to", "chrome", "-o", "x.json.gz"],
        ["export", "-f", "--to", "speedscope", "-o", "x.speedscope.json"],
        ["export", "-f", "--to", "csv", "-o", "x.csv"],
        ["export", "-f", "--to", "parquet", "-o", "x.parquet"],
    ],
    "info": [["info"]],
    "query": [["query", "{}", f"SELECT * FROM {view.name}"] for view in VIEWS],
    "merge": [["merge", "-f", "-o", "merged.cltrace", "{}", "{copy}"]],
    "recover": [["recover"]],
    "power": [["power", "import", "{}", "--reader", "sim", "-f", "-o", "with-power.cltrace"]],
}
"""How each verb that reads traces is tried; a verb that reads none is in `READ_NOTHING`."""

READ_NOTHING = {
    *("score", "baseline", "bench", "calibrate", "profile", "domain"),
    *("run", "demo", "doctor", "completion", "help"),
}


def test_every_verb_is_tried_or_reads_nothing() -> None:
    assert set(READING) | READ_NOTHING == set(VERBS)


def words_of(words: list[str], path: Path) -> list[str]:
    if "{}" in words:
        copy = path.with_name(f"copy-{path.name}")
        shutil.copy(path, copy)
        return [{"{}": str(path), "{copy}": str(copy)}.get(word, word) for word in words]
    return [words[0], str(path), *words[1:]]


def check(done: Finished) -> None:
    """What must hold of a reading verb, whatever it read."""
    assert done.status in {0, 2}, done.stderr
    assert "Traceback" not in done.stderr
    assert not HARMFUL.search(done.stdout + done.stderr)
    if done.status:
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("cltrace: ")


@pytest.mark.parametrize("verb", READING)
@pytest.mark.parametrize("form", ["table", "csv", "json", "md"])
def test_hostile_text_goes_through_every_verb_and_format(
    verb: str, form: str, make_trace: MakeTrace, run: Runner
) -> None:
    path = make_trace("hostile.cltrace", text=hostile_text)
    for words in READING[verb]:
        chosen = words_of(words, path)
        if verb in {"summary", "timeline", "info", "query"}:
            chosen += ["--format", form]
        done = run(*chosen, env={"COLUMNS": "80"})
        check(done)
        if verb != "recover":
            assert done.status == 0, done.stderr
        if verb in {"summary", "timeline", "info", "query"}:
            check_form(done.stdout, form)


def check_form(text: str, form: str) -> None:
    """What must hold of a format, whatever is in it."""
    match form:
        case "json":
            json.loads(text)
        case "csv":
            cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
            assert not [cell for cell in cells if cell.startswith(("=", "@"))]
        case "md":
            assert not re.search(r"(?<!\\)<", text)
        case _:
            assert max(map(len, text.splitlines())) <= 80


def test_hostile_text_in_ascii_and_in_colour(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace("hostile.cltrace", text=hostile_text)
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    for words in (["summary", path], ["info", path], ["query", path, "SELECT * FROM v_site"]):
        done = run(*words, env=plain)
        check(done)
        assert done.stdout.isascii()
        colored = run("--color", "always", *words)
        without = re.sub(r"\x1b\[[0-9;]*m", "", colored.stdout)
        assert not HARMFUL.search(without)


@pytest.mark.parametrize("what", FOREIGN_SCHEMAS)
def test_a_file_with_a_foreign_schema_is_refused(
    what: str, make_trace: MakeTrace, run: Runner
) -> None:
    path = changed(make_trace(), FOREIGN_SCHEMAS[what])
    with pytest.raises(DamagedTraceError):
        cltrace.load(path)
    for verb in ("summary", "info", "merge"):
        done = run(*words_of(READING[verb][0], path))
        check(done)
        assert done.status == 2


@pytest.mark.parametrize("what", BAD_VALUES)
def test_a_file_with_bad_values_is_read_or_refused(
    what: str, make_trace: MakeTrace, run: Runner
) -> None:
    path = changed(make_trace(), BAD_VALUES[what])
    for verb in ("summary", "info", "merge"):
        for words in READING[verb]:
            check(run(*words_of(words, path)))
    try:
        with cltrace.load(path) as trace:
            for view in VIEWS:
                trace[view.name]
    except CltraceError:
        pass
    for name in ("csv", "json", "md"):
        check(run("summary", path, "--format", name))


VERSIONS = [(version, table) for version in (3, SCHEMA_VERSION) for table in tables_of(version)]
ALL_COLUMNS = [(at, table.name, name) for at, table in VERSIONS for name in table.column_names]

SUMMARIES = (
    SummaryOptions(), SummaryOptions(by="callsite"), SummaryOptions(by="queue"),
    SummaryOptions(only_failures=True), SummaryOptions(selection=Selection(kernel="*", from_ns=0)),
)  # fmt: skip
HOSTILE_VALUES = [None, "text", "\x1b[2J", 1e308, float("inf"), -(2**63), 2**63 - 1, b"\xff"]


@example((3, "command", "end_device_ns"), 2**63 - 1)
@example((3, "launch_arg", "launch_id"), None)
@example((4, "launch_block", "launch_id"), None)
@given(st.sampled_from(ALL_COLUMNS), st.sampled_from(HOSTILE_VALUES))
@settings(max_examples=int(os.environ.get("CLTRACE_FUZZ", "40")), deadline=None)
def test_any_value_anywhere_is_shown_or_refused(place: tuple[int, str, str], value: object) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "t.cltrace"
        shutil.copy(GOLDEN.with_name(f"schema-{place[0]}.cltrace"), path)
        changed(path, one_value(*place[1:], value))
        with contextlib.suppress(CltraceError), cltrace.load(path) as trace:
            for how in SUMMARIES:
                with contextlib.suppress(CltraceError):
                    check_document(summary(trace, how))
            with contextlib.suppress(CltraceError):
                check_document(contents_report(trace))
            with contextlib.suppress(CltraceError):
                check_document(timeline(Analysis(trace), TimelineOptions()))
            assert not HARMFUL.search(render_page(trace, PageOptions()).replace("\t", ""))


def check_document(document: Document) -> None:
    """A document of a hostile trace can be shown in every format."""
    for form in FORMATS.values():
        form(document)
    console = console_for(io.StringIO(), width=80)
    console.print(renderable(document, width=80, is_ascii=False))
    assert not HARMFUL.search(console.file.getvalue())  # type: ignore[attr-defined]


def test_a_write_ahead_log_is_not_made_for_a_stranger(
    make_trace: MakeTrace, run: Runner, tmp_path: Path
) -> None:
    path = make_trace()
    raw = bytearray(path.read_bytes())
    raw[18:20] = b"\x02\x02"
    path.write_bytes(bytes(raw))
    for words in (["summary", path], ["info", path], ["query", path, "SELECT 1"]):
        done = run(*words)
        check(done)
        assert done.status == 2
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH DATABASE 'stolen.db' AS s",
        "VACUUM INTO 'copy.db'",
        "PRAGMA writable_schema = ON",
        "PRAGMA table_info(command)",
        "DELETE FROM command",
        "UPDATE meta SET value = 1",
        "DROP VIEW v_command",
        "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)",
        "SELECT load_extension('evil')",
        "SELECT writefile('evil', 'x')",
        "SELECT readfile('/etc/passwd')",
        "SELECT sql FROM sqlite_schema",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM pragma_database_list",
        "SELECT * FROM dbstat",
        "SELECT randomblob(1000000000)",
        "SELECT zeroblob(1000000000)",
        "SELECT 1; SELECT 2",
        "BEGIN; SELECT 1",
        "SELECT nosuch FROM v_command",
        "nonsense",
        "",
        "SELECT '\x00",
        "WITH x AS (SELECT 1) INSERT INTO meta SELECT 1, 2",
        "REINDEX",
        "ANALYZE",
    ],
)
def test_a_query_can_only_read(sql: str, make_trace: MakeTrace, tmp_path: Path) -> None:
    path = make_trace()
    before, around = path.read_bytes(), set(tmp_path.iterdir())
    with pytest.raises(QueryError) as caught:
        query(path, sql, max_rows=10, max_seconds=5)
    assert len(str(caught.value).splitlines()) == 1
    assert path.read_bytes() == before
    assert set(tmp_path.iterdir()) == around


def test_an_endless_query_ends_in_time(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    with pytest.raises(QueryError, match="longer than"):
        query(path, f"SELECT count(*) FROM ({ENDLESS})", max_rows=5, max_seconds=0.3)
    cut = query(path, ENDLESS, max_rows=5, max_seconds=5)
    assert cut.is_cut
    assert [row[0] for row in cut.rows] == [1, 2, 3, 4, 5]
    done = run("query", path, f"SELECT max(command_id) FROM ({ENDLESS})", "--timeout", "0.3")
    check(done)
    assert done.status == 2


def test_a_large_result_is_refused(make_trace: MakeTrace) -> None:
    path = make_trace()
    for sql in ("SELECT printf('%.*c', 9000000, 'x') FROM v_command",
                "SELECT hex(hex(hex(hex(printf('%.*c', 9000000, 'x')))))"):  # fmt: skip
        with pytest.raises(QueryError):
            query(path, sql, max_rows=1000, max_seconds=20)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM v_command",
        "SELECT kind FROM v_command",
        "SELECT upper(kernel), 1.5, NULL, x'00' FROM v_command LIMIT 2",
    ],
)
def test_a_query_that_reads_is_answered(sql: str, make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    assert query(path, sql, max_rows=100, max_seconds=5).rows
    for form in ("table", "csv", "json", "md"):
        assert run("query", path, sql, "--format", form).status == 0
    assert run("query", path, "-", stdin=sql).status == 0


@pytest.mark.parametrize(
    ("name", "contents"),
    [
        ("empty", b""),
        ("garbage", bytes(range(256)) * 40),
        ("text", b"SQLite format 3\x00 but then nothing"),
        ("zeros", bytes(100_000)),
    ],
)
def test_what_is_no_trace_is_said_in_one_line(
    name: str, contents: bytes, run: Runner, tmp_path: Path
) -> None:
    path = tmp_path / f"{name}.cltrace"
    path.write_bytes(contents)
    for words in (["summary", path], ["info", path], ["query", path, "SELECT 1"],
                  words_of(["merge", "-o", "m.cltrace", "{}", "{copy}"], path)):  # fmt: skip
        done = run(*words)
        check(done)
        assert done.status == 2
        assert path.name in done.stderr
    assert path.read_bytes() == contents
    assert not (tmp_path / "m.cltrace").exists()


def test_a_file_cut_short_is_said_in_one_line_or_read(
    make_trace: MakeTrace, run: Runner, tmp_path: Path
) -> None:
    whole = make_trace().read_bytes()
    for part in (1, 50, 99, 100, 4096, len(whole) // 2, len(whole) - 4096, len(whole) - 1):
        path = tmp_path / f"cut{part}.cltrace"
        path.write_bytes(whole[:part])
        for verb in ("summary", "info", "merge"):
            check(run(*words_of(READING[verb][0], path)))


def test_another_sqlite_file_is_no_trace(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "other.cltrace"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE command (id)")
    database.close()
    done = run("summary", path)
    check(done)
    assert "not a cltrace trace" in done.stderr


def test_what_is_not_there_or_not_readable_is_said(
    make_trace: MakeTrace, run: Runner, tmp_path: Path
) -> None:
    for words in (["summary"], ["summary", "nosuch.cltrace"], ["summary", tmp_path], ["recover", "x"],
                  ["summary", "/proc/self/mem"], ["merge", "-o", "/nosuch/x", make_trace()]):  # fmt: skip
        done = run(*words, cwd=Path("/proc"))
        check(done)
        assert done.status == 2


def test_names_with_special_characters_are_names(make_trace: MakeTrace, run: Runner) -> None:
    path = make_trace()
    for name in ("a?mode=rwc.cltrace", "b#c.cltrace", "d%20e.cltrace", "-f.cltrace", "ü ö.cltrace"):
        other = path.with_name(name)
        shutil.copy(path, other)
        assert run("summary", f"./{name}").status == 0
        assert sorted(one.name for one in path.parent.iterdir() if "made" not in one.name)
