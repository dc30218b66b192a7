"""Reports: right at any width, in any format, whatever the trace says."""

import csv
import io
import json
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

import cltrace
from cltrace.report.activity import read_rollup_rows
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.formats.short_names import shorten_column
from cltrace.report.formats.terminal import console_for, renderable
from cltrace.report.formats.text import FORMATS, to_csv, to_json, to_markdown
from cltrace.report.quantities import three_digit_text, time_text, value_text
from cltrace.report.selection import Selection, sum_selected
from cltrace.report.untrusted_text import escape_controls, shorten_place
from tests.conftest import MakeTrace

TEXT = st.text(max_size=40) | st.sampled_from(
    ["\x1b[31mred\x1b[0m", "[bold]markup[/bold]", "a\nb\r\t", "\u202eevil", "=1+1", "<script>", "|"]
)
NUMBER = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=True, allow_infinity=True)
HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


@st.composite
def tables(draw: st.DrawFn) -> Table:
    units = draw(st.lists(st.sampled_from(list(Unit)), min_size=1, max_size=7))
    columns = [
        Column(
            f"c{at}",
            draw(st.text("abc ", min_size=1, max_size=12)),
            unit,
            draw(st.integers(0, 100)),
        )
        for at, unit in enumerate(units)
    ]
    cell = {True: TEXT | st.none(), False: NUMBER | st.none()}
    row = st.tuples(*(cell[unit.is_text] for unit in units))
    rows = draw(st.lists(row, max_size=6))
    return Table(
        key="key",
        title=draw(TEXT),
        columns=columns,
        rows=rows,
        note=draw(TEXT),
        why_empty="none",
        lists_hidden=draw(st.booleans()),
    )


DOCUMENTS = st.builds(
    Document,
    TEXT,
    st.lists(st.builds(Fact, st.just("key"), st.text("ab", max_size=9), TEXT), max_size=3),
    st.lists(tables(), max_size=3),
    st.lists(TEXT, max_size=2),
    TEXT,
)


def printed(document: Document, width: int, *, is_ascii: bool = False) -> str:
    out = io.StringIO()
    console = console_for(out, width=width, color="never")
    console.print(renderable(document, width=width, is_ascii=is_ascii))
    return out.getvalue()


@given(DOCUMENTS, st.sampled_from([60, 80, 120, 200]))
@settings(deadline=None)
def test_a_document_fits_the_screen_and_harms_it_not(document: Document, width: int) -> None:
    text = printed(document, width)
    assert not HARMFUL.search(text.replace("\n", ""))
    assert max((cell_len(line) for line in text.splitlines()), default=0) <= width


@given(DOCUMENTS)
@settings(deadline=None)
def test_ascii_is_ascii(document: Document) -> None:
    assert printed(document, 80, is_ascii=True).isascii()


@given(
    st.lists(st.integers(0, 100), min_size=1, max_size=12),
    st.lists(st.text("abc/", max_size=70), min_size=1, max_size=4),
    st.sampled_from([60, 80]),
)
@settings(deadline=None)
def test_columns_of_numbers_are_whole_or_gone(
    keeps: list[int], names: list[str], width: int
) -> None:
    numbers = [
        [10**9 * (row + 1) + 10**4 * column for column in range(len(keeps))]
        for row in range(len(names))
    ]
    columns = [
        Column("name", "name"),
        *(Column(f"c{at}", "n", Unit.PLAIN, keep) for at, keep in enumerate(keeps)),
    ]
    rows: list[tuple[Value, ...]] = [
        (name, *some) for name, some in zip(names, numbers, strict=True)
    ]
    text = printed(
        Document("", [], [Table(key="key", title="", columns=columns, rows=rows)]), width
    )
    shown_columns = []
    for column, keep in enumerate(keeps):
        are_there = [str(row[column]) in text for row in numbers]
        assert all(are_there) or not any(are_there)
        if all(are_there):
            shown_columns.append(keep)
    assert shown_columns
    gone = sorted(keeps)[: len(keeps) - len(shown_columns)]
    assert max(gone, default=0) <= min(shown_columns)


