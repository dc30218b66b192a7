"""Making a trace of the spools that its processes left."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from cltrace.errors import DamagedTraceError, SpoolError
from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.events.clocks import KeptTime
from cltrace.events.kinds import FAULT_SHIFT, RELEASES_UNSEEN, MemoryKind, Severity
from cltrace.events.records import Content, Diagnostic, ProcessEnded
from cltrace.events.tables import ANCHORS, BUFFERS, CALLS, LAUNCHES, REGIONS, RELEASES
from cltrace.spool.layout import untraced_reasons
from cltrace.spool.reader import ProcessSpool, read_parts
from cltrace.spool.settings import Outcome, SessionFacts, read_outcome, read_session
from cltrace.trace import schema
from cltrace.trace.catalogue import catalogue_of_spool
from cltrace.trace.command_groups import Grouping, groupings, write_rollups
from cltrace.trace.commands import HostCalls, Int64s, QueueFacts, assemble, queue_facts
from cltrace.trace.database import Store
from cltrace.trace.power import add_recorded_power
from cltrace.trace.process_rows import clean, record_rows
from cltrace.trace.renumbering import Numbering, Numbers

_MANY_COMMANDS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Finalised:
    """What a trace was made of.

    `running_pids` are processes that still ran: what they do from now on is not in the trace.
    """

    path: Path
    processes: int
    commands: int
    is_complete: bool
    running_pids: tuple[int, ...]


Timekeeper = Callable[[HostCalls, QueueFacts], KeptTime]
"""What puts the devices' stamps of a process on the host's clock (`timeline.timekeeping`)."""


def finalise(parts: Path, path: Path, timekeeper: Timekeeper) -> Finalised:
    """Make the trace at `path` of the spools in `parts`, which are left as they are.

    `timekeeper` fits the devices' clocks.
    Raises: `SpoolError` when the parts cannot be read, `OutputError` when the trace cannot be written.
    """
    begin_ns = time.perf_counter_ns()
    session, outcome = read_session(parts), read_outcome(parts)
    spools = [spool for spool in read_parts(parts) if spool.all_records]
    store = Store(path, is_large=sum(map(_commands_in, spools)) > _MANY_COMMANDS)
    try:
        filler = _Filler(store, timekeeper)
        for spool in spools:
            filler.add(spool)
        running = tuple(
            spool.identity.pid
            for spool in spools
            if not spool.is_complete and spool.identity.is_alive
        )
        missing = _missing(spools, outcome)
        if filler.damaged_rows:
            missing.append(f"{filler.damaged_rows} damaged host calls were left out")
        filler.note_untraced(untraced_reasons(parts))
        add_recorded_power(store, parts)
        filler.finish(session, outcome, missing, time.perf_counter_ns() - begin_ns)
        store.check()
        store.commit()
    except DamagedTraceError as error:
        store.discard_quietly()
        raise SpoolError(f"{parts} is damaged beyond repair: {error}") from error
    except BaseException:
        store.discard_quietly()
        raise
    return Finalised(path, len(spools), filler.commands, not missing, running)


def _commands_in(spool: ProcessSpool) -> int:
    return len(spool.rows(LAUNCHES)) + len(spool.rows(CALLS))


def _missing(spools: list[ProcessSpool], outcome: Outcome | None) -> list[str]:
    """Why the trace may lack something; nothing when it is whole."""
    reasons = []
    is_going_on = any(spool.identity.is_alive and not spool.is_complete for spool in spools)
    if outcome is None and not is_going_on:
        reasons.append("the recording's parent did not live to see how the command ended")
    for spool in spools:
        pid = spool.identity.pid
        if spool.damaged_lines:
            reasons.append(f"process {pid}: {spool.damaged_lines} damaged records were left out")
        if spool.is_complete:
            continue
        if spool.identity.is_alive:
            reasons.append(f"process {pid} still ran when this trace was made")
        else:
            reasons.append(
                f"process {pid} left no last words: it was killed, and up to its last 100 ms are "
                "missing, or it could not write any more"
            )
    return reasons


class _Filler:
    """Fills a store, process by process."""

    def __init__(self, store: Store, timekeeper: Timekeeper) -> None:
        self._store = store
        self._timekeeper = timekeeper
        self._numbering = Numbering()
        self._grouping = Grouping()
        self._contents: dict[str, int] = {}
        self.commands = 0
        self.damaged_rows = 0

    def add(self, spool: ProcessSpool) -> None:
        """Add one process."""
        numbers = self._numbering.next_block(spool)
        by_table: dict[str, tuple[schema.Table, list[Any]]] = defaultdict()
        for table, row in record_rows(spool, numbers):
            by_table.setdefault(table.name, (table, []))[1].append(row)
        for table, rows in by_table.values():
            self._store.insert(table, rows)
        self._store.insert(schema.BUFFER, _buffer_rows(spool, numbers))
        self._add_contents(spool, numbers)
        self._store.insert_columns(schema.REGION, _region_columns(spool, numbers))
        self._store.insert_columns(schema.HOST_CLOCK, _clock_columns(spool, numbers))
        found = assemble(spool)
        kept = self._timekeeper(found, queue_facts(spool))
        found.commands["flags"] |= kept.faults << FAULT_SHIFT
        self._store.insert(schema.CLOCK_SEGMENT, _segment_rows(kept, numbers))
        self._add_calls(found, spool, numbers)

    def note_untraced(self, reasons: dict[int, list[str]]) -> None:
        """Add why processes were not traced, as those said that know."""
        self._store.insert(
            schema.DIAGNOSTIC,
            (
                (None, None, Severity.WARNING, "untraced", f"process {pid}: {clean(text)}", None)
                for pid, texts in sorted(reasons.items())
                for text in texts
            ),
        )

    def finish(
        self, session: SessionFacts, outcome: Outcome | None, missing: list[str], elapsed_ns: int
    ) -> None:
        """Add what concerns the whole trace."""
        kinds = {int(api): COMMAND_KINDS.get(api) for api in Api}
        self._store.insert(schema.API, ((int(api), api.name, kinds[int(api)]) for api in Api))
        write_rollups(self._store, self._grouping)
        self._store.insert(schema.META, _meta(session, outcome, missing, elapsed_ns).items())
        warnings = ((None, None, Severity.WARNING, "incomplete", text, None) for text in missing)
        self._store.insert(schema.DIAGNOSTIC, warnings)

    def _add_contents(self, spool: ProcessSpool, numbers: Numbers) -> None:
        for content in spool.records(Content):
            known = self._contents.get(content.sha256)
            if known is None:
                known = self._contents[content.sha256] = len(self._contents) + 1
                stored = spool.stored_content(content)
                row = (known, content.sha256, content.size_bytes, stored)
                self._store.insert(schema.CONTENT_DATA, [row])
            where = (
                numbers.of("buffer", content.buffer_id),
                numbers.of("launch", content.launch_id),
            )
            self._store.insert(schema.CONTENT, [(*where, content.written_host_ns, known)])

    def _add_calls(self, found: HostCalls, spool: ProcessSpool, numbers: Numbers) -> None:
        commands, calls = found.commands, found.calls
        first_command = self._numbering.reserve("command", len(commands["api"]))
        first_call = self._numbering.reserve("api_call", len(calls["api"]))
        groups = groupings(commands, catalogue_of_spool(spool, numbers))
        self._grouping.add(groups, commands, calls, numbers.process_id)
        # Without an `id` SQLite numbers the rows on from the last one: those are the reserved numbers.
        commands = {
            **commands,
            **_renumbered(commands, numbers, _COMMAND_REFERENCES),
        }
        calls = {
            **calls,
            **_renumbered(calls, numbers, _CALL_REFERENCES),
        }
        self._store.insert_columns(schema.COMMAND, commands)
        self._store.insert_columns(schema.API_CALL, calls)
        self.damaged_rows += found.damaged_rows
        edges, waits = found.edges, found.waits
        self._store.insert_columns(
            schema.EDGE,
            {
                "command_id": edges[:, 0] + first_command,
                "waits_for_command_id": edges[:, 1] + first_command,
            },
        )
        self._store.insert_columns(
            schema.WAIT,
            {"api_call_id": waits[:, 0] + first_call, "command_id": waits[:, 1] + first_command},
        )
        self.commands += len(commands["api"])


_COMMAND_REFERENCES = {
    "thread_id": "thread",
    "queue_id": "queue",
    "site_id": "site",
    "launch_id": "launch",
    "source_buffer_id": "buffer",
    "target_buffer_id": "buffer",
}
_CALL_REFERENCES = {"thread_id": "thread", "queue_id": "queue", "site_id": "site"}


def _renumbered(
    columns: dict[str, Int64s], numbers: Numbers, references: dict[str, str]
) -> dict[str, Int64s]:
    return {name: numbers.column(table, columns[name]) for name, table in references.items()}


def _buffer_rows(spool: ProcessSpool, numbers: Numbers) -> Iterator[tuple[Any, ...]]:
    releases = {row[0]: (row[1], row[2]) for row in spool.rows(RELEASES).tolist()}
    late = set(spool.released_buffer_ids().tolist()) - releases.keys()
    ended = next(iter(reversed(spool.records(ProcessEnded))), None)
    is_unseen = any(note.code == RELEASES_UNSEEN for note in spool.records(Diagnostic))
    kinds = {int(kind): kind.name.lower().replace("_", "-") for kind in MemoryKind}
    for row in spool.rows(BUFFERS).tolist():
        one = dict(zip(BUFFERS.columns, row, strict=True))
        number = one["buffer_id"]
        fate = "unknown" if is_unseen else "alive"
        if number in releases:
            fate = "released"
        elif number in late:
            fate = "at-exit"
        elif (
            not is_unseen
            and ended is not None
            and ended.how == "exit"
            and one["kind"] != MemoryKind.SVM
        ):
            fate = "leaked"
        after, before = releases.get(number, (None, None))
        yield (
            numbers.of("buffer", number),
            numbers.process_id,
            numbers.of("context", one["context_id"]),
            kinds.get(one["kind"], "unknown"),
            one["flags"],
            one["size_bytes"],
            numbers.of("buffer", one["parent_buffer_id"]),
            *(one[name] or None for name in ("origin_bytes", "width", "height", "depth")),
            numbers.of("site", one["site_id"]),
            numbers.of("thread", one["thread_id"]),
            one["known_host_ns"],
            one["created_here"],
            after,
            before,
            fate,
        )


def _region_columns(spool: ProcessSpool, numbers: Numbers) -> dict[str, Int64s]:
    rows = spool.rows(REGIONS)
    return {
        "name_string_id": numbers.column("string", rows[:, 0]),
        "thread_id": numbers.column("thread", rows[:, 1]),
        "enter_host_ns": rows[:, 2],
        "leave_host_ns": rows[:, 3],
    }


def _segment_rows(kept: KeptTime, numbers: Numbers) -> Iterator[tuple[Any, ...]]:
    for segment in kept.segments:
        _, *rest = astuple(segment)
        yield numbers.of("device", segment.device_id), *rest


def _clock_columns(spool: ProcessSpool, numbers: Numbers) -> dict[str, Int64s]:
    rows = spool.rows(ANCHORS)
    columns = {name: rows[:, index] for index, name in enumerate(ANCHORS.columns)}
    return {"process_id": np.full(len(rows), numbers.process_id), **columns}


def _meta(
    session: SessionFacts, outcome: Outcome | None, missing: list[str], elapsed_ns: int
) -> dict[str, str | None]:
    def text(value: object) -> str | None:
        return None if value is None else str(value)

    command = [word.encode("utf-8", "replace").decode() for word in session.command]
    return {
        "command": json.dumps(command),
        "working_directory": session.working_directory.encode("utf-8", "replace").decode(),
        "host": session.host,
        "cltrace_version": session.cltrace_version,
        "origin_host_ns": text(session.origin_host_ns),
        "started_realtime_ns": text(session.started_realtime_ns),
        "ended_host_ns": text(outcome and outcome.ended_host_ns),
        "exit_status": text(outcome.exit_status if outcome else None),
        "signal": text(outcome.signal if outcome else None),
        "state": "incomplete" if missing else "complete",
        "timing": session.settings.timing,
        "settings": json.dumps(session.settings.to_json()),
        "finalise_ns": text(elapsed_ns),
    }
