"""Safe opening of trace files, which may come from strangers.

SQLite files can contain views, triggers and expressions that run when they are read, and the name of a
table can hide an endless view. So a file is opened read-only, and its schema may contain only the
statements that cltrace writes, which are compared one by one. The views are made anew, in memory, from
cltrace's own definitions. After that, only reads of cltrace's tables and views are authorised.
"""

import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import quote

from cltrace.errors import DamagedTraceError, NewerTraceError, NotATraceError, TraceError
from cltrace.similar_names import suggest_name
from cltrace.trace.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES, tables_of
from cltrace.trace.views import VIEWS
from cltrace.trace.views.older import is_older_view_sql
from cltrace.trace.views.unpacked import UNPACKED_VIEWS, unpacked_views

_MAGIC: Final = b"SQLite format 3\0"
_HEADER_BYTES: Final = 100
_VERSION_AT: Final = 60
_MAX_VALUE_BYTES: Final = 256 << 20
_CHECK_PERIOD: Final = 20_000
"""Number of steps of SQLite's virtual machine between two checks of the time limit."""

_VIEW_SQL: Final = {view.name: view.create_sql for view in VIEWS}
_UNPACKED_SQL: Final = {view.name: view.create_sql for view in UNPACKED_VIEWS}
_SCHEMA_OBJECTS: Final = re.compile(
    r"(sqlite|pragma)_|(dbstat|bytecode|tables_used|fsdir|csv)$", re.IGNORECASE
)
"""Names that a statement must not read: SQLite's own tables and table functions."""

_FUNCTIONS_DENIED: Final = frozenset(
    {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "randomblob", "zeroblob"}
)


class TimeLimitError(Exception):
    """A statement exceeded its time limit."""


def open_trace(path: Path) -> sqlite3.Connection:
    """Return a connection that can only read the tables and views of the trace at `path`.

    Raises: `TraceError` (a missing or unreadable file), `NotATraceError`, `NewerTraceError`,
    `DamagedTraceError`.
    """
    _check_header(path)
    try:
        connection = sqlite3.connect(
            f"{sqlite_uri(path)}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise TraceError(f"{path} cannot be opened: {error}") from error
    try:
        _restrict(connection)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        _check_schema(connection, path, version)
        _make_views(connection, version)
        connection.set_authorizer(_authorise)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        connection.close()
        raise DamagedTraceError(f"{path} is damaged: {error}") from error
    except BaseException:
        connection.close()
        raise
    return connection


def restrict_to_reading(connection: sqlite3.Connection) -> None:
    """Restrict a database in memory to reads of its tables, for statements from anyone."""
    _restrict(connection)
    connection.set_authorizer(_authorise)


def has_trace_header(path: Path) -> bool:
    """Return True for a file that begins as a trace of any version, damaged or not.

    Raises: `TraceError` for one that cannot be read.
    """
    try:
        _check_header(path)
    except NotATraceError:
        return False
    except (DamagedTraceError, NewerTraceError):
        return True
    return True


def limit_time(connection: sqlite3.Connection, seconds: float | None) -> Callable[[], bool]:
    """Stop statements of `connection` `seconds` from now. `None` removes the limit.

    Returns a function that is true once the limit is reached.
    """
    if seconds is None:
        connection.set_progress_handler(None, 0)
        return lambda: False
    deadline = time.monotonic() + seconds
    connection.set_progress_handler(lambda: int(time.monotonic() > deadline), _CHECK_PERIOD)
    return lambda: time.monotonic() > deadline


def _suggest_trace(path: Path) -> str:
    """Return the trace beside a path whose name is most like it, as the end of a message."""
    try:
        names = [each.name for each in path.parent.glob("*.cltrace")]
    except OSError:
        return ""
    return suggest_name(path.name, names)


def _check_header(path: Path) -> None:
    try:
        if path.is_dir():
            raise TraceError(f"{path} is a directory, not a trace")
        # Opening a pipe may wait for ever, and opening a device may have effects.
        if not stat.S_ISREG(path.stat().st_mode):
            raise NotATraceError(
                f"{path} is no regular file, and a trace is a database: name a file"
            )
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except FileNotFoundError as error:
        raise TraceError(f"{path} does not exist{_suggest_trace(path)}") from error
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}") from error
    if not header:
        raise NotATraceError(f"{path} is empty: it is no trace")
    if header[:16] != _MAGIC or len(header) < _HEADER_BYTES:
        raise NotATraceError(f"{path} is not a cltrace trace")
    _check_identity(header, path)


