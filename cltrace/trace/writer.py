"""Writer that makes a trace of the spools of its processes."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from cltrace.errors import DamagedTraceError, SpoolError
from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.events.clocks import ProcessClocks
from cltrace.events.kinds import FAULT_SHIFT, RELEASES_UNSEEN, MemoryKind, Severity
from cltrace.events.records import Content, Diagnostic, ProcessEnded
from cltrace.events.tables import ANCHORS, BUFFERS, CALLS, LAUNCHES, REGIONS, RELEASES
from cltrace.spool.layout import untraced_reasons
from cltrace.spool.reader import ProcessSpool, read_parts
from cltrace.spool.settings import CommandOutcome, SessionFacts, read_outcome, read_session
from cltrace.trace import schema
from cltrace.trace.catalogue import Catalogue, catalogue_of_spool
from cltrace.trace.command_groups import RollupBuilder, group_commands, write_rollups
from cltrace.trace.commands import HostCalls, Int64s, QueueFacts, assemble_host_calls, queue_facts
from cltrace.trace.database import TraceDatabase
from cltrace.trace.launches import LaunchConfigurations
from cltrace.trace.native_sites import with_source_places
from cltrace.trace.power import add_recorded_power
from cltrace.trace.process_rows import launch_rows, record_rows, valid_unicode
from cltrace.trace.renumbering import TraceIdAllocator, TraceIds

_LARGE_TRACE_COMMANDS: Final = 10_000


@dataclass(frozen=True, slots=True)
class FinalisedTrace:
    """A trace that was written, with the number of its processes and commands.

    `running_pids` are processes that were still running. Their further activity is not in the trace.
    """

    path: Path
    processes: int
    commands: int
    is_complete: bool
    running_pids: tuple[int, ...]


ClockFitter = Callable[[HostCalls, QueueFacts], ProcessClocks]
"""Function that fits the clocks of a process's devices to the host's clock (`timeline.timekeeping`)."""


def finalise(parts: Path, path: Path, fit_clocks: ClockFitter) -> FinalisedTrace:
    """Write the trace of the spools in `parts` to `path`. The spools stay unchanged.

    Raises: `SpoolError` if the spools cannot be read, `OutputError` if the trace cannot be written.
    """
    begin_ns = time.perf_counter_ns()
    session, outcome = read_session(parts), read_outcome(parts)
    spools = [with_source_places(spool) for spool in read_parts(parts) if spool.all_records]
    database = TraceDatabase(path, is_large=sum(map(_call_count, spools)) > _LARGE_TRACE_COMMANDS)
    try:
        builder = _TraceBuilder(database, fit_clocks)
        for spool in spools:
            builder.add(spool)
        running = tuple(
            spool.identity.pid
            for spool in spools
            if not spool.is_complete and spool.identity.is_alive
        )
        missing = _missing_data(spools, outcome)
        if builder.damaged_rows:
            missing.append(f"{builder.damaged_rows} damaged host calls were left out")
        builder.note_untraced(untraced_reasons(parts))
        add_recorded_power(database, parts)
        builder.finish(session, outcome, missing, time.perf_counter_ns() - begin_ns)
        database.check()
        database.commit()
    except DamagedTraceError as error:
        database.discard_quietly()
        raise SpoolError(f"{parts} is damaged beyond repair: {error}") from error
    except BaseException:
        database.discard_quietly()
        raise
    return FinalisedTrace(path, len(spools), builder.commands, not missing, running)


def _call_count(spool: ProcessSpool) -> int:
    return len(spool.rows(LAUNCHES)) + len(spool.rows(CALLS))


def _missing_data(spools: list[ProcessSpool], outcome: CommandOutcome | None) -> list[str]:
    """Return the reasons why the trace is incomplete; none if it is complete."""
    reasons = []
    is_recording = any(spool.identity.is_alive and not spool.is_complete for spool in spools)
    if outcome is None and not is_recording:
        reasons.append("the recording process ended before it recorded the command's exit status")
    for spool in spools:
        pid = spool.identity.pid
        if spool.damaged_lines:
            reasons.append(f"process {pid}: {spool.damaged_lines} damaged records were left out")
        if spool.is_complete:
            continue
        if spool.identity.is_alive:
            reasons.append(f"process {pid} was still running when this trace was made")
        else:
            reasons.append(
                f"process {pid} did not record its end: it was killed, and up to its last 100 ms are "
                "missing, or it could not write any more"
            )
    return reasons


class _TraceBuilder:
    """Builder that fills a trace's database, process by process."""

    def __init__(self, database: TraceDatabase, fit_clocks: ClockFitter) -> None:
        self._database = database
        self._fit_clocks = fit_clocks
        self._ids = TraceIdAllocator()
        self._rollups = RollupBuilder()
        self._contents: dict[str, int] = {}
        self.commands = 0
        self.damaged_rows = 0

    def add(self, spool: ProcessSpool) -> None:
        """Add one process."""
        ids = self._ids.add_process(spool)
        host_calls, configurations = assemble_host_calls(spool)
        self._ids.reserve("launch", len(configurations))
        by_table: dict[str, tuple[schema.Table, list[Any]]] = defaultdict()
        for table, row in chain(record_rows(spool, ids), launch_rows(configurations, ids)):
            by_table.setdefault(table.name, (table, []))[1].append(row)
        for table, rows in by_table.values():
            self._database.insert(table, rows)
        self._database.insert(schema.BUFFER, _buffer_rows(spool, ids))
        self._add_contents(spool, configurations, ids)
        self._database.insert_columns(schema.REGION, _region_columns(spool, ids))
        self._database.insert_columns(schema.HOST_CLOCK, _clock_columns(spool, ids))
        clocks = self._fit_clocks(host_calls, queue_facts(spool))
        host_calls.commands["flags"] |= clocks.faults << FAULT_SHIFT
        self._database.insert(schema.CLOCK_SEGMENT, _segment_rows(clocks, ids))
        catalogue = catalogue_of_spool(spool, ids, configurations.kernel_ids)
        self._add_calls(host_calls, catalogue, ids)

    def note_untraced(self, reasons: dict[int, list[str]]) -> None:
        """Add the reasons for which processes were not traced."""
        self._database.insert(
            schema.DIAGNOSTIC,
            (
                (
                    None,
                    None,
                    Severity.WARNING,
                    "untraced",
                    f"process {pid}: {valid_unicode(text)}",
                    None,
                )
                for pid, texts in sorted(reasons.items())
                for text in texts
            ),
        )

    def finish(
        self,
        session: SessionFacts,
        outcome: CommandOutcome | None,
        missing: list[str],
        elapsed_ns: int,
    ) -> None:
        """Add the rollups and the facts about the whole trace."""
        kinds = {int(api): COMMAND_KINDS.get(api) for api in Api}
        self._database.insert(schema.API, ((int(api), api.name, kinds[int(api)]) for api in Api))
        write_rollups(self._database, self._rollups)
        self._database.insert(schema.META, _meta(session, outcome, missing, elapsed_ns).items())
        warnings = ((None, None, Severity.WARNING, "incomplete", text, None) for text in missing)
        self._database.insert(schema.DIAGNOSTIC, warnings)

    def _add_contents(
        self, spool: ProcessSpool, configurations: LaunchConfigurations, ids: TraceIds
    ) -> None:
        contents = spool.records(Content)
        launches = configurations.first_with(
            [(content.circumstance_id, content.arguments_id) for content in contents]
        )
        added = set()
        for content, launch_id in zip(contents, launches, strict=True):
            where = ids.of("buffer", content.buffer_id), ids.of("launch", launch_id)
            if where in added:
                continue
            added.add(where)
            data_id = self._contents.get(content.sha256)
            if data_id is None:
                data_id = self._contents[content.sha256] = len(self._contents) + 1
                stored = spool.stored_content(content)
                row = (data_id, content.sha256, content.size_bytes, stored)
                self._database.insert(schema.CONTENT_DATA, [row])
            self._database.insert(schema.CONTENT, [(*where, content.written_host_ns, data_id)])

    def _add_calls(self, host_calls: HostCalls, catalogue: Catalogue, ids: TraceIds) -> None:
        commands, calls = host_calls.commands, host_calls.calls
        first_command = self._ids.reserve("command", len(commands["api"]))
        first_call = self._ids.reserve("api_call", len(calls["api"]))
        groups = group_commands(commands, catalogue)
        self._rollups.add(groups, commands, calls, ids.process_id)
        # SQLite gives rows without an `id` the numbers after the last one: these are the reserved ids.
        commands = {
            **commands,
            **_trace_id_columns(commands, ids, _COMMAND_REFERENCES),
        }
        calls = {
            **calls,
            **_trace_id_columns(calls, ids, _CALL_REFERENCES),
        }
        self._database.insert_columns(schema.COMMAND, commands)
        self._database.insert_columns(schema.API_CALL, calls)
        self.damaged_rows += host_calls.damaged_rows
        edges, waits = host_calls.edges, host_calls.waits
        self._database.insert_columns(
            schema.EDGE,
            {
                "command_id": edges[:, 0] + first_command,
                "waits_for_command_id": edges[:, 1] + first_command,
            },
        )
        self._database.insert_columns(
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


def _trace_id_columns(
    columns: dict[str, Int64s], ids: TraceIds, references: dict[str, str]
) -> dict[str, Int64s]:
    return {name: ids.column(table, columns[name]) for name, table in references.items()}


def _buffer_rows(spool: ProcessSpool, ids: TraceIds) -> Iterator[tuple[Any, ...]]:
    releases = {row[0]: (row[1], row[2]) for row in spool.rows(RELEASES).tolist()}
    late = set(spool.released_buffer_ids().tolist()) - releases.keys()
    ended = next(iter(reversed(spool.records(ProcessEnded))), None)
    is_unseen = any(note.code == RELEASES_UNSEEN for note in spool.records(Diagnostic))
    kinds = {int(kind): kind.name.lower().replace("_", "-") for kind in MemoryKind}
    for row in spool.rows(BUFFERS).tolist():
        buffer = dict(zip(BUFFERS.columns, row, strict=True))
        number = buffer["buffer_id"]
        fate = "unknown" if is_unseen else "alive"
        if number in releases:
            fate = "released"
        elif number in late:
            fate = "at-exit"
        elif (
            not is_unseen
            and ended is not None
            and ended.how == "exit"
            and buffer["kind"] != MemoryKind.SVM
        ):
            fate = "leaked"
        after, before = releases.get(number, (None, None))
        yield (
            ids.of("buffer", number),
            ids.process_id,
            ids.of("context", buffer["context_id"]),
            kinds.get(buffer["kind"], "unknown"),
            buffer["flags"],
            buffer["size_bytes"],
            ids.of("buffer", buffer["parent_buffer_id"]),
            *(buffer[name] or None for name in ("origin_bytes", "width", "height", "depth")),
            ids.of("site", buffer["site_id"]),
            ids.of("thread", buffer["thread_id"]),
            buffer["known_host_ns"],
            buffer["created_here"],
            after,
            before,
            fate,
        )


def _region_columns(spool: ProcessSpool, ids: TraceIds) -> dict[str, Int64s]:
    rows = spool.rows(REGIONS)
    return {
        "name_string_id": ids.column("string", rows[:, 0]),
        "thread_id": ids.column("thread", rows[:, 1]),
        "enter_host_ns": rows[:, 2],
        "leave_host_ns": rows[:, 3],
    }


def _segment_rows(clocks: ProcessClocks, ids: TraceIds) -> Iterator[tuple[Any, ...]]:
    for segment in clocks.segments:
        _, *rest = astuple(segment)
        yield ids.of("device", segment.device_id), *rest


def _clock_columns(spool: ProcessSpool, ids: TraceIds) -> dict[str, Int64s]:
    rows = spool.rows(ANCHORS)
    columns = {name: rows[:, index] for index, name in enumerate(ANCHORS.columns)}
    return {"process_id": np.full(len(rows), ids.process_id), **columns}


def _meta(
    session: SessionFacts, outcome: CommandOutcome | None, missing: list[str], elapsed_ns: int
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
