"""Finalising in parts gives what a few lines over whole tables in memory give."""

import json
import math
import struct
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import cltrace
from benchmarks.large_spools import PLAIN, write_large_recording
from cltrace.events import records as r
from cltrace.events.apis import Api
from cltrace.events.kinds import ArgumentKind, MemoryKind
from cltrace.events.tables import (
    BUFFERS,
    CALLS,
    CIRCUMSTANCES,
    COMPLETIONS,
    EDGES,
    LAUNCHES,
    RELEASES,
    STAMPS,
    RowTable,
    arguments_table,
)
from cltrace.spool.layout import SLOTS_FILE, process_directories, rows_file
from cltrace.spool.writer import SpoolWriter
from cltrace.timeline.timekeeping import finalise
from cltrace.trace.reader import Trace

QUEUE = 0x1000
FORMS = {
    2: (r.ArgumentSlot(ArgumentKind.BUFFER, 2), r.ArgumentSlot(ArgumentKind.SCALAR, 1, "<i4", 4)),
    3: (
        r.ArgumentSlot(ArgumentKind.SVM, 1),
        r.ArgumentSlot(ArgumentKind.LOCAL, 1),
        r.ArgumentSlot(ArgumentKind.SCALAR, 1, "int"),
    ),
    4: (r.ArgumentSlot(ArgumentKind.UNKNOWN, 0, detail="x"),),
}
HANDLES = st.sampled_from([0, 0xA0, 0xA1, 0xA2, 0xA3])
TIMES = st.integers(0, 60)
SMALL = st.integers(0, 3)


@dataclass
class Tables:
    """Rows of a spool's tables as dictionaries, all of them in memory."""

    circumstances: list[dict[str, int]]
    lists: list[tuple[int, list[int]]]
    buffers: list[dict[str, int]]
    releases: dict[int, tuple[int, int]]
    slots: list[int]
    launches: list[dict[str, int]]
    calls: list[dict[str, int]]
    stamps: dict[int, list[int]]
    edges: list[tuple[int, int]]
    completions: dict[int, int] = field(default_factory=dict)


def ranges() -> st.SearchStrategy[dict[str, int]]:
    sizes = st.sampled_from([1, 2, 64, 1000])
    return st.builds(
        lambda kernel, site, dimensions, given, sizes: {
            "kernel_id": kernel,
            "site_id": site,
            "thread_id": 1,
            "queue_handle": QUEUE,
            "global_dimensions": dimensions,
            "local_dimensions": dimensions * (given & 1),
            "offset_dimensions": dimensions * (given >> 1),
            **{f"global_size_{axis}": sizes[axis] for axis in range(dimensions)},
            **{f"local_size_{axis}": sizes[2 - axis] * (given & 1) for axis in range(dimensions)},
            **{f"global_offset_{axis}": sizes[1] * (given >> 1) for axis in range(dimensions)},
        },
        st.integers(1, 2), st.integers(1, 2), st.integers(1, 3), SMALL,
        st.tuples(sizes, sizes, sizes),
    )  # fmt: skip


WORDS = {
    2: st.tuples(HANDLES, st.sampled_from([0, 8, 4096]), st.integers(0, 70_000)),
    3: st.tuples(HANDLES, st.sampled_from([0, 64, 128]), st.integers(-3, 1000)),
    4: st.just(()),
}
LISTS = st.sampled_from(sorted(FORMS)).flatmap(
    lambda form: WORDS[form].map(lambda words: (form, list(words)))
)
LAUNCH = st.tuples(
    TIMES, st.integers(0, 5), st.integers(0, 7), st.integers(0, 4), st.integers(0, 3)
)
CALL = st.tuples(TIMES, HANDLES, HANDLES, st.integers(0, 4), st.integers(0, 3), st.booleans())


