"""Contents of a trace file, and what it may reveal."""

import json
from datetime import datetime
from typing import Final

from cltrace.report.document import Column, Document, Fact, Table, Unit
from cltrace.report.header import ended_text, incomplete_text, wall_ns
from cltrace.report.quantities import time_text, value_text
from cltrace.trace.device_labels import device_labels
from cltrace.trace.limits import applicable_limits
from cltrace.trace.reader import Trace
from cltrace.trace.redaction import NAMES
from cltrace.trace.schema import SCHEMA_VERSION
from cltrace.trace.started import started_at

_COUNTED_VIEWS: Final = (
    ("v_process", "processes"),
    ("v_thread", "threads"),
    ("v_device", "devices"),
    ("v_queue", "queues"),
    ("v_program", "programs"),
    ("v_kernel", "kernels"),
    ("v_launch", "launch configurations"),
    ("v_command", "commands"),
    ("v_api_call", "host calls"),
    ("v_buffer", "memory objects"),
    ("v_edge", "wait-list entries"),
    ("v_region", "regions"),
    ("v_content", "captured buffers"),
)

_REVEALED_CONTENTS: Final = (
    ("kernel sources", "SELECT count(source) FROM v_program", "--no-source"),
    ("included files", "SELECT count(text) FROM v_include", "--no-source"),
    ("build options", "SELECT sum(options <> '') FROM v_build", "--no-source"),
    ("build logs", "SELECT count(log) FROM v_build", "--no-source"),
    ("kernel arguments", "SELECT count(*) FROM v_launch_arg", "--no-args"),
    ("buffer contents", "SELECT count(*) FROM v_content", "--capture-buffers 0"),
    ("names of kernels", "SELECT count(DISTINCT name) FROM v_kernel", "nothing"),
)
"""Content that reveals the program: its name, the query that counts it, the flag that leaves it out."""
_REVEALED_NAMES: Final = (
    ("file names and lines", "SELECT count(*) FROM v_site", "--callsite-depth 0"),
    ("names of hosts", "SELECT count(DISTINCT host) FROM v_process", "nothing"),
    ("names of threads", "SELECT count(DISTINCT name) FROM v_thread", "nothing"),
    ("working directories", "SELECT count(working_directory) FROM v_process", "nothing"),
    ("paths of interpreters", "SELECT count(executable) FROM v_process", "nothing"),
    ("names of regions", "SELECT count(DISTINCT name) FROM v_region", "not using them"),
)
"""Names that a redacted copy replaces by its own, as `_REVEALED_CONTENTS`."""


def contents_report(trace: Trace) -> Document:
    """Return facts about a trace file: where it is from, whether it is whole, what is in it."""
    return Document(
        "",
        _facts(trace),
        [
            _counts(trace),
            _processes(trace),
            _devices(trace),
            _uuids(trace),
            _revealed(trace),
            _limits(trace),
            _diagnostics(trace),
        ],
    )


def _facts(trace: Trace) -> list[Fact]:
    meta = trace.meta
    wall = wall_ns(trace)
    facts = [
        Fact("path", "file", str(trace.path)),
        Fact(
            "size_bytes",
            "size",
            value_text(trace.path.stat().st_size, Unit.BYTES),
            trace.path.stat().st_size,
        ),
        Fact(
            "schema",
            "schema",
            f"{SCHEMA_VERSION}, written by cltrace {meta.get('cltrace_version')}",
        ),
        Fact("state", "state", _state(trace)),
        Fact("command", "command", " ".join(trace.command_line) or "–"),
        Fact("host", "host", meta.get("host") or "–"),
        Fact("started", "started", _date_text(started_at(trace))),
        Fact("ended", "ended", ended_text(trace) + (f" after {time_text(wall)}" if wall else "")),
        Fact("timing", "timing", meta.get("timing") or "–"),
    ]
    if meta.get("merged_from"):
        facts.append(Fact("merged_from", "merged from", _join_names(meta["merged_from"])))
    return facts


def _state(trace: Trace) -> str:
    state = trace.meta.get("state") or "not known"
    return incomplete_text(trace) if state == "incomplete" else state


def _counts(trace: Trace) -> Table:
    rows = [
        (name, trace.rows(f"SELECT count(*) FROM {view}")[0][0], view)
        for view, name in _COUNTED_VIEWS
    ]
    return Table(
        key="contents",
        title="Contents",
        columns=(
            Column("what", "what"),
            Column("count", "number", Unit.COUNT),
            Column("view", "view"),
        ),
        rows=[row for row in rows if row[1]],
    )


