"""Definition of views and their columns."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view: its name, its SQL expression and its description."""

    name: str
    sql: str
    description: str


@dataclass(frozen=True, slots=True)
class View:
    """A view over the tables of a trace."""

    name: str
    description: str
    source: str
    columns: tuple[Column, ...]

    @property
    def select_sql(self) -> str:
        """The query of the view."""
        columns = ", ".join(f"{column.sql} AS {column.name}" for column in self.columns)
        return f"SELECT {columns} FROM {self.source}"

    @property
    def create_sql(self) -> str:
        """The only statement that may define the view in a trace file."""
        return f"CREATE VIEW {self.name} AS {self.select_sql}"


def columns(*described: tuple[str, str] | tuple[str, str, str]) -> tuple[Column, ...]:
    """Return columns from (name, description) or (name, SQL, description); SQL defaults to the name."""
    return tuple(
        Column(item[0], item[0], item[1]) if len(item) == 2 else Column(*item) for item in described
    )


SITE_SQL: Final = "CASE WHEN s.id IS NULL THEN NULL ELSE s.file || ':' || s.line END"
"""SQL for `file:line` of a site that is joined as `s`."""
