"""Captured contents of traced buffers: those at a launch, and which kernels may have changed them."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.trace.reader import Trace

_DATA: Final = "SELECT id, deflated FROM content_data WHERE deflated IS NOT NULL"
_CONTENTS: Final = "SELECT launch_id, buffer_id, written_host_ns, content_data_id FROM content"
_USES: Final = """
    SELECT a.launch_id, a.buffer_id, a.position, k.program_id, l.kernel
    FROM v_launch_arg a JOIN v_launch l USING (launch_id) JOIN v_kernel k USING (kernel_id)
    WHERE a.buffer_id IS NOT NULL
"""
_TIMES: Final = "SELECT launch_id, enter_host_ns FROM v_command WHERE launch_id IS NOT NULL"


@dataclass(frozen=True, slots=True)
class TracedUse:
    """A parameter of a kernel, by position, that got a buffer. `program` is its id in the trace."""

    program: int
    kernel: str
    position: int


@dataclass(frozen=True, slots=True)
class CapturedContents:
    """Contents of a buffer before a launch, compressed, as the host wrote them.

    `later_uses` are launches of kernels between that write and the launch: one of them may have changed
    the contents. Equal contents are one object.
    """

    deflated: bytes
    later_uses: tuple[TracedUse, ...] = ()


@dataclass(slots=True)
class _Versions:
    """Contents of a buffer by the time from which on they hold; None where they are not known."""

    begins: list[int] = field(default_factory=list)
    contents: list[bytes | None] = field(default_factory=list)


class TraceContents:
    """The captured contents of a trace's buffers."""

    def __init__(self, trace: Trace) -> None:
        self._captured: dict[tuple[int, int], tuple[int, bytes]] = {}
        """Time and contents that were captured for a launch configuration and a buffer."""
        self._versions: dict[int, _Versions] = {}
        self._firsts: dict[int, int] = {}
        self._uses: dict[int, dict[TracedUse, NDArray[np.int64]]] = {}
        """Times of the launches, per buffer and parameter, in ascending order."""
        self._read_contents(trace)
        if self._captured or self._versions:
            self._read_uses(trace)

    def of(self, launch: int, buffer: int) -> CapturedContents | None:
        """Return the contents of a buffer before the first launch of a configuration."""
        captured = self._captured.get((launch, buffer))
        first_ns = self._firsts.get(launch)
        if captured is None and first_ns is not None:
            captured = self._version_at(buffer, first_ns)
        if captured is None:
            return None
        written_ns, deflated = captured
        if first_ns is None:
            return CapturedContents(deflated)
        uses = (
            use
            for use, times_ns in self._uses.get(buffer, {}).items()
            if np.searchsorted(times_ns, written_ns, "right") < np.searchsorted(times_ns, first_ns)
        )
        return CapturedContents(deflated, tuple(uses))

    def _version_at(self, buffer: int, host_ns: int) -> tuple[int, bytes] | None:
        versions = self._versions.get(buffer, _Versions())
        number = bisect_right(versions.begins, host_ns) - 1
        contents = versions.contents[number] if number >= 0 else None
        return None if contents is None else (versions.begins[number], contents)

    def _read_contents(self, trace: Trace) -> None:
        rows: list[tuple[int, int, bytes | None]] = []
        data = dict(trace.iterate(_DATA))
        for launch, buffer, written, data_id in trace.iterate(_CONTENTS):
            deflated = data.get(data_id)
            contents = deflated if isinstance(deflated, bytes) else None
            if not isinstance(buffer, int) or not isinstance(written, int):
                continue
            if launch is None:
                rows.append((written, buffer, contents))
            elif isinstance(launch, int) and contents is not None:
                self._captured[launch, buffer] = written, contents
        for written, buffer, contents in sorted(rows, key=lambda row: row[0]):
            versions = self._versions.setdefault(buffer, _Versions())
            versions.begins.append(written)
            versions.contents.append(contents)

    def _read_uses(self, trace: Trace) -> None:
        captured = self._versions.keys() | {buffer for _, buffer in self._captured}
        launches: dict[int, dict[TracedUse, set[int]]] = {}
        for launch, buffer, position, program, kernel in trace.iterate(_USES):
            if not isinstance(buffer, int) or buffer not in captured:
                continue
            if isinstance(launch, int) and isinstance(position, int) and isinstance(program, int):
                use = TracedUse(program, str(kernel), position)
                launches.setdefault(buffer, {}).setdefault(use, set()).add(launch)
        wanted = {launch for uses in launches.values() for own in uses.values() for launch in own}
        times = _times_of(trace, wanted)
        self._firsts = {launch: int(own[0]) for launch, own in times.items()}
        self._uses = {
            buffer: {use: _merged(times, own) for use, own in uses.items()}
            for buffer, uses in launches.items()
        }


def _times_of(trace: Trace, launches: Iterable[int]) -> Mapping[int, NDArray[np.int64]]:
    """Return the times of the launches of some configurations, in ascending order."""
    times: dict[int, list[int]] = {launch: [] for launch in launches}
    for launch, enter in trace.iterate(_TIMES):
        own = times.get(launch) if isinstance(launch, int) else None
        if own is not None and isinstance(enter, int):
            own.append(enter)
    return {launch: np.sort(np.array(own, np.int64)) for launch, own in times.items() if own}


def _merged(times: Mapping[int, NDArray[np.int64]], launches: Iterable[int]) -> NDArray[np.int64]:
    own = [times[launch] for launch in launches if launch in times]
    return np.sort(np.concatenate(own)) if own else np.zeros(0, np.int64)