@st.composite
def recordings(draw: st.DrawFn) -> Tables:
    launches = [
        {"enter_host_ns": 10 * enter, "return_host_ns": 10 * enter + 3, "circumstance_id": one,
         "arguments_id": many, "mark": mark, "event_handle": 0x90 + event}
        for enter, one, many, mark, event in draw(st.lists(LAUNCH, max_size=40))
    ]  # fmt: skip
    calls = [
        {"enter_host_ns": 10 * enter, "return_host_ns": 10 * enter + 3,
         "api": int(Api.clEnqueueCopyBuffer if copies else Api.clWaitForEvents), "thread_id": 1,
         "site_id": 1, "queue_handle": QUEUE, "mark": mark, "source_handle": source * copies,
         "target_handle": target * copies, "size_bytes": 7, "event_handle": (0x90 + event) * copies}
        for enter, source, target, mark, event, copies in draw(st.lists(CALL, max_size=15))
    ]  # fmt: skip
    registrations = draw(st.lists(st.tuples(HANDLES, TIMES), max_size=10, unique=True))
    buffers = [
        {"buffer_id": at + 1, "handle": handle, "kind": int(MemoryKind.BUFFER), "size_bytes": at,
         "known_host_ns": 10 * since - 5, "created_here": 1}
        for at, (handle, since) in enumerate(registrations) if handle
    ]  # fmt: skip
    numbers = st.sampled_from([buffer["buffer_id"] for buffer in buffers] or [99])
    count = 2 * (len(launches) + len(calls) + 1)
    stamp = st.builds(
        lambda base, times: [base + time for time in times],
        st.sampled_from([0, 17 * 10**17]), st.lists(TIMES, min_size=4, max_size=4),
    )  # fmt: skip
    return Tables(
        circumstances=draw(st.lists(ranges(), max_size=4)),
        lists=draw(st.lists(LISTS, max_size=6)),
        buffers=buffers,
        releases=draw(st.dictionaries(numbers, st.tuples(TIMES, TIMES), max_size=3)),
        slots=draw(st.lists(st.integers(0, 1), max_size=10)),
        launches=launches,
        calls=calls,
        stamps=draw(st.dictionaries(st.integers(0, count), stamp, max_size=20)),
        edges=draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0x90, 0x94)), max_size=8)),
        completions=draw(st.dictionaries(st.integers(1, 4), TIMES, max_size=3)),
    )


def write_rows(directory: Path, table: RowTable, rows: Sequence[Mapping[str, int]]) -> None:
    data = np.array([[row.get(name, 0) for name in table.columns] for row in rows], np.int64)
    data.reshape(-1, table.width).tofile(rows_file(directory, table))


def write(tables: Tables, path: Path) -> Path:
    """Write the tables in place of those of a made-up recording."""
    parts = write_large_recording(path, 1, replace(PLAIN, kernels=2))
    directory, _ = process_directories(parts)[0]
    for stale in directory.glob("*.rows"):
        stale.unlink()
    writer = SpoolWriter(directory)
    writer.records([r.ArgumentForm(form, slots) for form, slots in FORMS.items()])
    writer.close()
    numbered = [
        {**row, "circumstance_id": at} for at, row in enumerate(tables.circumstances, start=1)
    ]
    write_rows(directory, CIRCUMSTANCES, numbered)
    for width in (0, 3):
        table = arguments_table(width)
        rows = [
            dict(zip(table.columns, (at, form, *words), strict=True))
            for at, (form, words) in enumerate(tables.lists, start=1)
            if len(words) == width
        ]
        write_rows(directory, table, rows)
    write_rows(directory, BUFFERS, tables.buffers)
    pairs: Sequence[tuple[int, ...]]
    for table, pairs in (
        (RELEASES, [(number, *times) for number, times in tables.releases.items()]),
        (STAMPS, [(row, *stamps, 0) for row, stamps in tables.stamps.items()]),
        (EDGES, tables.edges),
        (COMPLETIONS, list(tables.completions.items())),
    ):
        write_rows(directory, table, [dict(zip(table.columns, row, strict=True)) for row in pairs])
    write_rows(directory, LAUNCHES, tables.launches)
    write_rows(directory, CALLS, tables.calls)
    np.array(tables.slots, np.uint64).tofile(directory / SLOTS_FILE)
    return parts


def object_of(tables: Tables, handle: int, host_ns: int) -> int | None:
    same = [
        (one["known_host_ns"], one["buffer_id"])
        for one in tables.buffers
        if one["handle"] == handle
    ]
    before = [entry for entry in same if entry[0] <= host_ns]
    return max(before)[1] if before else min(same)[1] if same else None


