"""Writer that makes a trace of the spools of its processes."""

import json
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from cltrace.errors import DamagedTraceError, SpoolError
from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.events.clocks import ClockSegment
from cltrace.events.kinds import Severity
from cltrace.events.tables import CALLS, LAUNCHES
from cltrace.spool.layout import removed_processes, untraced_reasons
from cltrace.spool.reader import ProcessSpool, read_parts
from cltrace.spool.settings import (
    CommandOutcome,
    SessionFacts,
    current_boot_id,
    read_outcome,
    read_session,
)
from cltrace.trace import schema
from cltrace.trace.assembly import assemble_host_calls
from cltrace.trace.catalogue import Catalogue, catalogue_of_spool
from cltrace.trace.commands import Int64s, QueueFacts, StoredHostCalls, packed_times, queue_facts
from cltrace.trace.content_rows import ContentWriter
from cltrace.trace.database import TraceDatabase
from cltrace.trace.handles import MemoryHandles
from cltrace.trace.launch_rows import LaunchWriter
from cltrace.trace.launches import LaunchConfigurations
from cltrace.trace.masking import mask_record
from cltrace.trace.missing_data import MissingData, find_missing_data
from cltrace.trace.native_sites import with_source_places
from cltrace.trace.object_rows import (
    BUFFER_TEXTS,
    buffer_columns,
    clock_columns,
    region_columns,
    segment_rows,
)
from cltrace.trace.power import add_recorded_power
from cltrace.trace.process_rows import record_rows, valid_unicode
from cltrace.trace.progress import Progress, no_progress
from cltrace.trace.renumbering import TraceIdAllocator, TraceIds
from cltrace.trace.rollup_builder import ApiRollupBuilder, RollupBuilder, write_rollups
from cltrace.trace.scratch import PART_ROWS, Scratch
from cltrace.trace.stored_columns import StoredColumns

if TYPE_CHECKING:
    from cltrace.trace.rollup import ApiRollup

_LARGE_TRACE_COMMANDS: Final = 10_000


@dataclass(frozen=True, slots=True)
class FinalisedTrace:
    """A trace that was written, with the number of its processes and commands.

    `running_pids` are processes that were still running. Their further activity is not in the trace.
    """

    path: Path
    processes: int
    commands: int
    missing: MissingData
    running_pids: tuple[int, ...]

    @property
    def is_complete(self) -> bool:
        """True if nothing is known to be missing."""
        return not self.missing.reasons


ClockFitter = Callable[[StoredHostCalls, QueueFacts], tuple[ClockSegment, ...]]
"""Function that fits the clocks of a process's devices to the host's clock (`timeline.timekeeping`).

It sets the `StampFault` bits in the `flags` of the commands."""


def finalise(
    parts: Path,
    path: Path,
    fit_clocks: ClockFitter,
    *,
    progress: Progress = no_progress,
    part_rows: int = PART_ROWS,
) -> FinalisedTrace:
    """Write the trace of the spools in `parts` to `path`. The spools stay unchanged.

    Memory is bounded: `part_rows` rows are processed at once, and scratch files beside the trace take the
    others.

    Raises: `SpoolError` if the spools cannot be read, `OutputError` if the trace cannot be written.
    """
    begin_ns = time.perf_counter_ns()
    session, outcome, all_spools = read_session(parts), read_outcome(parts), read_parts(parts)
    spools = [_prepare(spool, session) for spool in all_spools if spool.all_records]
    database = TraceDatabase(path, is_large=sum(map(_call_count, spools)) > _LARGE_TRACE_COMMANDS)
    try:
        scratch = Scratch(path.absolute().parent, part_rows=part_rows)
        builder = _TraceBuilder(database, fit_clocks, scratch, progress)
        for spool in spools:
            builder.add(spool)
        untraced = untraced_reasons(parts)
        losses = (builder.damaged_rows, untraced, removed_processes(parts))
        missing = find_missing_data(all_spools, session, outcome, *losses)
        builder.note_untraced(untraced)
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
    running = _running_pids(spools)
    return FinalisedTrace(path, len(spools), builder.commands, missing, running)


