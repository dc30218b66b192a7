"""Execution of a traced launch once more on its device, to record what its work-items do."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from cltrace.trace.reader import Trace

_CAPTURED: Final = """
    SELECT l.kernel, d.name FROM v_content t JOIN v_launch l USING (launch_id)
    JOIN v_command c ON c.launch_id = l.launch_id JOIN v_device d ON d.device_id = c.device_id
    ORDER BY t.launch_id LIMIT 1
"""
_NOT_CAPTURED: Final = """
    SELECT count(*) FROM v_launch_arg a
    WHERE a.buffer_id IS NOT NULL AND a.launch_id = (SELECT min(launch_id) FROM v_content)
    AND NOT EXISTS (
        SELECT * FROM v_content t WHERE t.launch_id = a.launch_id AND t.buffer_id = a.buffer_id
    )
"""
"""The number of a captured launch's arguments whose contents are not there."""


@dataclass(frozen=True, slots=True)
class CapturedLaunch:
    """A launch whose buffers a trace has: its kernel, and the name of its device."""

    kernel: str
    device: str


def find_captured(trace: Trace) -> CapturedLaunch | None:
    """Return the launch whose buffers were captured, or None; None if recording stopped meanwhile."""
    if _is_incomplete(trace) and trace.rows(_NOT_CAPTURED)[0][0]:
        return None
    rows = trace.rows(_CAPTURED)
    return CapturedLaunch(str(rows[0][0]), str(rows[0][1])) if rows else None


def why_not_captured(trace: Trace, wanted: str) -> str:
    """Return why a trace does not have the buffers of the `wanted` launch."""
    rows = trace.rows(
        "SELECT message FROM v_diagnostic WHERE code = 'contents-not-captured' LIMIT 1"
    )
    if rows:
        return str(rows[0][0])
    if _is_incomplete(trace):
        return f"the recording stopped before {wanted} and its buffers were written"
    return f"{wanted} was not seen, or has no buffers: see `cltrace info`"


def _is_incomplete(trace: Trace) -> bool:
    return trace.meta.get("state") == "incomplete"


def record_inside(path: Path, launch: CapturedLaunch, stream: TextIO | None) -> str:
    """Record the events of a launch of the trace at `path` beside it. Return why that failed, or "".

    The kernel runs in a process of its own, whose end harms nothing else. `stream` gets its report, and
    its messages then follow on stderr; without one it prints nothing.
    """
    events = path.with_suffix(".events")
    words = ["kernel", str(path), "--kernel", _quoted(launch.kernel), "--events", str(events)]
    done = subprocess.run(
        [sys.executable, "-m", "cltrace", *words, "--device", launch.device],
        stdout=subprocess.DEVNULL if stream is None else stream,
        stderr=subprocess.PIPE if stream is None else None,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        return ""
    lines = (done.stderr or "").strip().splitlines()
    return lines[-1].removeprefix("cltrace: ") if lines else f"status {done.returncode}"


def _quoted(name: str) -> str:
    """Return a glob that only this name matches."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)
