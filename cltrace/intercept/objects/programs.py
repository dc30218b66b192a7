"""Programs: their sources, the files that these include, and their builds."""

import re
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any, Final

import pyopencl as cl

from cltrace.events.apis import Api
from cltrace.events.kinds import ProgramOrigin
from cltrace.events.records import Build, Include, Program, Text
from cltrace.intercept.objects.includes import find_included_files
from cltrace.intercept.sink import Sink

_DEFEATED_CACHE: Final = re.compile(r"\n\n__constant int pyopencl_defeat_cache_[0-9a-f]{32} = 0;$")


class Texts:
    """Numbers of texts that records share. Each text is recorded once."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._ids: dict[str, int] = {}

    def id_of(self, text: str) -> int:
        """Return the number of `text`; 0 for an empty text."""
        if not text:
            return 0
        if text not in self._ids:
            self._ids[text] = len(self._ids) + 1
            self._sink.records.append(Text(self._ids[text], text))
        return self._ids[text]


class Programs:
    """Programs of the process. With `record_source` false no text of theirs is kept."""

    def __init__(self, sink: Sink, texts: Texts, *, record_source: bool) -> None:
        self._sink = sink
        self._texts = texts
        self._record_source = record_source
        self._next_id = count(1).__next__
        self._ids: dict[int, int] = {}
        self._sources: dict[int, str] = {}

    def program_id(self, program: Any, context_id: int) -> int:
        """Return the number of a program, and register it if its creation was not observed."""
        number = self.find_id(program)
        if number is not None:
            return number
        source = read_source(program)
        origin = ProgramOrigin.SOURCE if source else ProgramOrigin.UNKNOWN
        return self.register(program, origin, context_id, 0, source=source)

    def find_id(self, program: Any) -> int | None:
        """Return the number of a program; `None` if it is not registered."""
        return self._ids.get(program.int_ptr)

    def forget(self, program: Any) -> None:
        """Drop the number of a handle that now stands for a program that was not recorded."""
        self._ids.pop(program.int_ptr, None)

    def register(
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
        """Register a new program, even if its handle is registered for an earlier one."""
        number = self._ids[program.int_ptr] = self._next_id()
        source = _DEFEATED_CACHE.sub("", source)
        self._sources[number] = source
        parent_ids = tuple(self.program_id(parent, context_id) for parent in parents)
        source_id = self._texts.id_of(source) if self._record_source else 0
        self._sink.records.append(
            Program(
                id=number,
                origin=origin,
                created_host_ns=host_ns,
                binary_bytes=binary_bytes,
                context_id=context_id,
                source_text_id=source_id,
                parent_ids=parent_ids,
            )
        )
        return number

    def record_build(
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
        """Record a build of `program` for each device of `device_ids`, and return the program's number.

        `span` is its begin and end in host ns. `headers` are pairs of the name by which the source
        includes a header, and the program that has the header's text.
        """
        number = self.program_id(program, context_id)
        for device_id, device in device_ids.items():
            log = self._read_log(program, device)
            log_id = self._texts.id_of(log) if self._record_source else 0
            self._sink.records.append(
                Build(
                    api=api,
                    options=options,
                    status=status,
                    enter_host_ns=span[0],
                    return_host_ns=span[1],
                    program_id=number,
                    device_id=device_id,
                    log_text_id=log_id,
                )
            )
        if self._record_source:
            texts = {name: _DEFEATED_CACHE.sub("", read_source(header)) for name, header in headers}
            self._record_includes(number, options, texts)
        return number

    def _read_log(self, program: Any, device: cl.Device) -> str:
        try:
            log = program.get_build_info(device, cl.program_build_info.LOG)
        except cl.Error:
            return ""
        return str(log).strip("\0 \n") if log else ""

    def _record_includes(self, number: int, options: str, headers: Mapping[str, str]) -> None:
        source = self._sources.pop(number, "")
        if "include" not in source:
            return
        for name, text in find_included_files(source, options, headers).items():
            self._sink.records.append(Include(name, number, self._texts.id_of(text)))


def read_source(program: Any) -> str:
    """Return the source of a program, as the driver reports it; empty if it was made from binaries."""
    return program.get_info(cl.program_info.SOURCE) or ""
