"""Call sites in the program: the nearest frame that belongs neither to pyopencl nor to cltrace.

A site stands for the stack of frames around the call (`stacks`). With a depth of 1 it is the nearest
frame only; where that belongs to an installed package, the nearest frame that does not is recorded as
well.
"""

from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

import pyopencl
import pytools

from cltrace.events.records import Site
from cltrace.events.source_files import is_installed
from cltrace.intercept.objects.stacks import Stacks, line_of
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
    """Numbers of call sites, of at most `depth` frames each; with depth 0 no site has a number.

    Hooks store places. `number` turns them into numbers of sites, off the program's threads.
    `program_codes` are the code objects that made calls and belong to no installed package, by their
    address. They are kept alive, so that no address is reused. `stacks` number the sites with a depth
    above 1.
    """

    def __init__(self, sink: Sink, depth: int) -> None:
        self.depth: Final = depth
        self.program_codes: Final[dict[int, CodeType]] = {}
        self._library_codes: dict[int, CodeType] = {}
        self._installed_codes: dict[int, CodeType] = {}
        self._packaged_sites: dict[tuple[int, int, int, int], int] = {}
        self._sink = sink
        self._next_id = count(1).__next__
        self._sites: dict[tuple[int, int, int], int] = {}
        self._is_library: dict[str, bool] = {}
        self.stacks: Final = Stacks(max(depth, 2), self.is_library, self._next_id, self._record)

    def place(self, frame: FrameType | None) -> Place:
        """Return the place of the call that `frame` makes, directly or inside of a library."""
        if self.depth != 1:
            return (None, self.stacks.locate(frame)) if self.depth else NO_PLACE
        nearest = self._nearest_frame(frame)
        if nearest is None:
            return NO_PLACE
        if id(nearest.f_code) in self._installed_codes:
            return (None, self._site_in_package(nearest))
        return (nearest.f_code, nearest.f_lasti)

    def _site_in_package(self, nearest: FrameType) -> int:
        """Return the number of the site of a package's frame, with the program's line as its caller."""
        caller = self._frame_of_program(nearest.f_back)
        around = (0, 0) if caller is None else (id(caller.f_code), caller.f_lasti)
        key = (id(nearest.f_code), nearest.f_lasti, *around)
        site = self._packaged_sites.get(key)
        if site is None:
            if len(self._packaged_sites) >= _MAX_SITES:
                return 0
            outer = 0 if caller is None else self.number(caller.f_code, caller.f_lasti)
            site = self._packaged_sites[key] = self.number(nearest.f_code, nearest.f_lasti, outer)
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

    def number(self, code: CodeType | None, instruction: int, outer: int = 0) -> int:
        """Return the number of the site at a place, and record it if it is new; 0 for none.

        `outer` is the number of the site of its caller, 0 if that is not recorded.
        """
        if code is None:
            return instruction
        key = (id(code), instruction, outer)
        site = self._sites.get(key)
        if site is None:
            if len(self._sites) >= _MAX_SITES:
                return 0
            site = self._sites[key] = self._next_id()
            self._record(
                site, code.co_filename, line_of(code, instruction), code.co_qualname, outer
            )
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

    def _record(self, site: int, file: str, line: int, function: str, outer: int) -> None:
        self._sink.records.append(Site(site, file, line, function, outer))
