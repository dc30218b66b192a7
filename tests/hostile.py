"""Traces as an attacker would make them. Each maker changes a good trace into a bad one."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

PAYLOADS = (
    "\x1b]0;owned\x07\x1b[2J\x1b[31m",
    "[bold red]markup[/bold red][link=http://evil]x[/link]",
    '=HYPERLINK("http://evil")',
    "@SUM(1+1)",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "| a | b |\n\n# heading `code` <b>",
    "\u202egnp.exe\u2066\u200b",
    "../../../../etc/passwd",
    "%s%n{0}{x}$(id)`id`",
    "\ud800 lone",
    "a\x00b\r\n\tc",
    "x" * 5000,
)


def hostile_text(text: str) -> str:
    """A text with everything in it that a reader could stumble over; different ones stay different."""
    at = sum(map(ord, text))
    return f"{PAYLOADS[at % len(PAYLOADS)]}{text}{PAYLOADS[(at + 5) % len(PAYLOADS)]}"


Change = Callable[[sqlite3.Connection], None]


def changed(path: Path, change: Change) -> Path:
    """The trace at `path` after `change`, which may write what no cltrace writes."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA writable_schema = ON")
    change(database)
    database.close()
    return path


def _columns(database: sqlite3.Connection) -> list[tuple[str, str]]:
    tables = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    return [
        (table, column[1])
        for (table,) in tables
        for column in database.execute(f"PRAGMA table_info({table})").fetchall()
    ]


def fill_all(value: object, max_rows: int | None = None) -> Change:
    """Every value of every column that takes it becomes `value`, in all rows or the first of a table."""

    def change(database: sqlite3.Connection) -> None:
        database.execute("BEGIN")
        for table, column in _columns(database):
            if table.startswith("sqlite_"):
                continue
            rows = f" WHERE rowid IN (SELECT rowid FROM {table} LIMIT {max_rows})"
            if max_rows is None or table == "meta":  # few rows, without an id
                rows = ""
            with contextlib.suppress(sqlite3.Error):  # a key takes no text
                database.execute(f"UPDATE OR IGNORE {table} SET {column} = ?{rows}", (value,))
        database.execute("COMMIT")

    return change


def statement(sql: str) -> Change:
    """Whatever a statement does."""

    def change(database: sqlite3.Connection) -> None:
        database.executescript(sql)

    return change


ENDLESS = (
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS command_id FROM c"
)

FOREIGN_SCHEMAS: dict[str, Change] = {
    "an endless view": statement(f"DROP VIEW v_command; CREATE VIEW v_command AS {ENDLESS}"),
    "another view": statement(f"CREATE VIEW extra AS {ENDLESS}"),
    "a trigger": statement("CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM edge; END"),
    "a virtual table": statement("CREATE VIRTUAL TABLE f USING fts5(x)"),
    "another table": statement("CREATE TABLE extra (x)"),
    "an index with an expression": statement(
        "CREATE INDEX i ON packed_command (abs(enter_host_ns))"
    ),
    "a table less": statement("DROP TABLE packed_command"),
    "a generated column": statement(
        "DROP TABLE region; CREATE TABLE region (id INTEGER PRIMARY KEY, thread_id INTEGER, "
        "name_string_id INTEGER, enter_host_ns INTEGER, "
        "leave_host_ns INTEGER AS (abs(enter_host_ns)))"
    ),
    "a name that a terminal acts upon": statement('CREATE TABLE "\x1b]0;owned\x07\x1b[2J" (x)'),
    "a malformed entry with such a name": statement(
        "INSERT INTO sqlite_schema VALUES ('table', '\x1b]0;owned\x07', 'boom', 3, "
        "'CREATE TABLE \x1b[31m(x')"
    ),
    "a schema entry of its own making": statement(
        "INSERT INTO sqlite_schema VALUES ('table', 'boom', 'boom', 3, 'CREATE TABLE boom(x')"
    ),
}
"""Files that say they are traces and have more or less in them than cltrace writes."""

BAD_VALUES: dict[str, Change] = {
    "text everywhere": fill_all("\x1b[31m'; DROP TABLE command; --"),
    "huge numbers everywhere": fill_all(2**63 - 1),
    "negative numbers everywhere": fill_all(-(2**63)),
    "nothing everywhere": fill_all(None),
    "fractions everywhere": fill_all(1e308),
    "infinity everywhere": fill_all(float("inf")),
    "bytes everywhere": fill_all(b"\xff\x00\xfe" * 40),
    "a large blob everywhere": fill_all(b"\xff" * 100_000, max_rows=2),
    "deeply nested JSON": statement(
        f"UPDATE meta SET value = '{'[' * 100_000}' WHERE key IN ('command', 'origin_host_ns'); "
        f"INSERT OR REPLACE INTO meta VALUES ('merged_from', '{'[' * 100_000}'); "
        f"UPDATE process SET argv = '{'[' * 100_000}', environment = '{'[' * 100_000}'"
    ),
    "broken JSON": statement("UPDATE meta SET value = '{'; UPDATE process SET argv = '[['"),
    "references to themselves": statement(
        "UPDATE site SET outer_site_id = id; UPDATE device SET parent_device_id = id; "
        "UPDATE buffer SET parent_buffer_id = id; UPDATE edge SET waits_for_command_id = command_id"
    ),
}
"""Files with our tables and values that cltrace never writes."""


def one_value(table: str, column: str, value: object) -> Change:
    """The values of one column become `value`, and nothing else."""

    def change(database: sqlite3.Connection) -> None:
        with contextlib.suppress(sqlite3.Error):  # a key takes no text
            database.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))

    return change
