"""The neutral form of a report: facts and tables of plain values with units."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Value = str | int | float | None


class Unit(StrEnum):
    """What a value is, which decides how it is shown. Values themselves are in the unit named."""

    TEXT = "text"
    PLACE = "place"
    """A file and perhaps a line of it; people read it relative to `Document.home`."""
    COUNT = "count"
    PROSE = "prose"
    """Words of which every one counts: wrapped, never cut."""
    CODE = "code"
    """A line of a source: its beginning counts, blanks and all."""
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
        """Whether values are words, which stand on the left and may be shortened."""
        return self in {Unit.TEXT, Unit.PLACE, Unit.PROSE, Unit.CODE}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `key` names it for machines, with its unit; `header` for people.

    `keep` orders the columns when there is no room for all: of words those with the lowest are
    shortened first, and then the columns with the lowest go.
    """

    key: str
    header: str
    unit: Unit = Unit.TEXT
    keep: int = 100


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `why_empty` says why it has no rows; a table that needs no words then is left out.

    `says_hidden` says that columns which there is no room for are named, as sides of a comparison are.
    """

    key: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    note: str = ""
    why_empty: str = ""
    says_hidden: bool = False


class RowKind(StrEnum):
    """What a row of a chart is about."""

    HOST = "host"
    QUEUE = "queue"
    KERNEL = "kernel"
    TRANSFER = "transfer"
    POWER = "power"


@dataclass(frozen=True, slots=True)
class ChartRow:
    """A row of a chart: when something went on. The intervals are disjoint and ascend; ns.

    `depth` is how far the row belongs to those above it. `height` is how high each interval is, from 0
    to 1; None for rows of which all are 1.
    """

    label: str
    kind: RowKind
    depth: int
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    height: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart over time, from `begin_ns` to `end_ns`."""

    key: str
    title: str
    begin_ns: int
    end_ns: int
    rows: Sequence[ChartRow]


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a report's head. `key` names it for machines; `value` is what they get."""

    key: str
    label: str
    text: str
    value: Value = None


@dataclass(frozen=True, slots=True)
class Document:
    """A report: a head of facts, charts, tables, and what is to be said at the end.

    `home` is the directory that the program ran in.
    """

    title: str
    facts: Sequence[Fact]
    tables: Sequence[Table]
    notes: Sequence[str] = ()
    home: str = ""
    charts: Sequence[Chart] = ()
