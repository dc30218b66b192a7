"""Captured contents of traced buffers: those at a launch, and which kernels may have changed them."""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from cltrace.trace.reader import Trace

_CONTENTS: Final = "SELECT launch_id, buffer_id, written_host_ns, sha256 FROM v_content"
_DATA: Final = "SELECT sha256, deflated FROM v_content WHERE deflated IS NOT NULL GROUP BY sha256"
_SPANS: Final = """
    SELECT launch_id, min(enter_host_ns), max(enter_host_ns) FROM v_command
    WHERE launch_id IS NOT NULL GROUP BY launch_id
"""
_USES: Final = """
    SELECT a.launch_id, a.buffer_id, a.position, k.program_id, l.kernel
    FROM v_launch_arg a JOIN v_launch l USING (launch_id) JOIN v_kernel k USING (kernel_id)
    WHERE a.buffer_id IS NOT NULL
"""


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
        self._spans: dict[int, tuple[int, int]] = {}
        self._uses: dict[int, dict[TracedUse, tuple[int, int]]] = {}
        """Times of the first and the last launch per buffer and parameter."""
        self._read_contents(trace)
        if self._captured or self._versions:
            self._read_uses(trace)

    def of(self, launch: int, buffer: int) -> CapturedContents | None:
        """Return the contents of a buffer before the first launch of a configuration."""
        found = self._captured.get((launch, buffer))
        span = self._spans.get(launch)
        if found is None and span is not None:
            found = self._version_at(buffer, span[0])
        if found is None:
            return None
        written_ns, deflated = found
        if span is None:
            return CapturedContents(deflated)
        uses = (
            use
            for use, (first_ns, last_ns) in self._uses.get(buffer, {}).items()
            if first_ns < span[0] and last_ns > written_ns
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
        for launch, buffer, written, digest in trace.iterate(_CONTENTS):
            deflated = data.get(digest)
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
        self._spans = {
            launch: (first, last)
            for launch, first, last in trace.iterate(_SPANS)
            if isinstance(launch, int) and isinstance(first, int) and isinstance(last, int)
        }
        captured = self._versions.keys() | {buffer for _, buffer in self._captured}
        for launch, buffer, position, program, kernel in trace.iterate(_USES):
            span = self._spans.get(launch) if isinstance(launch, int) else None
            if span is None or buffer not in captured or not isinstance(buffer, int):
                continue
            if isinstance(position, int) and isinstance(program, int):
                self._add_use(buffer, TracedUse(program, str(kernel), position), span)

    def _add_use(self, buffer: int, use: TracedUse, span: tuple[int, int]) -> None:
        uses = self._uses.setdefault(buffer, {})
        first_ns, last_ns = uses.get(use, span)
        uses[use] = min(first_ns, span[0]), max(last_ns, span[1])
