"""Tables of blocks on a terminal: a title with its value, and labelled lines below it."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from cltrace.report.document import Block, BlockLine, Table, Unit
from cltrace.report.formats.screen_text import screen_text
from cltrace.report.untrusted_text import shorten_place

_INDENT = 3
_MIN_WIDTH = 12


def draw_blocks(table: Table, width: int, home: str, *, is_ascii: bool) -> list[RenderableType]:
    """Return the blocks of a table for a screen of `width` columns. Nothing in them is cut."""
    parts: list[RenderableType] = [Text(screen_text(table.title, is_ascii=is_ascii), style="bold")]
    for number, block in enumerate(table.blocks, 1):
        parts.append(Text(""))
        parts.append(_block(block, number, width, home, is_ascii=is_ascii))
    if table.note:
        parts += [Text(""), Text(screen_text(table.note, is_ascii=is_ascii), style="dim")]
    return parts


def _block(block: Block, number: int, width: int, home: str, *, is_ascii: bool) -> RenderableType:
    head = RichTable.grid(padding=(0, 2, 0, 0))
    head.add_column(width=_INDENT - 2, no_wrap=True)
    room = max(width - _INDENT - 2, _MIN_WIDTH)
    head.add_column(width=room)
    title = Text(screen_text(block.title, is_ascii=is_ascii), style="bold")
    head.add_row(Text(str(number)), title)
    if block.value:
        head.add_row(Text(""), Text(screen_text(block.value, is_ascii=is_ascii), style="green"))
    label_width = max((len(line.label) for line in block.lines), default=0)
    lines = RichTable.grid(padding=(0, 2, 0, 0))
    lines.add_column(style="dim", width=label_width, no_wrap=True)
    lines.add_column(width=max(room - label_width - 2, _MIN_WIDTH), overflow="fold")
    for line in block.lines:
        text = screen_text(_line_text(line, home), is_ascii=is_ascii)
        lines.add_row(Text(line.label), Text(text, style="cyan" if line.unit is Unit.CODE else ""))
    return Group(head, Padding(lines, (0, 0, 0, _INDENT)))


def _line_text(line: BlockLine, home: str) -> str:
    return shorten_place(line.text, home) if line.unit is Unit.PLACE else line.text
