"""Head of a report: the traced command, its end, its devices, and the cost of tracing."""

import contextlib
import json
import signal
from collections.abc import Sequence

from cltrace.events import NS_PER_MS
from cltrace.report.activity import read_rollup_rows
from cltrace.report.clocks import MAX_LISTED_DEVICES, clock_facts
from cltrace.report.document import Fact, Unit
from cltrace.report.quantities import count_text, time_text, value_text
from cltrace.trace.command_groups import WHOLE_DEVICE
from cltrace.trace.reader import Trace


def facts(trace: Trace) -> list[Fact]:
    """Return the facts at the head of a summary."""
    lines = [
        *_merged(trace),
        Fact("command", "command", _command(trace)),
        Fact("ended", "ended", _ended(trace)),
        *_devices(trace),
        *_times(trace),
        *clock_facts(trace),
        _cost(trace),
    ]
    if trace.meta.get("state") != "complete":
        lines.append(Fact("state", "trace", f"{incomplete_text(trace)}: see the notes below"))
    return lines


def incomplete_text(trace: Trace) -> str:
    """Return how incomplete a trace is, in words."""
    if trace.meta.get("commands_missing", "") is None:
        return "incomplete, an unknown number of commands may be missing"
    missing = trace.meta_int("commands_missing") or 0
    if missing <= 0:
        return "incomplete"
    return f"incomplete, {count_text(missing, 'command is', 'commands are')} missing"


def home(trace: Trace) -> str:
    """Return the directory that the first process ran in."""
    rows = trace.rows("SELECT working_directory FROM v_process ORDER BY process_id LIMIT 1")
    return str(rows[0][0] or "") if rows else ""


def wall_ns(trace: Trace) -> int | None:
    """Return how long the command ran as its parent saw it, or else as its processes recorded it."""
    origin, ended = trace.meta_int("origin_host_ns"), trace.meta_int("ended_host_ns")
    if origin is not None and ended is None:
        ended = trace.rows("SELECT max(ended_host_ns) FROM v_process")[0][0]
    if origin is None or not isinstance(ended, int):
        return None
    return ended - origin


def ended_text(trace: Trace) -> str:
    """Return how the command ended, in words."""
    signal_number, status = trace.meta_int("signal"), trace.meta_int("exit_status")
    if signal_number is not None:
        return f"killed by signal {signal_number}{_signal_name(signal_number)}"
    if status is not None:
        return f"exited {status}"
    if trace.meta_int("ended_host_ns") is not None:
        return "stopped by the program"
    if trace.rows("SELECT 1 FROM v_process WHERE ended_how = 'running' LIMIT 1"):
        return "still running when this was read"
    return "not known: its recording did not end"


def _merged(trace: Trace) -> list[Fact]:
    """Return the parts of a merged trace; the other facts are of the first part or over all."""
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        paths = json.loads(trace.meta.get("merged_from") or "[]")
        if paths and isinstance(paths, list):
            names = ", ".join(map(str, paths))
            return [Fact("merged_from", "merged", f"{len(paths)} traces: {names}")]
    return []


def _signal_name(number: int) -> str:
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""


def _command(trace: Trace) -> str:
    return " ".join(trace.command_line) or "a program that traced itself"


def _ended(trace: Trace) -> str:
    wall = wall_ns(trace)
    return ended_text(trace) + (f" after {time_text(wall)}" if wall is not None else "")


def _devices(trace: Trace) -> list[Fact]:
    rows = trace.rows(
        "SELECT name, platform, driver_version, device_id, process_id, "
        "EXISTS (SELECT 1 FROM v_queue q WHERE q.device_id = d.device_id) FROM v_device d "
        "ORDER BY device_id"
    )
    used = [row for row in rows if row[-1]] or rows
    models: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for *model, device, process, _ in used:
        models.setdefault(tuple(map(str, model)), []).append((device, process))
    facts = []
    for (name, platform, driver), devices in models.items():
        words = [name, platform, f"driver {driver}"]
        processes = len({process for _, process in devices})
        if len(devices) > processes:
            words.append(f"{len(devices)} devices")
        if processes > 1:
            words.append(f"in {processes} processes")
        facts.append(Fact("device", "device", ", ".join(words)))
    return facts or [Fact("device", "device", "none: no OpenCL device was used")]


def _times(trace: Trace) -> list[Fact]:
    wall = wall_ns(trace)
    facts = [] if wall is None else [Fact("wall_ns", "wall", time_text(wall), wall)]
    busy = [
        (group.label, float(group.rollup.busy_ns))
        for group in read_rollup_rows(trace, WHOLE_DEVICE)
        if group.rollup.busy_ns is not None
    ]
    if len(busy) > MAX_LISTED_DEVICES:
        return [*facts, _busy_range(busy, wall)]
    for label, busy_ns in busy:
        name = f"{label}: " if len(busy) > 1 else ""
        facts.append(Fact("busy_ns", "device busy", f"{name}{_busy_text(busy_ns, wall)}", busy_ns))
    return facts


def _busy_range(busy: Sequence[tuple[str, float]], wall_ns: int | None) -> Fact:
    """Return the busy times of many devices as a line: their mean, the least and the most busy one."""
    mean_ns = sum(busy_ns for _, busy_ns in busy) / len(busy)
    ordered = sorted(busy, key=lambda row: row[1])
    ends = " to ".join(
        f"{time_text(busy_ns)} ({label})" for label, busy_ns in (ordered[0], ordered[-1])
    )
    text = f"{_busy_text(mean_ns, wall_ns)}, mean of {len(busy)} devices, from {ends}"
    return Fact("busy_ns", "device busy", text, mean_ns)


def _busy_text(busy_ns: float, wall_ns: int | None) -> str:
    share = f" ({value_text(busy_ns / wall_ns, Unit.SHARE)} of wall)" if wall_ns else ""
    return time_text(busy_ns) + share


def _cost(trace: Trace) -> Fact:
    """Return the cost of tracing, measured in the run except for the driver's own share."""
    (calls, hook_ns, reader_ns, waits, wait_ns), *_ = trace.rows(
        "SELECT sum(hook_calls), total(hook_ns), total(reader_cpu_ns), sum(event_waits), "
        "total(event_wait_ns) FROM v_process"
    )
    if calls is None:
        return Fact("cost", "tracing cost", "not known: no process reported it")
    parts = [
        f"recording {time_text(hook_ns)} in {value_text(calls, Unit.COUNT)} calls",
        f"reading {time_text(reader_ns)} CPU",
    ]
    if waits:
        parts.append(f"{waits} waits for events, {time_text(wait_ns)}")
    parts.append(_surcharge(trace))
    finalise_ns = trace.meta_int("finalise_ns") or 0
    if finalise_ns > 100 * NS_PER_MS:
        parts.append(f"writing the trace {time_text(finalise_ns)}")
    return Fact("hook_ns", "tracing cost", ", ".join(parts), hook_ns)


def _surcharge(trace: Trace) -> str:
    rows = trace.rows("SELECT plain_ns, profiling_ns FROM v_surcharge")
    if not rows:
        return "the driver's own profiling not measured"
    added = max(profiling - plain for plain, profiling in rows)
    return f"the driver's profiling {time_text(max(added, 0.0))} per launch"
