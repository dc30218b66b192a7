"""Definition of tables."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its name and the SQLite declarations of its columns.

    `since` is the first schema version that has the table, `until` the last; `None` for the current one.
    """

    name: str
    columns: tuple[str, ...]
    options: str = ""
    since: int = 1
    until: int | None = None

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.split()[0] for column in self.columns)

    def is_in(self, version: int) -> bool:
        """Return whether a schema version has the table."""
        return self.since <= version and (self.until is None or version <= self.until)

    @property
    def create_sql(self) -> str:
        """The only statement that may define the table in a trace file."""
        return f"CREATE TABLE {self.name} ({', '.join(self.columns)}){self.options}"

    @property
    def insert_sql(self) -> str:
        """The statement that inserts a row."""
        marks = ", ".join("?" * len(self.columns))
        return f"INSERT INTO {self.name} VALUES ({marks})"


KEY: Final = "id INTEGER PRIMARY KEY"
