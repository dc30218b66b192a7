"""Several traces in one file: ranks of a parallel run, or runs to be looked at together."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from cltrace.errors import DamagedTraceError, UsageError
from cltrace.trace import schema
from cltrace.trace.catalogue import catalogue_of_rows
from cltrace.trace.command_groups import Grouping, groupings, write_rollups
from cltrace.trace.database import Store
from cltrace.trace.guard import open_trace, version_of
from cltrace.trace.reader import Trace, whole_number
from cltrace.trace.schema import Table
from cltrace.trace.validation import REFERENCES, check_values

_NOT_COPIED: Final = frozenset({"meta", "api", "rollup", "api_rollup"})
_SUMMED_COLUMNS: Final = (
    *("api", "queue_id", "thread_id", "site_id", "launch_id", "enter_host_ns", "return_host_ns"),
    *("queued_device_ns", "start_device_ns", "end_device_ns", "complete_host_ns", "size_bytes"),
    "flags",
)


def merge(paths: Sequence[Path], target: Path) -> int:
    """Put the traces at `paths` into one at `target` and return the number of commands.

    Processes, devices and all else keep apart; host times stay on the clock of the host that they
    were read on. Raises: `UsageError`, `TraceError`, `OutputError`.
    """
    if len(paths) < 2:
        raise UsageError("merging takes two traces or more")
    store = Store(target)
    try:
        merger = _Merger(store)
        for path in paths:
            merger.add(path)
        merger.finish()
        store.commit()
    except BaseException:
        store.discard_quietly()
        raise
    return merger.commands


class _Merger:
    """Copies traces into a store, one after another."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._offsets: dict[str, int] = {}
        self._metas: list[dict[str, Any]] = []
        self._grouping = Grouping()
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
        """Add what concerns the whole."""
        write_rollups(self._store, self._grouping)
        self._store.insert(schema.API_ROLLUP, self._process_sums)
        self._store.insert(schema.META, _merged_meta(self._metas).items())

    def _copy(self, connection: sqlite3.Connection, path: Path) -> None:
        def read(sql: str) -> list[tuple[Any, ...]]:
            return connection.execute(sql).fetchall()

        check_values(connection, path)
        if not self._metas:
            self._store.insert(schema.API, read("SELECT * FROM api"))
        meta = dict(read("SELECT key, value FROM meta"))
        self._metas.append({**meta, "path": str(path)})
        used = dict(self._offsets)
        version = version_of(path)
        copied = {}
        for table in schema.TABLES:
            if table.name in _NOT_COPIED or table.since > version:
                continue
            highest = 0
            if "id" in table.column_names:
                highest = read(f"SELECT coalesce(max(id), 0) FROM {table.name}")[0][0]
            self._offsets[table.name] = used.get(table.name, 0) + int(highest)
            copied[table] = _moved(table, used)
        self._store.copy(path, copied)
        process_offset = used.get("process", 0)
        for process, *rest in read("SELECT * FROM api_rollup"):
            self._process_sums.append((process + process_offset, *rest))
        catalogue = catalogue_of_rows(read, used)
        with Trace(path) as trace:
            for columns in trace.parts("command", {name: name for name in _SUMMED_COLUMNS}):
                commands = {**columns, "flags": np.maximum(columns["flags"], 0)}
                self._grouping.add_commands(groupings(commands, catalogue), commands)
                self.commands += len(commands["api"])


def _moved(table: Table, offsets: dict[str, int]) -> list[str]:
    """The columns of a table with all numbers moved behind those that are used, as SQL."""
    moves = {
        name: offsets.get(table.name if name == "id" else REFERENCES.get(name, ""), 0)
        for name in table.column_names
    }
    return [f"{name} + {move}" if move else name for name, move in moves.items()]


def _numbers(metas: list[dict[str, Any]], key: str) -> list[int]:
    found = (whole_number(meta.get(key)) for meta in metas)
    return [number for number in found if number is not None]


def _badness(meta: dict[str, Any]) -> tuple[int, int]:
    """Larger for a worse end: a signal before a status, a high status before a low one."""
    return whole_number(meta.get("signal")) or 0, whole_number(meta.get("exit_status")) or 0


def _merged_meta(metas: list[dict[str, Any]]) -> dict[str, str | None]:
    """The first trace's facts, the longest time, the worst end."""
    origins = _numbers(metas, "origin_host_ns")
    ends = _numbers(metas, "ended_host_ns")
    hosts = {meta.get("host") for meta in metas}
    is_complete = all(meta.get("state") == "complete" for meta in metas)
    same_clock = len(hosts) == 1
    worst = max(metas, key=_badness)
    return {
        **{key: value for key, value in metas[0].items() if key != "path"},
        "merged_from": json.dumps([meta["path"] for meta in metas]),
        "host": ", ".join(sorted(str(host) for host in hosts)),
        "origin_host_ns": str(min(origins)) if origins and same_clock else None,
        "ended_host_ns": str(max(ends)) if ends and same_clock else None,
        "exit_status": worst.get("exit_status"),
        "signal": worst.get("signal"),
        "state": "complete" if is_complete else "incomplete",
    }
