"""Places to change: the nearest line of the program that belongs to no installed package."""

from cltrace.timeline.advice.model import Place
from cltrace.trace.reader import Trace
from cltrace.trace.stacks import STACKS_SQL, program_site, stack_frames


def read_places(trace: Trace) -> dict[int, Place]:
    """Return the place of each site of a trace."""
    frames = stack_frames(trace.rows(STACKS_SQL))
    places = {}
    for site, frame in frames.items():
        own = program_site(site, frames)
        places[site] = Place(frames[own].place, "" if own == site else frame.place)
    return places