def _processes(trace: Trace) -> Table:
    rows = trace.rows(
        "SELECT 'process ' || pid, host, CASE WHEN rank IS NULL THEN '' ELSE 'rank ' || rank END, "
        "python_version, pyopencl_version, ended_how FROM v_process ORDER BY process_id"
    )
    return Table(
        key="processes",
        title="Processes",
        columns=(
            Column("process", "process"),
            Column("host", "host", keep=40),
            Column("rank", "rank", keep=60),
            Column("python", "Python", keep=30),
            Column("pyopencl", "pyopencl", keep=35),
            Column("ended", "ended"),
        ),
        rows=rows,
        why_empty="no process used pyopencl",
    )


def _devices(trace: Trace) -> Table:
    labels = device_labels(trace)
    rows = trace.rows(
        "SELECT d.device_id, d.platform, d.bus, d.uuid, d.parent_device_id, d.compute_units, "
        "d.global_memory_bytes, (SELECT count(*) FROM v_queue q WHERE q.device_id = d.device_id) "
        "FROM v_device d ORDER BY d.device_id"
    )
    return Table(
        key="devices",
        title="Devices",
        columns=(
            Column("device_id", "number", Unit.COUNT, 96),
            Column("device", "device"),
            Column("platform", "platform", keep=45),
            Column("bus", "PCI address", keep=90),
            Column("uuid", "UUID", keep=40),
            Column("parent_device_id", "part of", Unit.COUNT, 50),
            Column("compute_units", "units", Unit.COUNT, 70),
            Column("global_memory_bytes", "memory", Unit.BYTES, 75),
            Column("queues", "queues", Unit.COUNT, 80),
        ),
        rows=[(number, labels[int(number)], *facts) for number, *facts in rows],
    )


def _uuids(trace: Trace) -> Table:
    """Return the UUIDs, which have no room beside the other facts about devices."""
    rows = trace.rows("SELECT device_id, uuid FROM v_device WHERE uuid <> '' ORDER BY device_id")
    return Table(
        key="device_uuids",
        title="UUIDs of devices",
        columns=(
            Column("device_id", "number", Unit.COUNT, 100),
            Column("uuid", "UUID"),
        ),
        rows=rows,
    )


def _revealed(trace: Trace) -> Table:
    """Return what a reader learns of the program and the machine, to check before sharing a trace."""

    def count(sql: str) -> int:
        return int(trace.rows(sql)[0][0] or 0)

    has_own_names = count(f"SELECT count(*) FROM v_redaction WHERE what = '{NAMES}'") > 0
    rows = [
        *((what, count(sql), by) for what, sql, by in _REVEALED_CONTENTS),
        ("words of command lines", _count_words(trace), "--no-args"),
        ("environment variables", _count_variables(trace), "--no-env"),
        *((what, 0 if has_own_names else count(sql), by) for what, sql, by in _REVEALED_NAMES),
    ]
    return Table(
        key="reveals",
        title="What it reveals",
        columns=(
            Column("what", "what"),
            Column("count", "number", Unit.COUNT),
            Column("left_out_by", "left out by"),
        ),
        rows=rows,
    )


def _limits(trace: Trace) -> Table:
    return Table(
        key="limits",
        title="Not in this trace (docs/limits.md)",
        columns=(Column("code", "limit"), Column("text", "what", Unit.PROSE, 90)),
        rows=[(limit.code, limit.text) for limit in applicable_limits(trace)],
    )


def _diagnostics(trace: Trace) -> Table:
    rows = trace.rows(
        "SELECT severity, code, message FROM v_diagnostic ORDER BY diagnostic_id LIMIT 100"
    )
    return Table(
        key="diagnostics",
        title="Diagnostics",
        columns=(
            Column("severity", "severity"),
            Column("code", "code"),
            Column("message", "message", Unit.PROSE, 90),
        ),
        rows=rows,
    )


def _count_words(trace: Trace) -> int:
    lines = [
        trace.command_line,
        *(_parse_json(row[0]) for row in trace.rows("SELECT argv FROM v_process")),
    ]
    return sum(len(line) for line in lines)


def _count_variables(trace: Trace) -> int:
    return sum(len(_parse_json(row[0])) for row in trace.rows("SELECT environment FROM v_process"))


def _parse_json(text: object) -> list[object] | dict[str, object]:
    try:
        value = json.loads(text) if isinstance(text, str) else []
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, (list, dict)) else []


def _join_names(text: str | None) -> str:
    return ", ".join(str(name) for name in _parse_json(text))


def _date_text(moment: datetime | None) -> str:
    if moment is None:
        return "–"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03} UTC"
