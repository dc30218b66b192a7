"""Tables of host and device time by the line of the program and by the stack of the call."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.report.document import Column, Table, Unit, Value
from cltrace.report.quantities import more_note
from cltrace.report.selection import Selection
from cltrace.timeline.activity import Activity
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.columns import Bools
from cltrace.timeline.stack_times import sum_commands, sum_host_calls
from cltrace.trace.reader import Trace
from cltrace.trace.stacks import (
    STACKS_SQL,
    StackFrame,
    merge_stacks,
    program_site,
    stack_frames,
    stack_of,
)

_UNKNOWN: Final = "(not known)"
_INDENT: Final = "  "
_LEFT_OUT: Final = "… "

_TIME_COLUMNS: Final = (
    Column("host_calls", "calls", Unit.COUNT, 80),
    Column("host_ns", "host", Unit.NS, 95),
    Column("host_share", "share", Unit.SHARE, 60),
    Column("commands", "commands", Unit.COUNT, 66),
    Column("device_ns", "device", Unit.NS, 100),
    Column("device_share", "share", Unit.SHARE, 65),
)


@dataclass(slots=True)
class _Sums:
    host_calls: int = 0
    host_ns: int = 0
    commands: int = 0
    device_ns: int = 0

    def add(self, other: "_Sums") -> None:
        self.host_calls += other.host_calls
        self.host_ns += other.host_ns
        self.commands += other.commands
        self.device_ns += other.device_ns

    def cells(self, whole: "_Sums") -> tuple[Value, ...]:
        """Return the cells of `_TIME_COLUMNS`."""
        return (
            self.host_calls,
            self.host_ns,
            self.host_ns / whole.host_ns if whole.host_ns else None,
            self.commands,
            self.device_ns if self.commands else None,
            self.device_ns / whole.device_ns if whole.device_ns and self.commands else None,
        )


def place_times_table(
    analysis: Analysis, selection: Selection, *, sort: str, top: int | None
) -> Table:
    """Return host and device time by the nearest line outside of installed packages."""
    frames = stack_frames(analysis.trace.rows(STACKS_SQL))

    def key_of(site: int) -> str:
        return frames[program_site(site, frames)].place if site in frames else _UNKNOWN

    sums: dict[str, _Sums] = {}
    whole = _Sums()
    for site, own in _sum_by_site(analysis, selection).items():
        sums.setdefault(key_of(site), _Sums()).add(own)
        whole.add(own)
    ordered = sorted(sums, key=lambda name: _order(sort, sums[name], name))
    return Table(
        key="times_by_callsite",
        title="Host and device time by callsite",
        columns=(Column("name", "callsite", Unit.PLACE), *_TIME_COLUMNS),
        rows=[(name, *sums[name].cells(whole)) for name in ordered[:top]],
        note=more_note(len(ordered), top),
        why_empty="no OpenCL call was seen",
    )


def stack_table(analysis: Analysis, selection: Selection, *, sort: str, top: int | None) -> Table:
    """Return the tree of calls: host and device time of each line, with those of what it calls."""
    merged = merge_stacks(stack_frames(analysis.trace.rows(STACKS_SQL)))
    own: dict[int, _Sums] = {}
    for site, sums in _sum_by_site(analysis, selection).items():
        own.setdefault(merged.site_of.get(site, 0), _Sums()).add(sums)
    tree = _Tree(merged.frames, own)
    # A line has at least the time of what it calls, so the callers of a chosen line are chosen, too.
    chosen = set(sorted(tree.depth, key=tree.importance)[:top])
    return Table(
        key="by_stack",
        title="By stack (each line with what it calls)",
        columns=(
            Column("function", "stack", Unit.CODE),
            Column("place", "callsite", Unit.PLACE, 90),
            *_TIME_COLUMNS,
            Column("own_host_ns", "own host", Unit.NS, 30),
            Column("own_device_ns", "own device", Unit.NS, 35),
            Column("site_id", "site", Unit.PLAIN, 20),
        ),
        rows=[tree.row(site) for site in tree.in_order(sort) if site in chosen],
        note=more_note(len(tree.depth), top),
        why_empty="no OpenCL call was seen",
    )


class _Tree:
    """Tree of the stacks of calls. Site 0 stands for calls without a stack.

    A frame of a package that only passes on to one other frame is left out. `depth` has the number of
    callers of each site that is not left out.
    """

    def __init__(self, frames: Mapping[int, StackFrame], own: Mapping[int, _Sums]) -> None:
        self._frames, self._own = frames, own
        self._sums: dict[int, _Sums] = {}
        self._inner: dict[int | None, dict[int, None]] = {}
        self._whole = _Sums()
        for site, sums in own.items():
            self._whole.add(sums)
            stack = list(stack_of(site, frames)) or [site]
            for inner, outer in zip(stack, [*stack[1:], None], strict=True):
                self._sums.setdefault(inner, _Sums()).add(sums)
                self._inner.setdefault(outer, {})[inner] = None
        self.depth: dict[int, int] = {}
        self._follows_left_out: set[int] = set()
        self._count_callers()

    def _count_callers(self) -> None:
        waiting = [(site, 0) for site in self._inner.get(None, ())]
        while waiting:
            site, depth = waiting.pop()
            inner = self._inner.get(site, {})
            frame = self._frames.get(site)
            if (
                frame is not None
                and frame.is_installed
                and len(inner) == 1
                and site not in self._own
            ):
                self._follows_left_out.update(inner)
            else:
                self.depth[site] = depth
                depth += 1
            waiting += [(each, depth) for each in inner]

    def importance(self, site: int) -> tuple[int, ...]:
        """Return the key by which the most important site comes first, after its callers."""
        sums = self._sums[site]
        return (-sums.device_ns, -sums.host_ns, self.depth[site])

    def in_order(self, sort: str) -> Iterator[int]:
        """Yield each site after its caller."""
        waiting = [self._sorted(None, sort)]
        while waiting:
            site = next(waiting[-1], None)
            if site is None:
                waiting.pop()
            else:
                if site in self.depth:
                    yield site
                waiting.append(self._sorted(site, sort))

    def row(self, site: int) -> tuple[Value, ...]:
        """Return the row of a site."""
        frame, own = self._frames.get(site), self._own.get(site, _Sums())
        function = _UNKNOWN if frame is None else frame.function
        mark = _LEFT_OUT if site in self._follows_left_out else ""
        return (
            _INDENT * self.depth[site] + mark + function,
            None if frame is None else frame.place,
            *self._sums[site].cells(self._whole),
            own.host_ns,
            own.device_ns,
            site or None,
        )

    def _sorted(self, outer: int | None, sort: str) -> Iterator[int]:
        inner = self._inner.get(outer, ())
        names = {
            site: self._frames[site].function if site in self._frames else "" for site in inner
        }
        return iter(sorted(inner, key=lambda site: _order(sort, self._sums[site], names[site])))


def _order(sort: str, sums: _Sums, name: str) -> tuple[int | str, ...]:
    """Return the key of a row in the order that `--sort` names: by time, unless by calls or name."""
    if sort == "name":
        return (name,)
    if sort == "calls":
        return (-sums.host_calls, name)
    return (-sums.device_ns, -sums.host_ns, name)


def _sum_by_site(analysis: Analysis, selection: Selection) -> dict[int, _Sums]:
    activity = analysis.activity
    commands, calls = _selected(analysis.trace, activity, selection)
    sums: dict[int, _Sums] = {}
    for time in sum_host_calls(activity, commands, calls):
        added = _Sums(host_calls=time.count, host_ns=time.total_ns)
        sums.setdefault(time.site, _Sums()).add(added)
    for time in sum_commands(activity, commands):
        added = _Sums(commands=time.count, device_ns=time.total_ns)
        sums.setdefault(time.site, _Sums()).add(added)
    return sums


def _selected(trace: Trace, activity: Activity, selection: Selection) -> tuple[Bools, Bools]:
    """Return masks of the selected commands, and of the other calls: none with a kernel's name."""
    commands, calls = activity.commands, activity.calls
    chosen = [np.ones(len(part), np.bool_) for part in (commands, calls)]
    if selection.kernel is not None:
        rows = trace.rows(
            "SELECT DISTINCT name FROM v_kernel WHERE name GLOB :kernel",
            {"kernel": selection.kernel},
        )
        names = {str(name) for (name,) in rows}
        numbers = [at for at, name in enumerate(activity.names.kernels) if at and name in names]
        chosen[0] &= np.isin(commands.kernel, numbers)
        chosen[1][:] = False
    for enter_ns, mask in zip((commands.enter_ns, calls.enter_ns), chosen, strict=True):
        if selection.from_ns is not None:
            mask &= enter_ns >= selection.from_ns
        if selection.to_ns is not None:
            mask &= enter_ns < selection.to_ns
    return chosen[0], chosen[1]
