"""Documents on a terminal: as wide as the screen, in colour if it has colours."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from cltrace.report.charts import draw_chart
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.formats.blocks import draw_blocks
from cltrace.report.formats.screen_text import screen_text
from cltrace.report.formats.short_names import shorten_column
from cltrace.report.quantities import value_text
from cltrace.report.untrusted_text import shorten_place

_MIN_NAME_WIDTH: Final = 12
_NAME_KEEP: Final = 50
"""Columns with a lower `Column.keep` are left out before any name is shortened for them."""

_MAX_UNNAMED: Final = 1
"""Number of columns that may be left out without a line that names them."""

_PADDING: Final = 2
_GAP: Final = _PADDING + 1


def renderable(document: Document, *, width: int, is_ascii: bool) -> RenderableType:
    """Return a document as rich prints it on a screen of `width` columns.

    Numbers are never cut: whole columns are left out, in the order of `Column.keep`. Names are shortened
    in the middle, places from the left. A line names the columns that are left out, if two or more are.
    """
    parts: list[RenderableType] = []
    if document.title:
        parts.append(Text(screen_text(document.title, is_ascii=is_ascii), style="bold"))
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
    """Yield tables of blocks, charts, other tables and notes, each as a list of lines or grids."""
    for table in document.tables:
        if table.blocks:
            yield draw_blocks(table, width, document.home, is_ascii=is_ascii)
    for chart in document.charts:
        yield draw_chart(chart, width, is_ascii=is_ascii)
    for table in document.tables:
        if not table.blocks and (table.rows or table.why_empty):
            yield _table(table, width, document.home, is_ascii=is_ascii)
    if document.notes:
        yield [
            Text(screen_text(note, is_ascii=is_ascii), style="yellow") for note in document.notes
        ]


def console_for(file: object, *, width: int | None = None, color: str = "auto") -> Console:
    """Return a console that writes to `file` and interprets nothing in what it writes."""
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


def _hidden_columns(table: Table, width: int, home: str, *, is_ascii: bool) -> list[str]:
    """Return the headers of the columns for which a screen of `width` columns has no room."""
    if not table.rows:
        return []
    cells = _cells(table, home, is_ascii=is_ascii)
    shown = _widths_that_fit(table.columns, cells, width)
    return [
        column.header
        for number, column in enumerate(table.columns)
        if number not in shown and any(row[number] for row in cells)
    ]


def is_ascii_only(encoding: str | None) -> bool:
    """Return whether an encoding lacks the characters that tables are drawn with."""
    try:
        "─│µ–…".encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return True
    return False


def _facts(facts: Sequence[Fact], width: int, *, is_ascii: bool) -> RenderableType:
    grid = RichTable.grid(padding=(0, _PADDING, 0, 0))
    label_width = max(len(fact.label) for fact in facts)
    grid.add_column(style="dim", width=label_width, no_wrap=True)
    grid.add_column(width=max(width - label_width - 2 * _GAP, _MIN_NAME_WIDTH), overflow="fold")
    for fact in facts:
        label = Text(screen_text(fact.label, is_ascii=is_ascii))
        grid.add_row(label, Text(screen_text(fact.text, is_ascii=is_ascii)))
    return grid


def _table(table: Table, width: int, home: str, *, is_ascii: bool) -> list[RenderableType]:
    title = Text(screen_text(table.title, is_ascii=is_ascii), style="bold")
    if not table.rows:
        return [title, Text(f"  {screen_text(table.why_empty, is_ascii=is_ascii)}", style="dim")]
    cells = _cells(table, home, is_ascii=is_ascii)
    widths = _widths_that_fit(table.columns, cells, width)
    drawn = _draw(table, cells, widths, is_ascii=is_ascii)
    parts: list[RenderableType] = [title, drawn] if table.title else [drawn]
    if note := table.note_with([table.columns[index] for index in widths]):
        parts.append(Text(screen_text(note, is_ascii=is_ascii), style="dim"))
    hidden = _hidden_columns(table, width, home, is_ascii=is_ascii)
    if hidden and (table.lists_hidden or len(hidden) > _MAX_UNNAMED):
        text = f"no room for {'; '.join(hidden)}: --format md shows all"
        parts.append(Text(screen_text(text, is_ascii=is_ascii), style="dim"))
    return parts


def _draw(
    table: Table, cells: list[list[str]], widths: dict[int, int], *, is_ascii: bool
) -> RichTable:
    """Return a table with the columns of `widths`, as rich draws it."""
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
            Text(screen_text(column.header, is_ascii=is_ascii)),
            justify="left" if column.unit.is_text else "right",
            no_wrap=column.unit is not Unit.PROSE,
            overflow="fold",
            max_width=longest,
        )
    short = {
        index: shorten_column(
            [row[index] for row in cells], longest, table.columns[index].unit, is_ascii=is_ascii
        )
        for index, longest in widths.items()
        if table.columns[index].unit is not Unit.PROSE
    }
    for row in cells:
        texts = [short[index][row[index]] if index in short else row[index] for index in widths]
        drawn.add_row(*map(Text, texts))
    return drawn


def _cells(table: Table, home: str, *, is_ascii: bool) -> list[list[str]]:
    """Return the values of a table as text, before any is shortened."""
    return [
        [
            screen_text(_cell(value, column.unit, home), is_ascii=is_ascii)
            for value, column in zip(row, table.columns, strict=True)
        ]
        for row in table.rows
    ]


def _cell(value: Value, unit: Unit, home: str) -> str:
    text = value_text(value, unit)
    return shorten_place(text, home) if unit is Unit.PLACE else text


def _widths_that_fit(
    columns: Sequence[Column], cells: list[list[str]], width: int
) -> dict[int, int]:
    """Return the columns that there is room for, by position, and the largest width of their values.

    Columns of words without a word in any row are left out where others have some.
    """
    longest = [max(map(len, values)) for values in zip(*cells, strict=True)]
    widths = {
        index: max(len(column.header), longest[index])
        for index, column in enumerate(columns)
        if longest[index] or not any(longest)
    }
    by_keep = sorted(widths, key=lambda index: (columns[index].keep, index))
    while True:
        room = width - _GAP * len(widths) - 1
        is_dispensable = columns[by_keep[0]].keep < _NAME_KEEP and len(widths) > 1
        fitted = widths if is_dispensable else _with_shorter_names(columns, widths, room)
        if sum(fitted.values()) <= room or len(widths) == 1:
            return fitted
        del widths[by_keep.pop(0)]


def _with_shorter_names(
    columns: Sequence[Column], widths: dict[int, int], room: int
) -> dict[int, int]:
    """Return `widths` with those of names reduced until all fit, the lowest `keep` first.

    Names with the same `keep` get the same room.
    """
    fitted = dict(widths)
    names = [index for index in widths if columns[index].unit.is_text]
    for keep in sorted({columns[index].keep for index in names}):
        same_keep = {index: fitted[index] for index in names if columns[index].keep == keep}
        others = sum(fitted.values()) - sum(same_keep.values())
        longest = _name_width(list(same_keep.values()), room - others)
        fitted |= {index: min(width, longest) for index, width in same_keep.items()}
    return fitted


def _name_width(widths: list[int], room: int) -> int:
    """Return the largest width of names with which all of their columns fit into `room`."""
    for longest in range(max(widths, default=0), _MIN_NAME_WIDTH, -1):
        if sum(min(width, longest) for width in widths) <= room:
            return longest
    return _MIN_NAME_WIDTH