def arguments(tables: Tables, number: int, host_ns: int) -> list[tuple[Any, ...]] | None:
    """Kind, object, offset, size, type, value and detail of the arguments of a list."""
    if not 0 < number <= len(tables.lists):
        return None
    form, words = tables.lists[number - 1]
    if form == 4:
        return [("unknown", None, None, None, None, None, "x")]
    handle, second, third = words
    target = object_of(tables, handle, host_ns)
    if form == 2:
        scalar = ("scalar", None, None, 4, "<i4", struct.pack("<i", third), None)
        return [("buffer", target, second or None, None, None, None, None), scalar]
    return [
        ("svm", target, None, None, None, None, hex(handle)),
        ("local", None, None, second or None, None, None, None),
        ("scalar", None, None, None, "int", None, str(third)),
    ]


def configuration(tables: Tables, launch: dict[str, int]) -> tuple[Any, ...]:
    """Kernel, NDRange, work-items and arguments of a launch."""
    row: dict[str, int] = {}
    if 0 < launch["circumstance_id"] <= len(tables.circumstances):
        row = tables.circumstances[launch["circumstance_id"] - 1]
    sizes = [
        [row[f"{extent}_{axis}"] for axis in range(row.get(f"{name}_dimensions", 0))]
        for extent, name in (
            ("global_size", "global"),
            ("local_size", "local"),
            ("global_offset", "offset"),
        )
    ]
    own = arguments(tables, launch["arguments_id"], launch["enter_host_ns"])
    return (
        row.get("kernel_id"), json.dumps(sizes[0]), json.dumps(sizes[1]) if sizes[1] else None,
        json.dumps(sizes[2]) if sizes[2] else None, math.prod(sizes[0]), int(own is not None),
        tuple(own or ()),
    )  # fmt: skip


Entry = tuple[int, int, int, dict[str, int]]
"""Time of entry, 1 for a call that is no launch, position in the spool, and the row of a command."""


def expected_commands(tables: Tables) -> tuple[list[Any], list[Any], list[Any]]:
    """Rows of all commands, of edges and of waits, in the order of entry."""
    entries: list[Entry] = [
        (launch["enter_host_ns"], 0, at, launch) for at, launch in enumerate(tables.launches)
    ]
    entries += [
        (call["enter_host_ns"], 1, at, call)
        for at, call in enumerate(tables.calls)
        if call["event_handle"]
    ]
    entries.sort(key=lambda entry: entry[:3])
    numbers: dict[tuple[Any, ...], int] = {}
    rows = []
    for enter, is_call, at, row in entries:
        launch: Any = None
        if not is_call:
            own = configuration(tables, row)
            launch = (numbers.setdefault(own, len(numbers) + 1), own)
        stamps: Any = tables.stamps.get(2 * at + is_call, [None] * 4)
        first_of_mark = next(e for e in entries if e[3]["mark"] == row["mark"])
        complete = tables.completions.get(row["mark"])
        rows.append((
            enter, launch, stamps, complete if row["mark"] and first_of_mark[3] is row else None,
            object_of(tables, row["source_handle"], enter) if is_call else None,
            object_of(tables, row["target_handle"], enter) if is_call else None,
        ))  # fmt: skip
    return rows, *expected_waits(tables, entries)


def expected_waits(tables: Tables, entries: list[Entry]) -> tuple[list[Any], list[Any]]:
    """Pairs of commands, and of calls and commands, the first of which waits for the second."""
    calls = sorted(
        (c for c in tables.calls if not c["event_handle"]), key=lambda c: c["enter_host_ns"]
    )
    edges, waits = [], []
    for mark, event in tables.edges:
        call = next((at for at, one in enumerate(calls) if mark and one["mark"] == mark), None)
        command = next((at for at, e in enumerate(entries) if mark and e[3]["mark"] == mark), None)
        time = calls[call]["enter_host_ns"] if call is not None else None
        if time is None and command is not None:
            time = entries[command][0]
        before = [
            at for at, e in enumerate(entries)
            if time is not None and e[3]["event_handle"] == event and e[0] < time
        ]  # fmt: skip
        if before and command is not None:
            edges.append((command + 1, before[-1] + 1))
        if before and call is not None:
            waits.append((call + 1, before[-1] + 1))
    return sorted(edges), sorted(waits)


