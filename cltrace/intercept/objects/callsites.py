"""Call sites in the program: the nearest frames that belong neither to pyopencl nor to cltrace."""

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
_MAX_SITES: Final = 100_000


class CallSites:
    """Numbers of call sites, of `depth` frames each; with depth 0 no site has a number.

    A frame's key is the address of its code object plus the offset of the instruction in it. The
    instructions of a code object are stored inside the object. So keys of two code objects are
    different while both exist, and the code objects of recorded frames are kept alive.
    """

    def __init__(self, sink: Sink, depth: int) -> None:
        self.depth: Final = depth
        self._sink = sink
        self._next_id = count(1).__next__
        self._chains: dict[tuple[int, ...], int] = {}
        self._kept_codes: dict[int, CodeType] = {}
        self._is_library: dict[str, bool] = {}

    def locate(self, frame: FrameType | None) -> int:
        """Return the site of the call that `frame` makes; 0 when it has none or there are too many."""
        if self.depth == 0:
            return 0
        frames: list[FrameType] = []
        while frame is not None and len(frames) < self.depth:
            if frames or not self.is_library(frame.f_code):
                frames.append(frame)
            frame = frame.f_back
        chain = tuple(id(entry.f_code) + entry.f_lasti for entry in frames)
        site = self._chains.get(chain)
        if site is None:
            site = self._register(chain, frames)
        return site

    def _register(self, chain: tuple[int, ...], frames: list[FrameType]) -> int:
        if not frames or len(self._chains) >= _MAX_SITES:
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
        """Return whether this is code of pyopencl, code that pyopencl generates, or code of cltrace."""
        filename = code.co_filename
        is_library = self._is_library.get(filename)
        if is_library is None:
            is_library = self._is_library[filename] = is_own_file(filename) or filename.startswith(
                _LIBRARY_PREFIXES
            )
        return is_library
