"""Where in the program a call came from: the nearest frames that are not pyopencl's or ours."""

from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

import pyopencl
import pytools

from cltrace.events.records import Site
from cltrace.intercept.sink import Sink
from cltrace.intercept.tracebacks import is_own_file

_LIBRARY_PREFIXES: Final = (
    *(str(Path(str(module.__file__)).parent) + "/" for module in (pyopencl, pytools)),
    "<generated: 'pyopencl",
    "<generated code>",
)
_MOST_SITES: Final = 100_000


class CallSites:
    """Numbers for the places that make calls, `depth` frames each; 0 frames number nothing.

    A frame's key is the address of its code object plus the offset of the instruction in it. The
    instructions of a code object are stored inside the object, so keys of different code objects
    never meet while both exist; the code objects of recorded frames are kept.
    """

    def __init__(self, sink: Sink, depth: int) -> None:
        self.depth: Final = depth
        self._sink = sink
        self._next_id = count(1).__next__
        self._chains: dict[tuple[int, ...], int] = {}
        self._kept_codes: dict[int, CodeType] = {}
        self._is_library: dict[str, bool] = {}

    def locate(self, frame: FrameType | None) -> int:
        """The site of the call that `frame` makes; 0 when it has none or there are too many."""
        if self.depth == 0:
            return 0
        frames: list[FrameType] = []
        while frame is not None and len(frames) < self.depth:
            if frames or not self.is_library(frame.f_code):
                frames.append(frame)
            frame = frame.f_back
        chain = tuple(id(one.f_code) + one.f_lasti for one in frames)
        site = self._chains.get(chain)
        if site is None:
            site = self._register(chain, frames)
        return site

    def _register(self, chain: tuple[int, ...], frames: list[FrameType]) -> int:
        if not frames or len(self._chains) >= _MOST_SITES:
            return 0
        site = 0
        for level in range(len(frames) - 1, -1, -1):
            outer = site
            site = self._chains.get(chain[level:], 0)
            if not site:
                site = self._next_id()
                self._record(site, frames[level], outer)
                self._chains[chain[level:]] = site
        return site

    def _record(self, site: int, frame: FrameType, outer: int) -> None:
        code = frame.f_code
        self._kept_codes[id(code)] = code
        self._sink.records.append(
            Site(site, code.co_filename, frame.f_lineno or 0, code.co_qualname, outer)
        )

    def is_library(self, code: CodeType) -> bool:
        """Whether this is code of pyopencl, of what it generates, or of ours."""
        filename = code.co_filename
        inside = self._is_library.get(filename)
        if inside is None:
            inside = self._is_library[filename] = is_own_file(filename) or filename.startswith(
                _LIBRARY_PREFIXES
            )
        return inside
