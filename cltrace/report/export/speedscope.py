"""Export of stacks to speedscope: host calls and device time by stack.

The file is JSON in the format of https://www.speedscope.app/file-format-schema.json. It has two
profiles of weighted stacks: the time of host calls, each with its entry point as the innermost frame, and
the time of commands, each with its kernel or kind.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from cltrace.report.untrusted_text import escape_controls
from cltrace.timeline.reading import read_activity
from cltrace.timeline.stack_times import StackTime, sum_commands, sum_host_calls
from cltrace.trace.reader import Trace
from cltrace.trace.stacks import STACKS_SQL, StackFrame, stack_frames, stack_of
from cltrace.version import __version__

_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"


def write(trace: Trace, target: Path) -> None:
    """Write the stacks of a trace to `target`."""
    activity = read_activity(trace)
    commands, calls = (np.ones(len(rows), np.bool_) for rows in (activity.commands, activity.calls))
    frames = _Frames(stack_frames(trace.rows(STACKS_SQL)))
    profiles = [
        _profile("host calls", sum_host_calls(activity, commands, calls), frames),
        _profile("device time", sum_commands(activity, commands), frames),
    ]
    content = {
        "$schema": _SCHEMA,
        "exporter": f"cltrace@{__version__}",
        "name": escape_controls(trace.path.name),
        "activeProfileIndex": 0,
        "profiles": profiles,
        "shared": {"frames": frames.values},
    }
    target.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")


class _Frames:
    """Frames of the file, numbered in the order of their first use."""

    def __init__(self, of_trace: Mapping[int, StackFrame]) -> None:
        self._of_trace = of_trace
        self._numbers: dict[tuple[str, str, int], int] = {}

    @property
    def values(self) -> list[dict[str, Any]]:
        """The frames as speedscope has them; those of OpenCL have no file."""
        return [
            {"name": name, "file": file, "line": line} if file else {"name": name}
            for name, file, line in self._numbers
        ]

    def numbers_of(self, time: StackTime) -> list[int]:
        """Return the frames of a stack, the outermost first."""
        stack = [self._of_trace[site] for site in stack_of(time.site, self._of_trace)]
        numbers = [
            self._number(escape_controls(frame.function), escape_controls(frame.file), frame.line)
            for frame in reversed(stack)
        ]
        return [*numbers, self._number(escape_controls(time.name), "", 0)]

    def _number(self, name: str, file: str, line: int) -> int:
        return self._numbers.setdefault((name, file, line), len(self._numbers))


def _profile(name: str, times: Sequence[StackTime], frames: _Frames) -> dict[str, Any]:
    timed = [time for time in times if time.total_ns > 0]
    return {
        "type": "sampled",
        "name": name,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(time.total_ns for time in timed),
        "samples": [frames.numbers_of(time) for time in timed],
        "weights": [time.total_ns for time in timed],
    }