def _prepare(spool: ProcessSpool, session: SessionFacts) -> ProcessSpool:
    """Return a spool with masked secrets, and source places of native call sites.

    Places are in modules outside of the parts, which a stranger may have named: they are looked up only
    if this machine recorded the spool.
    """
    if not session.settings.keep_secrets:
        spool = replace(spool, all_records=tuple(map(mask_record, spool.all_records)))
    is_own = bool(session.boot_id) and session.boot_id == current_boot_id()
    return with_source_places(spool) if is_own else spool


def _running_pids(spools: list[ProcessSpool]) -> tuple[int, ...]:
    return tuple(
        spool.identity.pid for spool in spools if not spool.is_complete and spool.identity.is_alive
    )


def _call_count(spool: ProcessSpool) -> int:
    return spool.row_count(LAUNCHES) + spool.row_count(CALLS)


class _TraceBuilder:
    """Builder that fills a trace's database, process by process."""

    def __init__(
        self, database: TraceDatabase, fit_clocks: ClockFitter, scratch: Scratch, progress: Progress
    ) -> None:
        self._database = database
        self._fit_clocks = fit_clocks
        self._scratch = scratch
        self._progress = progress
        self._ids = TraceIdAllocator()
        self._rollups = RollupBuilder(scratch)
        self._api_rollups: list[tuple[int, ApiRollup]] = []
        self._contents = ContentWriter(database)
        self.commands = 0
        self.damaged_rows = 0

    def add(self, spool: ProcessSpool) -> None:
        """Add one process."""
        ids = self._ids.add_process(spool)
        by_table: dict[str, tuple[schema.Table, list[Any]]] = defaultdict()
        for table, row in record_rows(spool, ids):
            by_table.setdefault(table.name, (table, []))[1].append(row)
        for table, rows in by_table.values():
            self._database.insert(table, rows)
        for columns in buffer_columns(spool, ids, self._scratch):
            self._database.insert_columns(schema.BUFFER, columns, texts=BUFFER_TEXTS)
        for columns in region_columns(spool, ids, self._scratch):
            self._database.insert_columns(schema.REGION, columns)
        self._database.insert_columns(schema.HOST_CLOCK, clock_columns(spool, ids))
        handles = MemoryHandles(spool, self._scratch)
        configurations = LaunchConfigurations(spool, handles, self._scratch)
        launch_writer = LaunchWriter(self._database, ids, configurations.forms)
        configurations.define = launch_writer.add
        host_calls, positions = assemble_host_calls(
            spool, self._scratch, configurations, handles, self._progress
        )
        self._ids.reserve("launch_block", launch_writer.finish())
        self._ids.reserve("launch", len(configurations))
        self._progress("fitting the clocks")
        segments = self._fit_clocks(host_calls, queue_facts(spool))
        self._database.insert(schema.CLOCK_SEGMENT, segment_rows(segments, ids))
        self._contents.add(spool, _launches_at(host_calls.commands, positions), ids)
        self._add_calls(host_calls, catalogue_of_spool(spool, ids), ids)

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
        missing: MissingData,
        elapsed_ns: int,
    ) -> None:
        """Add the rollups and the facts about the whole trace."""
        kinds = {int(api): COMMAND_KINDS.get(api) for api in Api}
        self._database.insert(schema.API, ((int(api), api.name, kinds[int(api)]) for api in Api))
        self._progress("summing up")
        write_rollups(self._database, self._rollups, self._api_rollups)
        self._database.insert(schema.META, _meta(session, outcome, missing, elapsed_ns).items())
        texts = map(valid_unicode, missing.reasons)
        warnings = ((None, None, Severity.WARNING, "incomplete", text, None) for text in texts)
        self._database.insert(schema.DIAGNOSTIC, warnings)

    def _add_calls(self, host_calls: StoredHostCalls, catalogue: Catalogue, ids: TraceIds) -> None:
        first_command = self._ids.reserve("command", host_calls.commands.row_count)
        first_call = self._ids.reserve("api_call", host_calls.calls.row_count)
        api_rollups = ApiRollupBuilder(self._scratch)
        # SQLite gives rows without an `id` the numbers after the last one: these are the reserved ids.
        for commands in host_calls.commands.parts():
            self._rollups.add_commands(commands, catalogue)
            api_rollups.add(commands)
            own = _trace_id_columns(commands, ids, _COMMAND_REFERENCES)
            self._database.insert_columns(
                schema.PACKED_COMMAND, {**commands, **own, **packed_times(commands)}
            )
            self.commands += len(commands["api"])
            self._progress(f"{self.commands} commands written")
        self._rollups.end_catalogue(catalogue)
        for calls in host_calls.calls.parts():
            api_rollups.add(calls)
            own = _trace_id_columns(calls, ids, _CALL_REFERENCES)
            self._database.insert_columns(schema.API_CALL, {**calls, **own})
        self._api_rollups += [(ids.process_id, rollup) for rollup in api_rollups.rollups()]
        self.damaged_rows += host_calls.damaged_rows
        for pairs, table, firsts in (
            (host_calls.edges, schema.EDGE, (first_command, first_command)),
            (host_calls.waits, schema.WAIT, (first_call, first_command)),
        ):
            for part in pairs.parts():
                columns = zip(table.column_names, (part + np.array(firsts)).T, strict=True)
                self._database.insert_columns(table, dict(columns))