def found_commands(trace: Trace) -> tuple[list[Any], list[Any], list[Any]]:
    """What `expected_commands` has, from the public views."""
    own = {}
    for number, *facts in trace.rows(
        "SELECT launch_id, kernel_id, global_size, local_size, global_offset, work_items, "
        "arguments_known FROM v_launch"
    ):
        rows = trace.rows(
            "SELECT kind, buffer_id, offset_bytes, size_bytes, dtype, value, detail FROM v_launch_arg "
            f"WHERE launch_id = {number} ORDER BY position"
        )
        own[number] = (*facts, tuple(rows))
    commands = trace.rows(
        "SELECT enter_host_ns, launch_id, queued_device_ns, submit_device_ns, start_device_ns, "
        "end_device_ns, complete_host_ns, source_buffer_id, target_buffer_id "
        "FROM v_command ORDER BY command_id"
    )
    rows = [
        (enter, launch and (launch, own[launch]), stamps, *rest)
        for enter, launch, *stamps, rest in ((*row[:6], row[6:]) for row in commands)
    ]
    return (
        rows,
        trace.rows("SELECT command_id, waits_for_command_id FROM v_edge ORDER BY 1, 2"),
        trace.rows("SELECT call_id, command_id FROM v_wait ORDER BY 1, 2"),
    )


def expected_buffers(tables: Tables) -> list[tuple[Any, ...]]:
    rows = []
    for buffer in tables.buffers:
        number = buffer["buffer_id"]
        is_marked = number <= len(tables.slots) and tables.slots[number - 1]
        fate = "released" if number in tables.releases else "at-exit" if is_marked else "leaked"
        rows.append(
            (
                number,
                "buffer",
                buffer["size_bytes"],
                *tables.releases.get(number, (None, None)),
                fate,
            )
        )
    return rows


@settings(max_examples=40, deadline=None)
@given(recordings(), st.sampled_from([1, 2, 5, 1000]))
def test_finalising_gives_what_whole_tables_give(tables: Tables, part_rows: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "t.cltrace"
        finalise(write(tables, path), path, part_rows=part_rows)
        with cltrace.load(path) as trace:
            expected, edges, waits = expected_commands(tables)
            found = found_commands(trace)
            assert found[0] == expected
            assert found[1:] == (edges, waits)
            buffers = trace.rows(
                "SELECT buffer_id, kind, size_bytes, released_after_host_ns, "
                "released_before_host_ns, fate FROM v_buffer"
            )
            assert buffers == expected_buffers(tables)


def launch_at(host_ns: int, *, mark: int = 0) -> dict[str, int]:
    times = {"enter_host_ns": host_ns, "return_host_ns": host_ns + 3}
    return {**times, "mark": mark, "event_handle": 0x90, "circumstance_id": 0, "arguments_id": 0}


def test_a_wait_is_for_the_event_that_had_the_handle_before_the_next_command(
    tmp_path: Path,
) -> None:
    wait = {"enter_host_ns": 10, "return_host_ns": 13, "api": int(Api.clWaitForEvents), "mark": 1}
    launches = [launch_at(0), launch_at(20)]
    tables = Tables([], [], [], {}, [], launches, [wait], {}, edges=[(1, 0x90)])
    path = tmp_path / "t.cltrace"
    finalise(write(tables, path), path)
    with cltrace.load(path) as trace:
        assert trace.rows("SELECT call_id, command_id FROM v_wait") == [(1, 1)]


def test_pending_configurations_keep_their_objects(tmp_path: Path) -> None:
    """Of configurations beyond those in memory, some have a handle of several objects."""
    count = 200
    circumstance = {
        "kernel_id": 1, "site_id": 1, "thread_id": 1, "queue_handle": QUEUE,
        "global_dimensions": 1, "global_size_0": 64,
    }  # fmt: skip
    buffers = [
        {"buffer_id": at + 1, "handle": handle, "kind": int(MemoryKind.BUFFER), "size_bytes": at,
         "known_host_ns": since, "created_here": 1}
        for at, (handle, since) in enumerate([(0xA0, 0), (0xA1, 0), (0xA0, 10 * count // 2)])
    ]  # fmt: skip
    tables = Tables(
        circumstances=[circumstance],
        lists=[(2, [0xA0 + at % 2, 0, at]) for at in range(count)],
        buffers=buffers,
        releases={},
        slots=[],
        launches=[
            {**launch_at(10 * at + 1), "circumstance_id": 1, "arguments_id": at + 1}
            for at in range(count)
        ],
        calls=[],
        stamps={},
        edges=[],
    )
    path = tmp_path / "t.cltrace"
    finalise(write(tables, path), path, part_rows=2)
    with cltrace.load(path) as trace:
        assert found_commands(trace) == expected_commands(tables)
