"""The spool: what is written is read back, and a file cut at any byte loses only its end."""

import dataclasses
import json
import os
import tempfile
import types
import typing
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cltrace.errors import SpoolError
from cltrace.events import records
from cltrace.events.records import Record, Site
from cltrace.events.tables import LAUNCHES, ROW_TABLES, RowTable
from cltrace.spool.codec import decode, encode
from cltrace.spool.layout import (
    RECORDS_FILE,
    ProcessIdentity,
    create_process_directory,
    process_directories,
    rows_file,
)
from cltrace.spool.reader import read_process
from cltrace.spool.settings import (
    CommandOutcome,
    SessionFacts,
    Settings,
    read_outcome,
    read_session,
    write_outcome,
    write_session,
)
from cltrace.spool.writer import SpoolWriter

RECORD_TYPES: tuple[type[Any], ...] = get_args(records.Record)
INT64 = st.integers(-(2**63), 2**63 - 1)
SURROGATES = st.text(
    # As Python reads bytes that are no UTF-8: lone low surrogates. Pairs are one character in JSON.
    st.characters(
        categories=["Cs", "Lu", "Cc", "So"],
        exclude_characters=[chr(one) for one in range(0xD800, 0xDC00)],
    ),
    max_size=12,
)
TEXT = st.text(max_size=30) | SURROGATES


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Values that a field of a record may have."""
    origin = get_origin(annotation)
    if origin in {types.UnionType, typing.Union}:
        return st.one_of(*map(values_of, get_args(annotation)))
    if origin is tuple:
        inner = get_args(annotation)
        if inner[-1] is Ellipsis:
            return st.lists(values_of(inner[0]), max_size=4).map(tuple)
        return st.tuples(*map(values_of, inner))
    if dataclasses.is_dataclass(annotation):
        return record_of(annotation)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        int: INT64,
        str: TEXT,
        bool: st.booleans(),
        float: st.floats(allow_nan=False, allow_infinity=False),
        type(None): st.none(),
    }
    if isinstance(annotation, type) and issubclass(annotation, str) and annotation is not str:
        return st.sampled_from(list(annotation))  # type: ignore[call-overload]
    return simple[annotation]


def record_of(kind: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    fields = {one.name: values_of(hints[one.name]) for one in dataclasses.fields(kind)}
    return st.builds(kind, **fields)


ANY_RECORD: st.SearchStrategy[Record] = st.one_of(*map(record_of, RECORD_TYPES))


@given(ANY_RECORD)
def test_a_record_is_read_as_it_was_written(record: Record) -> None:
    line = encode(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line[:-1]) == record


@given(st.binary(max_size=80))
def test_garbage_is_no_record(line: bytes) -> None:
    with pytest.raises(SpoolError):
        decode(line)


@given(ANY_RECORD, st.data())
def test_a_changed_record_is_read_as_a_record_or_refused(record: Record, data: Any) -> None:
    values = json.loads(encode(record))
    position = data.draw(st.integers(0, len(values) - 1))
    junk = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
    values[position] = data.draw(junk)
    line = json.dumps(values).encode()
    try:
        found = decode(line)
    except SpoolError:
        return
    assert isinstance(found, RECORD_TYPES)
    hints = get_type_hints(type(found))
    for one in dataclasses.fields(found):
        assert _fits(getattr(found, one.name), hints[one.name])


def _fits(value: Any, annotation: Any) -> bool:
    origin = get_origin(annotation)
    if origin in {types.UnionType, typing.Union}:
        return any(_fits(value, one) for one in get_args(annotation))
    if origin is tuple:
        return isinstance(value, tuple)
    return isinstance(value, annotation)


@given(st.lists(ANY_RECORD, max_size=6), st.data())
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_records_cut_at_any_byte_lose_only_the_last(written: list[Record], data: Any) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        writer = SpoolWriter(directory)
        writer.records(written)
        writer.close()
        whole = b"".join(map(encode, written))
        cut = data.draw(st.integers(0, len(whole)))
        (directory / RECORDS_FILE).write_bytes(whole[:cut])
        spool = read_process(directory, ProcessIdentity(1, 1))
        assert spool.all_records == tuple(written[: whole[:cut].count(b"\n")])
        assert spool.damaged_lines == 0


@given(st.sampled_from(ROW_TABLES), st.lists(st.integers(0, 5), max_size=4), st.data())
def test_rows_cut_at_any_byte_lose_only_the_last(
    table: RowTable, batches: list[int], data: Any
) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        writer = SpoolWriter(directory)
        values = st.lists(INT64, min_size=table.width, max_size=table.width)
        rows = [data.draw(st.lists(values, min_size=count, max_size=count)) for count in batches]
        for batch in rows:
            writer.rows(table, np.array(batch, np.int64).reshape(-1, table.width))
        writer.close()
        path = rows_file(directory, table)
        whole = path.read_bytes() if path.exists() else b""
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        found = read_process(directory, ProcessIdentity(1, 1)).rows(table)
        expected = [row for batch in rows for row in batch][: cut // (8 * table.width)]
        assert found.tolist() == expected


def test_rows_of_another_width_are_a_programmers_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="columns"):
        SpoolWriter(tmp_path).rows(LAUNCHES, np.zeros((1, LAUNCHES.width + 1), np.int64))


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    directory = create_process_directory(tmp_path, ProcessIdentity.of(os.getpid()))
    writer = SpoolWriter(directory)
    writer.records([Site(1, "a.py", 1, "f", 0)])
    writer.rows(LAUNCHES, np.zeros((1, LAUNCHES.width), np.int64))
    writer.content(b"secret")
    writer.close()
    assert {oct(one.stat().st_mode & 0o777) for one in directory.iterdir()} == {"0o600"}
    assert directory.stat().st_mode & 0o777 == 0o700


def test_a_process_that_replaces_its_image_gets_another_directory(tmp_path: Path) -> None:
    me = ProcessIdentity.of(os.getpid())
    made = [create_process_directory(tmp_path, me) for _ in range(3)]
    assert len(set(made)) == 3
    found = process_directories(tmp_path)
    assert sorted(directory for directory, _ in found) == sorted(made)
    assert {identity for _, identity in found} == {me}
    assert me.is_alive
    assert not ProcessIdentity(me.pid, me.start_ticks + 1).is_alive


SETTINGS = st.builds(
    Settings,
    include_kernels=st.lists(TEXT, max_size=2).map(tuple),
    callsite_depth=st.integers(0, 9),
    delay_s=st.floats(0, 1e6),
    duration_s=st.none() | st.floats(0, 1e6),
    max_commands=st.none() | st.integers(0, 2**40),
    record_source=st.booleans(),
)


@given(SETTINGS, st.lists(TEXT, max_size=4).map(tuple), INT64)
def test_what_was_asked_for_is_read_as_it_was_written(
    chosen: Settings, command: tuple[str, ...], number: int
) -> None:
    assume(not any("\ud800" <= letter <= "\udfff" for word in command for letter in word))
    facts = SessionFacts(
        command=command,
        working_directory="/",
        host="host",
        recorder_pid=1,
        origin_host_ns=number,
        started_realtime_ns=number,
        cltrace_version="0",
        settings=chosen,
    )
    outcome = CommandOutcome(None, 9, number)
    with tempfile.TemporaryDirectory() as name:
        write_session(Path(name), facts)
        assert read_session(Path(name)) == facts
        assert read_outcome(Path(name)) is None
        write_outcome(Path(name), outcome)
        assert read_outcome(Path(name)) == outcome


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"settings": 5}', "null", "\0" * 50])
def test_damaged_settings_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "session.json").write_text(text)
    with pytest.raises(SpoolError):
        read_session(tmp_path)


FACTS = SessionFacts(
    command=("app",),
    working_directory="/",
    host="here",
    recorder_pid=1,
    origin_host_ns=1,
    started_realtime_ns=1,
    cltrace_version="0.5.0",
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("working_directory", {}),
        ("host", 5),
        ("cltrace_version", ["0"]),
        ("boot_id", None),
        ("recorder_pid", "1"),
        ("origin_host_ns", 1 << 63),
        ("started_realtime_ns", True),
    ],
)
def test_fields_of_another_type_are_refused(name: str, value: object, tmp_path: Path) -> None:
    write_session(tmp_path, FACTS)
    path = tmp_path / "session.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), name: value}))
    with pytest.raises(SpoolError, match=name):
        read_session(tmp_path)


def test_a_spool_of_another_format_is_refused_by_name(tmp_path: Path) -> None:
    write_session(tmp_path, FACTS)
    assert read_session(tmp_path) == FACTS
    path = tmp_path / "session.json"
    for number in (None, 1, 3):
        values = json.loads(path.read_bytes())
        values.pop("spool_format", None)
        if number is not None:
            values["spool_format"] = number
        path.write_text(json.dumps(values))
        with pytest.raises(SpoolError, match=r"was recorded by cltrace 0\.5\.0"):
            read_session(tmp_path)
