"""Execution of a traced launch once more on its device, to record what its work-items do."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from cltrace.trace.reader import Trace

_CAPTURED = """
    SELECT l.kernel, d.name FROM v_content t JOIN v_launch l USING (launch_id)
    JOIN v_command c ON c.launch_id = l.launch_id JOIN v_device d ON d.device_id = c.device_id
    ORDER BY t.launch_id LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class CapturedLaunch:
    """A launch whose buffers a trace has: its kernel, and the name of its device."""

    kernel: str
    device: str


def find_captured(trace: Trace) -> CapturedLaunch | None:
    """Return the launch whose buffers were captured, or None."""
    rows = trace.rows(_CAPTURED)
    return CapturedLaunch(str(rows[0][0]), str(rows[0][1])) if rows else None


def record_inside(path: Path, launch: CapturedLaunch, stream: TextIO | None) -> Path | None:
    """Record the events of a launch of the trace at `path`, and return their file; None if that fails.

    The kernel runs in a process of its own, whose end harms nothing else. `stream` gets its report.
    """
    events = path.with_suffix(".events")
    words = ["kernel", str(path), "--kernel", _quoted(launch.kernel), "--events", str(events)]
    done = subprocess.run(
        [sys.executable, "-m", "cltrace", *words, "--device", launch.device],
        stdout=subprocess.DEVNULL if stream is None else stream,
        check=False,
    )
    return events if done.returncode == 0 else None


def _quoted(name: str) -> str:
    """Return a glob that only this name matches."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)
