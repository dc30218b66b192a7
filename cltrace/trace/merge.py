"""Merging of several traces into one file: ranks of a parallel run, or runs to compare."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from cltrace.errors import DamagedTraceError, UsageError
from cltrace.trace import schema
from cltrace.trace.catalogue import catalogue_of_trace
from cltrace.trace.database import TraceDatabase
from cltrace.trace.guard import open_trace, version_of
from cltrace.trace.progress import Progress, no_progress
from cltrace.trace.reader import Trace, parse_integer
from cltrace.trace.rollup_builder import RollupBuilder, write_rollups
from cltrace.trace.scratch import Scratch
from cltrace.trace.table_copies import launch_ids, table_copies
from cltrace.trace.validation import REFERENCES, check_values

_NOT_COPIED: Final = frozenset({"meta", "api", "rollup", "api_rollup"})
_SUMMED_COLUMNS: Final = (
    *("api", "queue_id", "thread_id", "site_id", "kernel_id"),
    *(
        "enter_host_ns",
        "queued_device_ns",
        "start_device_ns",
        "end_device_ns",
        "complete_host_ns",
        "size_bytes",
        "flags",
    ),
)


def merge(paths: Sequence[Path], target: Path, *, progress: Progress = no_progress) -> int:
    """Merge the traces at `paths` into a trace at `target` and return the number of commands.

    Processes, devices and all other objects stay separate. Host times stay on the clock of the host on
    which they were read. `progress` shows the state of a long merge.
    Raises: `UsageError`, `TraceError`, `OutputError`.
    """
    if len(paths) < 2:
        raise UsageError("merging needs two traces or more")
    database = TraceDatabase(target)
    try:
        merger = _Merger(database, Scratch(target.absolute().parent), progress)
        for path in paths:
            merger.add(path)
        merger.finish()
        database.commit()
    except BaseException:
        database.discard_quietly()
        raise
    return merger.commands


class _Merger:
    """Writer that copies traces into a database, one after another."""

    def __init__(self, database: TraceDatabase, scratch: Scratch, progress: Progress) -> None:
        self._database = database
        self._progress = progress
        self._offsets: dict[str, int] = {}
        self._metas: list[dict[str, Any]] = []
        self._rollups = RollupBuilder(scratch)
        self._process_sums: list[tuple[Any, ...]] = []
        self.commands = 0

    def add(self, path: Path) -> None:
        """Copy the trace at `path`."""
        connection = open_trace(path)
        try:
            self._copy(connection, path)
        except (sqlite3.Error, TypeError, OverflowError, ValueError) as error:
            raise DamagedTraceError(f"{path} is damaged: {error}") from error
        finally:
            connection.close()

    def finish(self) -> None:
        """Add the rollups and the facts about the whole trace."""
        write_rollups(self._database, self._rollups, [])
        self._database.insert(schema.API_ROLLUP, self._process_sums)
        self._database.insert(schema.META, _merged_meta(self._metas).items())

    def _copy(self, connection: sqlite3.Connection, path: Path) -> None:
        def read(sql: str) -> list[tuple[Any, ...]]:
            return connection.execute(sql).fetchall()

        self._progress(f"{path.name}: checking")
        check_values(connection, path)
        if not self._metas:
            self._database.insert(schema.API, read("SELECT * FROM api"))
        meta = dict(read("SELECT key, value FROM meta"))
        self._metas.append({**meta, "path": str(path)})
        used = dict(self._offsets)
        version = version_of(path)
        copies = [
            copy
            for copy in table_copies(version, used, REFERENCES)
            if copy.table.name not in _NOT_COPIED
        ]
        for copy in copies:
            if copy.max_id_sql is not None:
                self._skip_ids(copy.table.name, read(copy.max_id_sql)[0][0])
        self._skip_ids("launch", read(launch_ids(version))[0][0])
        # Commands are numbered as their packed rows are.
        self._offsets["command"] = self._offsets["packed_command"]
        self._progress(f"{path.name}: copying")
        self._database.copy(path, copies)
        process_offset = used.get("process", 0)
        for process, *rest in read("SELECT * FROM api_rollup"):
            self._process_sums.append((process + process_offset, *rest))
        catalogue = catalogue_of_trace(read, used)
        expressions = {name: name for name in _SUMMED_COLUMNS}
        with Trace(path) as trace:
            for columns in trace.column_parts("command", expressions):
                commands = {**columns, "flags": np.maximum(columns["flags"], 0)}
                self._rollups.add_commands(commands, catalogue)
                self.commands += len(commands["api"])
                self._progress(f"{path.name}: {self.commands} commands summed up")
        self._rollups.end_catalogue(catalogue)

    def _skip_ids(self, table: str, max_id: int | None) -> None:
        """Give the ids up to the highest of a trace to that trace."""
        self._offsets[table] = self._offsets.get(table, 0) + int(max_id or 0)


def _integers(metas: list[dict[str, Any]], key: str) -> list[int]:
    numbers = (parse_integer(meta.get(key)) for meta in metas)
    return [number for number in numbers if number is not None]


def _failure_rank(meta: dict[str, Any]) -> tuple[int, int]:
    """Return a rank that is higher for a worse end: signals rank above statuses."""
    return parse_integer(meta.get("signal")) or 0, parse_integer(meta.get("exit_status")) or 0


def _merged_meta(metas: list[dict[str, Any]]) -> dict[str, str | None]:
    """Return the merged facts: those of the first trace, with the whole time span and the worst end."""
    origins = _integers(metas, "origin_host_ns")
    ends = _integers(metas, "ended_host_ns")
    hosts = {meta.get("host") for meta in metas}
    is_complete = all(meta.get("state") == "complete" for meta in metas)
    same_clock = len(hosts) == 1
    worst = max(metas, key=_failure_rank)
    return {
        **{key: value for key, value in metas[0].items() if key != "path"},
        "merged_from": json.dumps([meta["path"] for meta in metas]),
        "host": ", ".join(sorted(str(host) for host in hosts)),
        "origin_host_ns": str(min(origins)) if origins and same_clock else None,
        "ended_host_ns": str(max(ends)) if ends and same_clock else None,
        "exit_status": worst.get("exit_status"),
        "signal": worst.get("signal"),
        "state": "complete" if is_complete else "incomplete",
        "commands_missing": _sum_missing(metas),
    }


def _sum_missing(metas: list[dict[str, Any]]) -> str | None:
    """Return the number of commands that the traces lack, None where one does not know it."""
    counts = [
        parse_integer(meta.get("commands_missing", None if _is_incomplete(meta) else "0"))
        for meta in metas
    ]
    return None if None in counts else str(sum(count for count in counts if count is not None))


def _is_incomplete(meta: dict[str, Any]) -> bool:
    return meta.get("state") != "complete"
