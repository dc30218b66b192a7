"""A document on a terminal: as wide as there is room, in colour where there is colour."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from cltrace.report.charts import drawn_chart
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.quantities import shown
from cltrace.report.untrusted_text import plain, short_place

_SHORTEST_NAME: Final = 12
_LESS_THAN_A_NAME: Final = 50
"""Columns below this go before a name is shortened for them (`Column.keep`)."""

_PADDING: Final = 2
_GAP: Final = _PADDING + 1


def renderable(document: Document, *, width: int, is_ascii: bool) -> RenderableType:
    """What rich prints for a document on a screen of `width` columns.

    Numbers are never cut: columns go, in the order that they are meant to (`Column.keep`). Names are
    shortened in the middle.
    """
    parts: list[RenderableType] = []
    if document.title:
        parts.append(Text(_fitted(document.title, is_ascii=is_ascii), style="bold"))
    if document.facts:
        parts.append(_facts(document.facts, width, is_ascii=is_ascii))
    for block in _blocks(document, width, is_ascii=is_ascii):
        if parts:
            parts.append(Text(""))
        parts.extend(block)
    return Group(*parts)


def _blocks(
    document: Document, width: int, *, is_ascii: bool
) -> Iterator[Sequence[RenderableType]]:
    """The charts, the tables and the notes, each as what is printed one below the other."""
    for chart in document.charts:
        yield drawn_chart(chart, width, is_ascii=is_ascii)
    for table in document.tables:
        if table.rows or table.why_empty:
            yield _table(table, width, document.home, is_ascii=is_ascii)
    if document.notes:
        yield [Text(_fitted(note, is_ascii=is_ascii), style="yellow") for note in document.notes]


def console_for(file: object, *, width: int | None = None, color: str = "auto") -> Console:
    """A console that writes to `file` and interprets nothing in what it writes."""
    return Console(
        file=file,  # type: ignore[arg-type]
        width=width,
        force_terminal={"always": True, "never": False}.get(color),
        no_color=True if color == "never" else None,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=False,
    )


def hidden_columns(table: Table, width: int, *, is_ascii: bool) -> list[str]:
    """The headers of the columns for which a screen of `width` columns has no room."""
    if not table.rows:
        return []
    cells = _cells(table, home="", is_ascii=is_ascii)
    shown_there = _widths_that_fit(table.columns, cells, width)
    return [one.header for at, one in enumerate(table.columns) if at not in shown_there]


def is_ascii_only(encoding: str | None) -> bool:
    """Whether an encoding lacks what our tables are drawn with."""
    try:
        "─│µ–…".encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return True
    return False


def _facts(facts: Sequence[Fact], width: int, *, is_ascii: bool) -> RenderableType:
    grid = RichTable.grid(padding=(0, _PADDING, 0, 0))
    label_width = max(len(fact.label) for fact in facts)
    grid.add_column(style="dim", width=label_width, no_wrap=True)
    grid.add_column(width=max(width - label_width - 2 * _GAP, _SHORTEST_NAME), overflow="fold")
    for fact in facts:
        label = Text(_fitted(fact.label, is_ascii=is_ascii))
        grid.add_row(label, Text(_fitted(fact.text, is_ascii=is_ascii)))
    return grid


def _table(table: Table, width: int, home: str, *, is_ascii: bool) -> list[RenderableType]:
    title = Text(_fitted(table.title, is_ascii=is_ascii), style="bold")
    if not table.rows:
        return [title, Text(f"  {_fitted(table.why_empty, is_ascii=is_ascii)}", style="dim")]
    cells = _cells(table, home, is_ascii=is_ascii)
    drawn = _drawn(table, cells, _widths_that_fit(table.columns, cells, width), is_ascii=is_ascii)
    parts: list[RenderableType] = [title, drawn] if table.title else [drawn]
    if table.note:
        parts.append(Text(_fitted(table.note, is_ascii=is_ascii), style="dim"))
    hidden = hidden_columns(table, width, is_ascii=is_ascii) if table.says_hidden else []
    if hidden:
        parts.append(Text(f"no room for {'; '.join(hidden)}: --format md shows all", style="dim"))
    return parts


def _drawn(
    table: Table, cells: list[list[str]], widths: dict[int, int], *, is_ascii: bool
) -> RichTable:
    """The columns of `widths`, as rich draws them."""
    drawn = RichTable(
        box=box.ASCII2 if is_ascii else box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, _PADDING, 0, 0),
        header_style="dim",
    )
    for index, longest in widths.items():
        column = table.columns[index]
        drawn.add_column(
            Text(_fitted(column.header, is_ascii=is_ascii)),
            justify="left" if column.unit.is_text else "right",
            no_wrap=column.unit is not Unit.PROSE,
            overflow="fold",
            max_width=longest,
        )
    for row in cells:
        drawn.add_row(
            *(
                Text(
                    row[index]
                    if table.columns[index].unit is Unit.PROSE
                    else _shortened(
                        row[index], longest, table.columns[index].unit, is_ascii=is_ascii
                    )
                )
                for index, longest in widths.items()
            )
        )
    return drawn


def _cells(table: Table, home: str, *, is_ascii: bool) -> list[list[str]]:
    """The values of a table as they are drawn, before any is shortened."""
    return [
        [
            _fitted(_cell(value, column.unit, home), is_ascii=is_ascii)
            for value, column in zip(row, table.columns, strict=True)
        ]
        for row in table.rows
    ]


def _cell(value: Value, unit: Unit, home: str) -> str:
    text = shown(value, unit)
    return short_place(text, home) if unit is Unit.PLACE else text


def _widths_that_fit(
    columns: Sequence[Column], cells: list[list[str]], width: int
) -> dict[int, int]:
    """The columns that there is room for, by position, and how long their values may be."""
    widths = {
        index: max(len(column.header), *(len(row[index]) for row in cells))
        for index, column in enumerate(columns)
    }
    going = sorted(widths, key=lambda index: (columns[index].keep, index))
    while True:
        room = width - _GAP * len(widths) - 1
        is_least_idle = columns[going[0]].keep < _LESS_THAN_A_NAME and len(widths) > 1
        fitted = widths if is_least_idle else _with_shorter_names(columns, widths, room)
        if sum(fitted.values()) <= room or len(widths) == 1:
            return fitted
        del widths[going.pop(0)]


def _with_shorter_names(
    columns: Sequence[Column], widths: dict[int, int], room: int
) -> dict[int, int]:
    """`widths` with those of names reduced until all fit, the least kept first.

    Names that are kept alike get the same room.
    """
    fitted = dict(widths)
    names = [index for index in widths if columns[index].unit.is_text]
    for keep in sorted({columns[index].keep for index in names}):
        alike = {index: fitted[index] for index in names if columns[index].keep == keep}
        others = sum(fitted.values()) - sum(alike.values())
        longest = _name_width(list(alike.values()), room - others)
        fitted |= {index: min(wanted, longest) for index, wanted in alike.items()}
    return fitted


def _name_width(widths: list[int], room: int) -> int:
    """The longest that names may be so that all of their columns fit into `room`."""
    for longest in range(max(widths, default=0), _SHORTEST_NAME, -1):
        if sum(min(width, longest) for width in widths) <= room:
            return longest
    return _SHORTEST_NAME


def _shortened(name: str, longest: int, unit: Unit, *, is_ascii: bool) -> str:
    """A name that is too long, with its middle left out: both ends of a path tell more.

    Of code the end is left out.
    """
    if len(name) <= longest:
        return name
    mark = "..." if is_ascii else "…"
    room = longest - len(mark)
    if unit is Unit.CODE:
        return f"{name[:room]}{mark}"
    head = room // 3
    return f"{name[:head]}{mark}{name[head - room :]}"


def _fitted(text: str, *, is_ascii: bool) -> str:
    text = plain(text)
    if not is_ascii:
        return text
    for fancy, simple in (("µ", "u"), ("–", "-"), ("…", "..."), ("\u202f", " "), ("→", "->")):
        text = text.replace(fancy, simple)
    return text.encode("ascii", "backslashreplace").decode()