@given(DOCUMENTS)
def test_json_is_json_with_the_values_as_they_are(document: Document) -> None:
    found = json.loads(to_json(document))
    assert found["title"] == document.title
    if document.tables:
        table = document.tables[-1]
        rows = [list(one.values()) for one in found[table.key]]
        expected = [
            [None if isinstance(one, float) and not math.isfinite(one) else one for one in row]
            for each in document.tables
            if each.key == table.key
            for row in each.rows
        ]
        assert rows == expected


@given(tables())
def test_csv_holds_every_cell_and_no_formula(table: Table) -> None:
    text = to_csv(Document("", [], [table]))
    rows = list(csv.reader(io.StringIO(text)))
    if not table.rows:
        assert rows == []
        return
    assert rows[0] == [column.key for column in table.columns]
    assert len(rows) == len(table.rows) + 1
    for row in rows[1:]:
        for cell, column in zip(row, table.columns, strict=True):
            if column.unit.is_text:
                assert not cell.startswith(("=", "+", "-", "@"))


@given(DOCUMENTS)
def test_markdown_has_no_markup_of_the_traces(document: Document) -> None:
    text = to_markdown(document)
    assert not HARMFUL.search(text.replace("\n", ""))
    assert not re.search(r"(?<!\\)<", text)
    for table in document.tables:
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        assert all(re.sub(r"\\.", "", row).count("|") >= 2 for row in rows)
        assert len(table.columns) >= 1


@given(st.text())
def test_plain_text_is_one_harmless_line(text: str) -> None:
    assert not HARMFUL.search(escape_controls(text))
    assert len(escape_controls(text).splitlines()) <= 1
    assert escape_controls(escape_controls(text)) == escape_controls(text)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (0, Unit.NS, "0 ns"),
        (999, Unit.NS, "999 ns"),
        (1_234, Unit.NS, "1.23 µs"),
        (9_998, Unit.NS, "10.0 µs"),
        (999_999, Unit.NS, "1.00 ms"),
        (12_345_678, Unit.NS, "12.3 ms"),
        (-1_500, Unit.NS, "-1.50 µs"),
        (61.5e9, Unit.NS, "61.5 s"),
        (3_700e9, Unit.NS, "1 h 01 min"),
        (1536, Unit.BYTES, "1.50 KiB"),
        (3 * 2**30, Unit.BYTES, "3.00 GiB"),
        (2.5e9, Unit.BYTES_PER_S, "2.50 GB/s"),
        (0.1234, Unit.SHARE, "12.3 %"),
        (1234567, Unit.COUNT, "1\u202f234\u202f567"),
        (None, Unit.NS, "–"),
        (float("nan"), Unit.NS, "–"),
        (float("inf"), Unit.SHARE, "–"),
        ("text", Unit.NS, "text"),
    ],
)
def test_quantities_have_three_digits_and_a_unit(value: Value, unit: Unit, expected: str) -> None:
    assert value_text(value, unit) == expected


@given(st.floats(0, 1e16))
def test_a_time_is_near_what_it_says(ns: float) -> None:
    text = time_text(ns)
    scale = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
    words = text.split()
    if len(words) == 2:
        assert float(words[0]) * scale[words[1]] == pytest.approx(ns, rel=0.01, abs=0.51)


@pytest.mark.parametrize(
    ("place", "home", "expected"),
    [
        ("/home/me/app.py:3", "/home/me", "app.py:3"),
        ("/home/me/app.py:3", "/home/me/", "app.py:3"),
        ("/home/metoo/app.py:3", "/home/me", "/home/metoo/app.py:3"),
        ("/v/lib/python3/site-packages/reikna/x.py:9", "/v", "reikna/x.py:9"),
        ("app.py:3", "", "app.py:3"),
    ],
)
def test_places_are_short(place: str, home: str, expected: str) -> None:
    assert shorten_place(place, home) == expected


