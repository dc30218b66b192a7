"""Programs: what they were made from, what they include, how they were built."""

import posixpath
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import pyopencl as cl

from cltrace.events.apis import Api
from cltrace.events.kinds import ProgramOrigin
from cltrace.events.records import Build, Include, Program, Text
from cltrace.intercept.sink import Sink

if TYPE_CHECKING:
    from types import FrameType

_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_DEFEATED_CACHE: Final = re.compile(r"\n\n__constant int pyopencl_defeat_cache_[0-9a-f]{32} = 0;$")
_MOST_INCLUDED_FILES: Final = 1000
_MOST_INCLUDED_BYTES: Final = 16 << 20
_FRAMES_TO_CACHE: Final = 6


class Texts:
    """Numbers for texts that records share; each text is recorded once."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._ids: dict[str, int] = {}

    def id_of(self, text: str) -> int:
        """The number of `text`; 0 for no text."""
        if not text:
            return 0
        if text not in self._ids:
            self._ids[text] = len(self._ids) + 1
            self._sink.records.append(Text(self._ids[text], text))
        return self._ids[text]


class Programs:
    """The programs of the process. With `record_source` false no text of theirs is kept."""

    def __init__(self, sink: Sink, texts: Texts, *, record_source: bool) -> None:
        self._sink = sink
        self._texts = texts
        self._record_source = record_source
        self._next_id = count(1).__next__
        self._ids: dict[int, int] = {}
        self._sources: dict[int, str] = {}

    def program_id(self, program: Any, context_id: int) -> int:
        """The number of a program, which is registered if it was made where we could not see it."""
        known = self._ids.get(program.int_ptr)
        if known is not None:
            return known
        source = source_of(program)
        origin = ProgramOrigin.SOURCE if source else ProgramOrigin.UNKNOWN
        return self.created(program, origin, context_id, 0, source=source)

    def forget(self, program: Any) -> None:
        """A handle has a new meaning that was not recorded."""
        self._ids.pop(program.int_ptr, None)

    def created(
        self,
        program: Any,
        origin: ProgramOrigin,
        context_id: int,
        host_ns: int,
        *,
        source: str = "",
        binary_bytes: int = 0,
        parents: Iterable[Any] = (),
    ) -> int:
        """Register a new program, whatever its handle meant before."""
        number = self._ids[program.int_ptr] = self._next_id()
        source = _DEFEATED_CACHE.sub("", source)
        self._sources[number] = source
        parent_ids = tuple(self.program_id(parent, context_id) for parent in parents)
        source_id = self._texts.id_of(source) if self._record_source else 0
        self._sink.records.append(
            Program(number, origin, host_ns, binary_bytes, context_id, source_id, parent_ids)
        )
        return number

    def built(
        self,
        program: Any,
        api: Api,
        options: str,
        span: tuple[int, int],
        status: int,
        *,
        context_id: int,
        device_ids: dict[int, cl.Device],
        headers: Iterable[tuple[str, Any]] = (),
    ) -> int:
        """Record a build of `program` for each device of `device_ids` and return the program's number.

        `headers` are programs that it was given as headers, with the names by which it includes them.
        """
        number = self.program_id(program, context_id)
        for device_id, device in device_ids.items():
            log = self._log(program, device)
            log_id = self._texts.id_of(log) if self._record_source else 0
            self._sink.records.append(Build(api, options, status, *span, number, device_id, log_id))
        if self._record_source:
            given = {name: _DEFEATED_CACHE.sub("", source_of(header)) for name, header in headers}
            self._record_includes(number, options, given)
        return number

    def _log(self, program: Any, device: cl.Device) -> str:
        try:
            log = program.get_build_info(device, cl.program_build_info.LOG)
        except cl.Error:
            return ""
        return str(log).strip("\0 \n") if log else ""

    def _record_includes(self, number: int, options: str, given: Mapping[str, str]) -> None:
        source = self._sources.pop(number, "")
        if "include" not in source:
            return
        found = included_files(source, include_directories(options), given)
        for name, text in found.items():
            self._sink.records.append(Include(name, number, self._texts.id_of(text)))


def include_directories(options: str) -> list[Path]:
    """The directories that build options name with `-I`, the working directory first."""
    try:
        words = shlex.split(options)
    except ValueError:
        words = options.split()
    directories = [Path()]
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "-I":
            directories.append(Path(following))
        elif word.startswith("-I"):
            directories.append(Path(word[2:].strip('"')))
    return directories


def included_files(
    source: str, directories: Iterable[Path], given: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """The texts that `source` includes, by the name it uses, and what those include in turn.

    Texts that are `given` by name come before files, and are among them whatever includes them: a macro
    may name one.

    A file that one of them finds beside itself has the name that leads there from where that was found:
    `y.h` beside `sub/x.h` is `sub/y.h`. A file that cannot be read is left out, and so is what exceeds
    1,000 files or 16 MiB.
    """
    searched = list(directories)
    found: dict[str, str] = {}
    total_bytes = 0
    pending = [("", name) for name in (*_INCLUDE.findall(source), *given)]
    while pending and len(found) < _MOST_INCLUDED_FILES and total_bytes < _MOST_INCLUDED_BYTES:
        beside, plain = pending.pop()
        for name in dict.fromkeys([posixpath.normpath(posixpath.join(beside, plain)), plain]):
            if name in found:
                break
            text = given[name] if name in given else _read_first(searched, name)
            if text is not None:
                found[name] = text
                total_bytes += len(text)
                directory = posixpath.dirname(name)
                pending.extend((directory, other) for other in _INCLUDE.findall(text))
                break
    return found


def _read_first(directories: Iterable[Path], name: str) -> str | None:
    for directory in directories:
        path = directory / name
        try:
            if path.is_file() and path.stat().st_size <= _MOST_INCLUDED_BYTES:
                return path.read_text(errors="replace")
        except (OSError, ValueError):
            continue
    return None


def source_of(program: Any) -> str:
    """What a program was made from, as the driver tells; empty if that was no source."""
    return program.get_info(cl.program_info.SOURCE) or ""


def source_behind_cache() -> str | None:
    """The source of the binary that pyopencl's own cache is making a program of; `None` elsewhere.

    pyopencl keeps built binaries on disk and makes programs from them; the source is then only in a
    variable of the function that does so, a few frames above the constructor's hook.
    """
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_FRAMES_TO_CACHE):
        if frame is None:
            return None
        if frame.f_code.co_name == "_create_built_program_from_source_cached":
            source = frame.f_locals.get("src")
            return text_of(source) if isinstance(source, (bytes, str)) else None
        frame = frame.f_back
    return None


def text_of(value: Any) -> str:
    """Text that a program passed as `str` or `bytes`."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
