"""What a view is."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view: its name, the SQL that makes it, and what it means."""

    name: str
    sql: str
    meaning: str


@dataclass(frozen=True, slots=True)
class View:
    """A view over the tables of a trace."""

    name: str
    meaning: str
    source: str
    columns: tuple[Column, ...]

    @property
    def select_sql(self) -> str:
        """The query that the view stands for."""
        columns = ", ".join(f"{column.sql} AS {column.name}" for column in self.columns)
        return f"SELECT {columns} FROM {self.source}"

    @property
    def create_sql(self) -> str:
        """The statement that makes the view in a trace file, in the one form that it may have."""
        return f"CREATE VIEW {self.name} AS {self.select_sql}"


def columns(*described: tuple[str, str] | tuple[str, str, str]) -> tuple[Column, ...]:
    """Columns from (name, meaning) or (name, SQL, meaning); the SQL is the name where it is left out."""
    return tuple(
        Column(one[0], one[0], one[1]) if len(one) == 2 else Column(*one) for one in described
    )


SITE_SQL: Final = "CASE WHEN s.id IS NULL THEN NULL ELSE s.file || ':' || s.line END"
"""`file:line` of a site joined as `s`."""