def _launches_at(commands: StoredColumns, positions: list[int]) -> list[int]:
    """Return the launch configuration of the commands at some positions; 0 for position -1."""
    first = commands.first_rows()
    launches = []
    for position in positions:
        if position < 0:
            launches.append(0)
            continue
        number = bisect_right(first, position) - 1
        launch_id = commands.part(number, ["launch_id"])["launch_id"]
        launches.append(int(launch_id[position - first[number]]))
    return launches


_COMMAND_REFERENCES = {
    "thread_id": "thread",
    "queue_id": "queue",
    "site_id": "site",
    "launch_id": "launch",
    "kernel_id": "kernel",
    "source_buffer_id": "buffer",
    "target_buffer_id": "buffer",
}
_CALL_REFERENCES = {"thread_id": "thread", "queue_id": "queue", "site_id": "site"}


def _trace_id_columns(
    columns: dict[str, Int64s], ids: TraceIds, references: dict[str, str]
) -> dict[str, Int64s]:
    return {name: ids.column(table, columns[name]) for name, table in references.items()}


def _meta(
    session: SessionFacts, outcome: CommandOutcome | None, missing: MissingData, elapsed_ns: int
) -> dict[str, str | None]:
    def text(value: object) -> str | None:
        return None if value is None else str(value)

    def storable(value: str) -> str:
        return value.encode("utf-8", "replace").decode()

    return {
        "command": json.dumps([storable(word) for word in session.command]),
        "working_directory": storable(session.working_directory),
        "host": storable(session.host),
        "cltrace_version": storable(session.cltrace_version),
        "origin_host_ns": text(session.origin_host_ns),
        "started_realtime_ns": text(session.started_realtime_ns),
        "ended_host_ns": text(outcome and outcome.ended_host_ns),
        "exit_status": text(outcome.exit_status if outcome else None),
        "signal": text(outcome.signal if outcome else None),
        "state": "incomplete" if missing.reasons else "complete",
        "commands_missing": text(missing.commands),
        "timing": session.settings.timing,
        "settings": json.dumps(session.settings.to_json()),
        "finalise_ns": text(elapsed_ns),
    }
