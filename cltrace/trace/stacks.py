"""Stacks of a trace: the frames that led to a call.

A site of a trace stands for a stack. It has the frame that made the call, and the site of its callers.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from cltrace.events import MAX_CALLSITE_DEPTH
from cltrace.events.source_files import is_installed

MAX_FRAMES: Final = MAX_CALLSITE_DEPTH
"""Most frames of a stack that are read: a damaged trace may have a site that calls itself."""

STACKS_SQL: Final = "SELECT site_id, file, line, function, outer_site_id FROM v_site"
"""Query of a trace for `stack_frames`."""


@dataclass(frozen=True, slots=True)
class StackFrame:
    """Innermost frame of a site. `outer_site_id` is the site of its callers, 0 if there is none."""

    file: str
    line: int
    function: str
    outer_site_id: int

    @property
    def place(self) -> str:
        """The file and line."""
        return f"{self.file}:{self.line}"

    @property
    def is_installed(self) -> bool:
        """True for a frame of an installed package, the standard library or a shared library."""
        return is_installed(self.file)


def stack_frames(rows: Iterable[tuple[Any, ...]]) -> dict[int, StackFrame]:
    """Return the innermost frame of each site, from rows of `STACKS_SQL`."""
    return {
        int(number): StackFrame(
            str(file or ""), int(line or 0), str(function or ""), int(outer or 0)
        )
        for number, file, line, function, outer in rows
    }


def stack_of(site: int, frames: Mapping[int, StackFrame]) -> Iterator[int]:
    """Yield the sites of a stack's frames, the innermost first; none if the site is not known."""
    for _ in range(MAX_FRAMES):
        frame = frames.get(site)
        if frame is None:
            return
        yield site
        site = frame.outer_site_id


def program_site(site: int, frames: Mapping[int, StackFrame]) -> int:
    """Return the site of the nearest frame that belongs to no installed package; `site` if none does."""
    for each in stack_of(site, frames):
        if not frames[each].is_installed:
            return each
    return site


@dataclass(frozen=True, slots=True)
class MergedStacks:
    """Stacks of all processes, each once.

    `site_of` has the site that stands for the stack of each site of the trace, `frames` the innermost
    frame of each such site.
    """

    site_of: Mapping[int, int]
    frames: Mapping[int, StackFrame]


def merge_stacks(frames: Mapping[int, StackFrame]) -> MergedStacks:
    """Return stacks in which equal ones have one site: processes number theirs separately.

    Callers come before what they call, so that no stack of a damaged trace comes back to itself.
    """
    sites: dict[StackFrame, int] = {}
    merged: dict[int, StackFrame] = {}
    site_of: dict[int, int] = {}
    for site in sorted(frames):
        outer = 0
        for each in reversed(list(stack_of(site, frames))):
            frame = replace(frames[each], outer_site_id=outer)
            outer = sites.get(frame, each)
            if outer not in merged:
                sites[frame] = outer
                merged[outer] = frame
        site_of[site] = outer
    return MergedStacks(site_of, merged)
