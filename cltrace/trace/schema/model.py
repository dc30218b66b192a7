"""What a table is."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its name and its columns, each as SQLite declares it.

    `since` is the first schema version that has the table.
    """

    name: str
    columns: tuple[str, ...]
    options: str = ""
    since: int = 1

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.split()[0] for column in self.columns)

    @property
    def create_sql(self) -> str:
        """The statement that makes the table, in the one form that a trace may contain."""
        return f"CREATE TABLE {self.name} ({', '.join(self.columns)}){self.options}"

    @property
    def insert_sql(self) -> str:
        """The statement that inserts one row."""
        marks = ", ".join("?" * len(self.columns))
        return f"INSERT INTO {self.name} VALUES ({marks})"


KEY: Final = "id INTEGER PRIMARY KEY"
