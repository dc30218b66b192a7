"""Head of a report: the traced command, its end, its devices, and the cost of tracing."""

import contextlib
import json
import signal

from cltrace.events import NS_PER_MS
from cltrace.report.clocks import clock_facts
from cltrace.report.document import Fact, Unit
from cltrace.report.quantities import time_text, value_text
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
    state = trace.meta.get("state")
    if state != "complete":
        lines.append(Fact("state", "trace", "incomplete: see the notes below"))
    return lines


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
        "SELECT name, platform, driver_version, count(*), count(DISTINCT process_id) "
        "FROM v_device GROUP BY name, platform, driver_version ORDER BY min(device_id)"
    )
    facts = []
    for name, platform, driver, devices, processes in rows:
        words = [name, platform, f"driver {driver}"]
        if devices > processes:
            words.append(f"{devices} devices")
        if processes > 1:
            words.append(f"in {processes} processes")
        facts.append(Fact("device", "device", ", ".join(map(str, words))))
    return facts or [Fact("device", "device", "none: no OpenCL device was used")]


def _times(trace: Trace) -> list[Fact]:
    wall = wall_ns(trace)
    busy = trace.rows(
        "SELECT label, avg(busy_ns), count(*) FROM v_rollup "
        "WHERE dimension = 'whole-device' AND busy_ns IS NOT NULL GROUP BY label ORDER BY 2 DESC"
    )
    facts = []
    if wall is not None:
        facts.append(Fact("wall_ns", "wall", time_text(wall), wall))
    for label, busy_ns, devices in busy:
        share = f" ({value_text(busy_ns / wall, Unit.SHARE)} of wall)" if wall else ""
        name = f"{label}: " if len(busy) > 1 else ""
        each = f", mean of {devices}" if devices > 1 else ""
        text = f"{name}{time_text(busy_ns)}{share}{each}"
        facts.append(Fact("busy_ns", "device busy", text, busy_ns))
    return facts


def _cost(trace: Trace) -> Fact:
    """Return the cost of tracing, measured in the run except for the driver's own share."""
    (calls, hook_ns, reader_ns, waits, wait_ns), *_ = trace.rows(
        "SELECT sum(hook_calls), total(hook_ns), total(reader_cpu_ns), sum(event_waits), "
        "total(event_wait_ns) FROM v_process"
    )
    if calls is None:
        return Fact("cost", "tracing cost", "not known: no process reported it")
    parts = [
        f"hooks {time_text(hook_ns)} in {value_text(calls, Unit.COUNT)} calls",
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
