"""Flame graphs of a page: host calls and device time by stack, as trees of frames."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from cltrace.report.activity import TRANSFERS
from cltrace.report.untrusted_text import escape_controls, shorten_place
from cltrace.timeline.activity import KINDS
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.stack_times import StackTime, sum_commands, sum_host_calls
from cltrace.trace.stacks import STACKS_SQL, StackFrame, merge_stacks, stack_frames, stack_of

_MAX_NODES: Final = 20_000
"""Nodes of a graph; more are too narrow to see, and those with least time are left out."""
_ROOT: Final = -1


@dataclass(frozen=True, slots=True)
class FlameNode:
    """Frame of a flame graph. `outer` is the position of its caller, -1 for none.

    `kind` is `program` or `package` for a line of code, `call` for an entry point of OpenCL, `kernel`,
    `transfer` or `other` for commands. `count` are calls or commands. `total_ns` includes what it calls.
    """

    outer: int
    name: str
    place: str
    kind: str
    count: int
    total_ns: int


@dataclass(frozen=True, slots=True)
class FlameGraph:
    """Tree of stacks, callers before what they call. `counted` says what is counted."""

    title: str
    counted: str
    nodes: tuple[FlameNode, ...]


def flame_graphs(analysis: Analysis, home: str) -> list[FlameGraph]:
    """Return the graphs of host calls and of device time that have any. Places are relative to `home`."""
    activity = analysis.activity
    commands, calls = (np.ones(len(rows), np.bool_) for rows in (activity.commands, activity.calls))
    merged = merge_stacks(stack_frames(analysis.trace.rows(STACKS_SQL)))
    graphs = []
    for title, counted, times in (
        ("Host calls", "calls", sum_host_calls(activity, commands, calls)),
        ("Device time", "commands", sum_commands(activity, commands)),
    ):
        tree = _Tree(merged.frames, home)
        for time in times:
            tree.add(time, merged.site_of.get(time.site, 0), is_call=counted == "calls")
        graphs.append(FlameGraph(title, counted, largest_frames(tree.nodes(), _MAX_NODES)))
    return [graph for graph in graphs if graph.nodes]


def largest_frames(nodes: Sequence[FlameNode], count: int) -> tuple[FlameNode, ...]:
    """Return the `count` frames with most time, in their order."""
    # A caller has at least the time of what it calls, and a smaller position.
    by_time = sorted(range(len(nodes)), key=lambda at: (-nodes[at].total_ns, at))
    order = sorted(by_time[:count])
    position = {at: number for number, at in enumerate(order)}
    return tuple(replace(nodes[at], outer=position.get(nodes[at].outer, _ROOT)) for at in order)


@dataclass(slots=True, kw_only=True)
class _Frame:
    outer: int
    name: str
    place: str
    kind: str
    count: int = 0
    total_ns: int = 0
    inner: dict[int | tuple[str, str], int] = field(default_factory=dict)


class _Tree:
    """Tree of frames, by their positions; that of the root is `_ROOT`."""

    def __init__(self, frames: Mapping[int, StackFrame], home: str) -> None:
        self._of_trace, self._home = frames, home
        self._frames: list[_Frame] = []
        self._outermost: dict[int | tuple[str, str], int] = {}

    def add(self, time: StackTime, site: int, *, is_call: bool) -> None:
        """Add times of calls from the stack of a site."""
        at = _ROOT
        for each in reversed(list(stack_of(site, self._of_trace))):
            at = self._inner(at, each)
            self._count(at, time)
        kind = "call" if is_call else _kind_of_command(time.name)
        self._count(self._inner(at, (kind, time.name)), time)

    def nodes(self) -> tuple[FlameNode, ...]:
        """Return the frames, callers before what they call and by descending time."""
        order = self._in_order()
        position = {at: number for number, at in enumerate(order)}
        return tuple(
            FlameNode(
                position.get(frame.outer, _ROOT),
                escape_controls(frame.name),
                escape_controls(frame.place),
                frame.kind,
                frame.count,
                frame.total_ns,
            )
            for frame in (self._frames[at] for at in order)
        )

    def _in_order(self) -> list[int]:
        order: list[int] = []
        waiting = self._sorted(self._outermost.values())
        while waiting:
            at = waiting.pop()
            order.append(at)
            waiting += self._sorted(self._frames[at].inner.values())
        return order

    def _sorted(self, positions: Iterable[int]) -> list[int]:
        members = [at for at in positions if self._frames[at].total_ns > 0]
        return sorted(members, key=lambda at: self._frames[at].total_ns)

    def _inner(self, outer: int, key: int | tuple[str, str]) -> int:
        members = self._outermost if outer == _ROOT else self._frames[outer].inner
        if key not in members:
            members[key] = len(self._frames)
            self._frames.append(self._new_frame(outer, key))
        return members[key]

    def _new_frame(self, outer: int, key: int | tuple[str, str]) -> _Frame:
        if not isinstance(key, int):
            return _Frame(outer=outer, name=key[1], place="", kind=key[0])
        frame = self._of_trace[key]
        kind = "package" if frame.is_installed else "program"
        place = shorten_place(frame.place, self._home)
        return _Frame(outer=outer, name=frame.function, place=place, kind=kind)

    def _count(self, at: int, time: StackTime) -> None:
        self._frames[at].count += time.count
        self._frames[at].total_ns += time.total_ns


def _kind_of_command(name: str) -> str:
    if name in TRANSFERS:
        return "transfer"
    return "other" if name in KINDS else "kernel"
