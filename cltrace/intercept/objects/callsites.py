"""Call sites in the program: the nearest frames that belong neither to pyopencl nor to cltrace.

Where these frames belong to an installed package, the nearest frame that does not is recorded as well.
"""

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

import pyopencl
import pytools

from cltrace.events.records import Site
from cltrace.events.source_files import is_installed
from cltrace.intercept.sink import Sink
from cltrace.intercept.tracebacks import is_own_file

Place = tuple[CodeType | None, int]
"""Place of a call: a code object and the offset of an instruction in it; or `None` and a site."""

NO_PLACE: Final[Place] = (None, 0)

_LIBRARY_PREFIXES: Final = (
    *(str(Path(str(module.__file__)).parent) + "/" for module in (pyopencl, pytools)),
    "<generated: 'pyopencl",
    "<generated code>",
)
_MAX_SITES: Final = 100_000
_MAX_FRAMES: Final = 64
"""Frames of installed packages to pass over."""


class CallSites:
    """Numbers of call sites, of `depth` frames each; with depth 0 no site has a number.

    Hooks store places. `number` turns them into numbers of sites, off the program's threads.
    `program_codes` are the code objects that made calls and belong to no installed package, by their
    address. They are kept alive, so that no address is reused.
    """

    def __init__(self, sink: Sink, depth: int) -> None:
        self.depth: Final = depth
        self.program_codes: Final[dict[int, CodeType]] = {}
        self._library_codes: dict[int, CodeType] = {}
        self._installed_codes: dict[int, CodeType] = {}
        self._chain_codes: dict[int, CodeType] = {}
        self._packaged_sites: dict[tuple[int, int, int, int], int] = {}
        self._sink = sink
        self._next_id = count(1).__next__
        self._sites: dict[tuple[int, int], int] = {}
        self._chains: dict[tuple[tuple[int, int], ...], int] = {}
        self._is_library: dict[str, bool] = {}

    def place(self, frame: FrameType | None) -> Place:
        """Return the place of the call that `frame` makes, directly or inside of a library."""
        if self.depth != 1:
            return (None, self._locate_chain(frame)) if self.depth else NO_PLACE
        nearest = self._nearest_frame(frame)
        if nearest is None:
            return NO_PLACE
        if id(nearest.f_code) in self._installed_codes:
            return (None, self._site_in_package(nearest))
        return (nearest.f_code, nearest.f_lasti)

    def _site_in_package(self, nearest: FrameType) -> int:
        """Return the number of the site of a package's frame, with the program's line as its caller."""
        caller = self._frame_of_program(nearest.f_back)
        outer = (0, 0) if caller is None else (id(caller.f_code), caller.f_lasti)
        key = (id(nearest.f_code), nearest.f_lasti, *outer)
        site = self._packaged_sites.get(key)
        if site is None:
            site = self._locate_chain(nearest)
            if len(self._packaged_sites) < _MAX_SITES:
                self._packaged_sites[key] = site
        return site

    def _nearest_frame(self, frame: FrameType | None) -> FrameType | None:
        """Return the nearest frame outside of pyopencl and cltrace, from `frame` outward."""
        program, library, installed = self.program_codes, self._library_codes, self._installed_codes
        while frame is not None:
            code = frame.f_code
            address = id(code)
            if address in program or address in installed:
                return frame
            if address not in library:
                if not self.is_library(code):
                    (installed if is_installed(code.co_filename) else program)[address] = code
                    return frame
                library[address] = code
            frame = frame.f_back
        return None

    def _frame_of_program(self, frame: FrameType | None) -> FrameType | None:
        """Return the nearest frame that belongs to no installed package, from `frame` outward."""
        program, installed, passed = self.program_codes, self._installed_codes, 0
        while frame is not None and passed < _MAX_FRAMES:
            address = id(frame.f_code)
            if address in program:
                return frame
            if address in installed:
                frame = frame.f_back
                passed += 1
            else:
                frame = self._nearest_frame(frame)
        return None

    def number(self, code: CodeType | None, instruction: int) -> int:
        """Return the number of the site at a place, and record it if it is new; 0 for none."""
        if code is None:
            return instruction
        key = (id(code), instruction)
        site = self._sites.get(key)
        if site is None:
            if len(self._sites) >= _MAX_SITES:
                return 0
            site = self._sites[key] = self._next_id()
            self._record(site, code, instruction, 0)
        return site

    def is_library(self, code: CodeType) -> bool:
        """Return whether this is code of pyopencl, code that pyopencl generates, or code of cltrace."""
        filename = code.co_filename
        is_library = self._is_library.get(filename)
        if is_library is None:
            is_library = self._is_library[filename] = is_own_file(filename) or filename.startswith(
                _LIBRARY_PREFIXES
            )
        return is_library

    def _locate_chain(self, frame: FrameType | None) -> int:
        """Return the number of the site with its callers; 0 when it has none or there are too many."""
        frames: list[FrameType] = []
        frame = self._nearest_frame(frame)
        while frame is not None and len(frames) < self.depth:
            frames.append(frame)
            frame = frame.f_back
        # Most calls are of the program, whose code is known by then.
        if frames and id(frames[0].f_code) in self._installed_codes and self._are_installed(frames):
            caller = self._frame_of_program(frame)
            frames += [] if caller is None else [caller]
        chain = tuple((id(entry.f_code), entry.f_lasti) for entry in frames)
        site = self._chains.get(chain)
        return self._register_chain(chain, frames) if site is None else site

    @staticmethod
    def _are_installed(frames: Sequence[FrameType]) -> bool:
        return all(is_installed(each.f_code.co_filename) for each in frames[1:])

    def _register_chain(self, chain: tuple[tuple[int, int], ...], frames: list[FrameType]) -> int:
        if not frames or len(self._chains) >= _MAX_SITES:
            return 0
        site = 0
        for level in range(len(frames) - 1, -1, -1):
            outer = site
            site = self._chains.get(chain[level:], 0)
            if not site:
                site = self._next_id()
                code = frames[level].f_code
                self._chain_codes[id(code)] = code
                self._record(site, code, frames[level].f_lasti, outer)
                self._chains[chain[level:]] = site
        return site

    def _record(self, site: int, code: CodeType, instruction: int, outer: int) -> None:
        line = line_of(code, instruction)
        self._sink.records.append(Site(site, code.co_filename, line, code.co_qualname, outer))


def line_of(code: CodeType, instruction: int) -> int:
    """Return the line of the instruction at an offset; 0 if it has none."""
    for begin, end, line in code.co_lines():
        if begin <= instruction < end:
            return line or 0
    return 0
