"""Places to change: the nearest line of the program that belongs to no installed package."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cltrace.events.source_files import is_installed
from cltrace.timeline.advice.model import Place
from cltrace.trace.reader import Trace

_MAX_FRAMES: Final = 64


class _Site(NamedTuple):
    file: str
    line: int
    outer: int

    @property
    def text(self) -> str:
        return f"{self.file}:{self.line}"


def read_places(trace: Trace) -> dict[int, Place]:
    """Return the place of each site of a trace."""
    sites = {
        int(number): _Site(str(file or ""), int(line or 0), int(outer or 0))
        for number, file, line, outer in trace.rows(
            "SELECT site_id, file, line, outer_site_id FROM v_site"
        )
    }
    return {number: _place_of(number, sites) for number in sites}


def _place_of(number: int, sites: Mapping[int, _Site]) -> Place:
    nearest = sites[number]
    at = nearest
    for _ in range(_MAX_FRAMES):
        if not is_installed(at.file):
            return Place(at.text, "" if at is nearest else nearest.text)
        if at.outer not in sites:
            break
        at = sites[at.outer]
    return Place(nearest.text)
