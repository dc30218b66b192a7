"""Neutral form of a report: facts and tables of plain values with units."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Value = str | int | float | None


class Unit(StrEnum):
    """Kind of a value, which decides how it is shown. Numbers are in the unit that it names."""

    TEXT = "text"
    PLACE = "place"
    """A file, perhaps with a line; shown relative to `Document.home`."""
    COUNT = "count"
    PROSE = "prose"
    """Sentences: wrapped, never cut."""
    CODE = "code"
    """A line of a source: cut at its end, with its indentation."""
    NS = "ns"
    BYTES = "bytes"
    SHARE = "share"
    """A fraction of 1, shown in per cent."""
    BYTES_PER_S = "bytes_per_s"
    JOULES = "j"
    WATTS = "w"
    PLAIN = "plain"
    """A number shown as it is."""

    @property
    def is_text(self) -> bool:
        """True for words, which are aligned on the left and may be shortened."""
        return self in {Unit.TEXT, Unit.PLACE, Unit.PROSE, Unit.CODE}


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table. `key` names it for machines, with its unit; `header` for people.

    `keep` orders columns where there is not room for all: texts with the lowest `keep` are shortened
    first, then the columns with the lowest `keep` are left out. `meaning` explains its values in the
    note below the table, where the column is shown.
    """

    key: str
    header: str
    unit: Unit = Unit.TEXT
    keep: int = 100
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class BlockLine:
    """Labelled line of a block: a place, sentences or code."""

    label: str
    text: str
    unit: Unit = Unit.PROSE


@dataclass(frozen=True, slots=True)
class Block:
    """Row of a table as a block of lines, for people. `value` is what the block is ordered by."""

    title: str
    value: str
    lines: Sequence[BlockLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Table of values. `why_empty` says why it has no rows; an empty table without it is left out.

    Two or more columns for which there is no room are named below. With `lists_hidden` a single one is,
    too, as the sides of a comparison are. A table with `blocks` is shown as those on a terminal, above
    the charts: `rows` have the same contents, for other formats.
    """

    key: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    note: str = ""
    why_empty: str = ""
    lists_hidden: bool = False
    blocks: Sequence[Block] = ()

    def note_with(self, columns: Sequence[Column]) -> str:
        """Return the note below the table where these of its columns are shown."""
        return "; ".join(filter(None, (self.note, *(column.meaning for column in columns))))


class RowKind(StrEnum):
    """Subject of a row of a chart."""

    HOST = "host"
    QUEUE = "queue"
    KERNEL = "kernel"
    TRANSFER = "transfer"
    POWER = "power"


@dataclass(frozen=True, slots=True)
class ChartRow:
    """Row of a chart: the intervals in which something ran. They are disjoint and ascend; ns.

    `depth` is how far the row is indented below those above it. `height` is the height of each interval,
    from 0 to 1; None where all are 1.
    """

    label: str
    kind: RowKind
    depth: int
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    height: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """Chart over time, from `begin_ns` to `end_ns`."""

    key: str
    title: str
    begin_ns: int
    end_ns: int
    rows: Sequence[ChartRow]


@dataclass(frozen=True, slots=True)
class Fact:
    """Line of a report's head. `key` names it for machines; `value` is what they get."""

    key: str
    label: str
    text: str
    value: Value = None


@dataclass(frozen=True, slots=True)
class Document:
    """Report: a head of facts, then charts, tables, and notes at the end.

    `home` is the directory that the program ran in.
    """

    title: str
    facts: Sequence[Fact]
    tables: Sequence[Table]
    notes: Sequence[str] = ()
    home: str = ""
    charts: Sequence[Chart] = ()