def _check_identity(header: bytes, path: Path) -> None:
    application, version = (
        int.from_bytes(header[68:72], "big"),
        int.from_bytes(header[60:64], "big"),
    )
    if application != APPLICATION_ID:
        raise NotATraceError(f"{path} is an SQLite file, but not a cltrace trace")
    if header[18:20] != b"\x01\x01":
        # Reading a file in WAL mode would create a write-ahead log beside it.
        raise DamagedTraceError(f"{path} is not as cltrace writes it: it has a write-ahead log")
    if not version:
        raise DamagedTraceError(f"{path} is damaged: it has no schema version")
    if version > SCHEMA_VERSION:
        raise NewerTraceError(
            f"{path} has schema {version}, and this cltrace reads up to {SCHEMA_VERSION}: "
            "install a newer cltrace to read it"
        )


def version_of(path: Path) -> int:
    """Return the schema version in the header of a trace that was opened before."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(_HEADER_BYTES)[_VERSION_AT : _VERSION_AT + 4], "big")


def sqlite_uri(path: Path) -> str:
    """Return a path as a URI for SQLite, for any bytes in the path."""
    return "file://" + quote(os.fsencode(path.absolute()))


def _restrict(connection: sqlite3.Connection) -> None:
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")


def _check_schema(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Check that the file has all tables of its version, and nothing that cltrace does not write."""
    objects = connection.execute("SELECT type, name, sql FROM main.sqlite_schema").fetchmany(1000)
    expected = {("table", table.name): table.create_sql for table in tables_of(version)}
    expected |= {("view", name): sql for name, sql in _VIEW_SQL.items()}
    if unpacked_views(version) == UNPACKED_VIEWS:
        expected |= {("view", name): sql for name, sql in _UNPACKED_SQL.items()}
    for kind, name, sql in objects:
        if (kind, name) in expected and sql == expected[kind, name]:
            del expected[kind, name]
        elif kind == "view" and is_older_view_sql(version, name, sql):
            continue
        elif not _is_automatic_index(kind, name):
            shown = re.sub(r"[^\w.]", "?", str(name))[:40]
            raise DamagedTraceError(
                f"{path} is not as cltrace writes it: it has a foreign {kind} {shown!r}"
            )
    missing = [name for kind, name in expected if kind == "table"]
    if missing:
        raise DamagedTraceError(f"{path} is damaged: it has no table {missing[0]!r}")


def _is_automatic_index(kind: object, name: object) -> bool:
    return kind == "index" and isinstance(name, str) and name.startswith("sqlite_autoindex_")


def _make_views(connection: sqlite3.Connection, version: int) -> None:
    """Create cltrace's views. Tables that an older file lacks are created empty."""
    connection.execute("PRAGMA query_only = OFF")
    for table in TABLES:
        if table.since > version:
            connection.execute(table.create_sql.replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
    for view in (*unpacked_views(version), *VIEWS):
        connection.execute(f"CREATE TEMP VIEW {view.name} AS {view.select_sql}")
    connection.execute("PRAGMA query_only = ON")


def _authorise(
    action: int,
    first: str | None,
    second: str | None,
    _: str | None,
    __: str | None,
) -> int:
    """Allow only reads of cltrace's tables and views, and pure functions."""
    match action:
        case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_RECURSIVE:
            return sqlite3.SQLITE_OK
        case sqlite3.SQLITE_READ:
            # The file contains only cltrace's tables, so any other name is defined by the statement.
            is_hidden = _SCHEMA_OBJECTS.match(first or "") is not None
            return sqlite3.SQLITE_DENY if is_hidden else sqlite3.SQLITE_OK
        case sqlite3.SQLITE_FUNCTION:
            is_denied = (second or "").lower() in _FUNCTIONS_DENIED
            return sqlite3.SQLITE_DENY if is_denied else sqlite3.SQLITE_OK
        case _:
            return sqlite3.SQLITE_DENY