@pytest.mark.parametrize(
    ("names", "longest", "expected"),
    [
        (["short", "a name that is long"], 10, ["short", "a n…s long"]),
        (["6.0, rank 0", "7.0, rank 0"], 22, ["NVIDIA …0:06.0, rank 0", "NVIDIA …0:07.0, rank 0"]),
        (["6.0, process 1", "7.0, process 1"], 20, ["…00:06.0, process 1", "…00:07.0, process 1"]),
        (["6.0, process 1", "7.0, process 1"], 16, ["…6.0, process 1", "…7.0, process 1"]),
        (["6.0, process 1", "7.0, process 1"], 12, ["…6.…rocess 1", "…7.…rocess 1"]),
    ],
)
def test_names_that_differ_look_different(
    names: list[str], longest: int, expected: list[str]
) -> None:
    names = [name if name[0].isalpha() else f"NVIDIA H200 00:0{name}" for name in names]
    shown = shorten_column(names, longest, Unit.TEXT, is_ascii=False)
    assert [shown[name] for name in names] == expected


@pytest.mark.parametrize(
    ("longest", "expected"),
    [
        (34, "pthread-AMD EPYC #{}, process 32643"),
        (27, "pthread-… #{}, process 32643"),
        (20, "…#{}, process 32643"),
        (18, "…#{}, process 32643"),
        (17, "p…EPYC #{}, …32643"),
        (12, "…#{}, …32643"),
    ],
)
def test_labels_of_devices_keep_their_numbers(longest: int, expected: str) -> None:
    for numbers in (1, 2, 3), (2,):
        names = [f"pthread-AMD EPYC #{number}, process 32643" for number in numbers]
        shown = shorten_column(names, longest, Unit.TEXT, is_ascii=False)
        assert [shown[name] for name in names] == [expected.format(number) for number in numbers]
        assert all(len(text) <= longest for text in shown.values())


@pytest.mark.parametrize(
    ("longest", "expected"),
    [
        (40, "/home/me/code/solver/kernels.py:120"),
        (30, "…/code/solver/kernels.py:120"),
        (23, "…/solver/kernels.py:120"),
        (22, "…/kernels.py:120"),
        (16, "…/kernels.py:120"),
        (15, "kernels.py:120"),
        (12, "ker…s.py:120"),
    ],
)
def test_places_lose_directories_from_the_left(longest: int, expected: str) -> None:
    place = "/home/me/code/solver/kernels.py:120"
    assert shorten_column([place], longest, Unit.PLACE, is_ascii=False) == {place: expected}


def test_every_format_takes_an_empty_document() -> None:
    empty: dict[str, Any] = {name: form(Document("", [], [])) for name, form in FORMATS.items()}
    assert set(empty) == {"csv", "json", "md"}


@pytest.mark.parametrize("by", ["kernel", "queue", "device", "process", "thread", "callsite"])
def test_a_selection_of_everything_sums_as_the_stored_sums(by: str, make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace:
        chosen = sum_selected(trace, by, Selection(from_ns=0))
        assert sorted(map(repr, chosen)) == sorted(map(repr, read_rollup_rows(trace, by)))
        assert sum(line.rollup.calls for line in chosen) > 60


def test_columns_without_room_are_named() -> None:
    columns = [Column("name", "name"), *(Column(one, one, Unit.PLAIN, 50) for one in "ABCDEF")]
    rows = [("a kernel", *(123456,) * 6)]
    for lists_hidden in (True, False):
        table = Table(
            key="key", title="title", columns=columns, rows=rows, lists_hidden=lists_hidden
        )
        narrow = printed(Document("", (), [table], ()), 40)
        wide = printed(Document("", (), [table], ()), 100)
        assert "no room for A; B; C:" in narrow
        almost = printed(Document("", (), [table], ()), 62)
        assert ("no room for A:" in almost) == lists_hidden
        assert "no room for" not in wide


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**62, "4611686018427387904"),
        (1091273.4, "1091273"),
        (-1091273.4, "-1091273"),
        (999999.7, "1000000"),
        (123456.78, "123457"),
        (0.000125, "0.000125"),
        (1e-7, "1e-07"),
        (2.5e15, "2.5e+15"),
    ],
)
def test_plain_numbers_are_whole_or_have_six_digits(value: float, text: str) -> None:
    assert value_text(value, Unit.PLAIN) == text


def test_numbers_have_three_digits_and_no_exponent_however_large() -> None:
    cases = {
        0.0575: "0.0575",
        1.0: "1",
        2.005: "2",
        61.23: "61.2",
        999.6: "1000",
        3234.0: "3230",
    }
    for value, text in cases.items():
        assert three_digit_text(value) == text
