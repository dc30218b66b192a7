"""Finalising works in parts, and the size of the parts changes nothing."""

import io
import resource
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.large_spools import MIXED, PLAIN, SHAPES, Shape, write_large_recording
from cltrace.commands.shared.messages import DelayedProgress, TaskProgress
from cltrace.errors import OutputError
from cltrace.timeline.timekeeping import finalise
from cltrace.trace.scratch import MemoryScratch
from cltrace.trace.sorted_runs import SortedRuns, in_order, matched_parts, suffix_minima
from tests.synthetic import write_recording

SMALL = st.integers(-3, 3)
ROWS = st.lists(st.tuples(SMALL, SMALL), max_size=40)
PART_ROWS = st.sampled_from([1, 2, 3, 1000])


def contents(path: Path) -> list[str]:
    """All rows of a trace, without the time that finalising took."""
    connection = sqlite3.connect(path)
    try:
        return [line for line in connection.iterdump() if "finalise_ns" not in line]
    finally:
        connection.close()


def numbered(rows: list[tuple[int, int]]) -> np.ndarray:
    return np.array([(*row, at) for at, row in enumerate(rows)], np.int64).reshape(-1, 3)


def joined(parts: Iterator[np.ndarray]) -> list[list[int]]:
    return [row for part in parts for row in part.tolist()]


@given(ROWS, PART_ROWS, st.sampled_from([1, 2]), st.integers(1, 7))
def test_rows_are_sorted_on_the_disk(
    rows: list[tuple[int, int]], part_rows: int, keys: int, step: int
) -> None:
    scratch = MemoryScratch(part_rows=part_rows)
    runs = SortedRuns(scratch, 3, keys=keys)
    runs._run_rows = 4
    table = numbered(rows)
    for begin in range(0, len(table), step):
        runs.add(table[begin : begin + step])
    expected = sorted(table.tolist(), key=lambda row: row[:keys])
    assert joined(runs.parts()) == expected


@given(ROWS, st.integers(1, 7), st.sampled_from([1, 1000]))
def test_rows_that_come_nearly_in_order_are_sorted(
    rows: list[tuple[int, int]], step: int, part_rows: int
) -> None:
    table = numbered(rows)
    parts = [table[begin : begin + step] for begin in range(0, len(table), step)]
    minima = suffix_minima([int(part[:, 0].min()) for part in parts])
    found = in_order(parts, minima, MemoryScratch(part_rows=part_rows))
    assert joined(found) == sorted(table.tolist(), key=lambda row: row[0])


@given(ROWS, ROWS, st.integers(1, 5), st.integers(1, 5))
def test_two_streams_are_matched(
    first: list[tuple[int, int]], second: list[tuple[int, int]], step: int, other_step: int
) -> None:
    tables = [numbered(sorted(rows)) for rows in (first, second)]
    streams = [
        [table[begin : begin + size] for begin in range(0, len(table), size)]
        for table, size in zip(tables, (step, other_step), strict=True)
    ]
    emitted: list[int] = []
    taken: list[list[int]] = [[], []]
    for left, right in matched_parts(streams[0], streams[1], (3, 3)):
        assert all(key <= value for key in emitted for value in right[:, 0].tolist())
        emitted = left[:, 0].tolist()
        rest = [row[0] for row in tables[0].tolist()[len(taken[0]) + len(left) :]]
        assert all(value < key for key in rest for value in right[:, 0].tolist())
        taken[0] += left.tolist()
        taken[1] += right.tolist()
    assert taken == [table.tolist() for table in tables]


@pytest.mark.parametrize("part_rows", [1, 2, 3, 7])
def test_the_size_of_parts_changes_nothing(tmp_path: Path, part_rows: int) -> None:
    parts = write_recording(tmp_path / "t.cltrace")
    finalise(parts, tmp_path / "whole.cltrace")
    finalise(parts, tmp_path / "parts.cltrace", part_rows=part_rows)
    assert contents(tmp_path / "parts.cltrace") == contents(tmp_path / "whole.cltrace")


SHAPE = st.builds(
    Shape,
    kernels=st.integers(1, 5),
    queues=st.integers(1, 3),
    threads=st.integers(1, 3),
    changing_scalars=st.integers(0, 2),
    copy_every=st.sampled_from([0, 3, 10]),
    wait_every=st.sampled_from([0, 2, 7]),
    finish_every=st.sampled_from([0, 5, 20]),
    buffer_every=st.sampled_from([0, 4]),
)


@settings(max_examples=15, deadline=None)
@given(SHAPE, st.integers(1, 150), st.sampled_from([1, 2, 3, 50]), st.integers(1, 2))
def test_any_recording_is_the_same_in_parts(
    shape: Shape, count: int, part_rows: int, processes: int
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        parts = write_large_recording(directory / "t.cltrace", count, shape, processes=processes)
        finalise(parts, directory / "whole.cltrace")
        finalise(parts, directory / "parts.cltrace", part_rows=part_rows)
        assert contents(directory / "parts.cltrace") == contents(directory / "whole.cltrace")


@pytest.mark.parametrize("part_rows", [1, 3])
def test_configurations_beyond_the_memory_get_the_same_numbers(
    tmp_path: Path, part_rows: int
) -> None:
    shape = replace(MIXED, changing_scalars=1)
    parts = write_large_recording(tmp_path / "t.cltrace", 300, shape)
    finalise(parts, tmp_path / "whole.cltrace")
    # The hashes of 16 configurations per row of a part are kept in memory.
    finalise(parts, tmp_path / "parts.cltrace", part_rows=part_rows)
    assert contents(tmp_path / "parts.cltrace") == contents(tmp_path / "whole.cltrace")


# The kernel counts `ru_maxrss` from before the process became Python: that is what pytest had.
FINALISE = """
import sys
from pathlib import Path
from cltrace.timeline.timekeeping import finalise
def peak_kb():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
before = peak_kb()
finalise(Path(sys.argv[1]), Path(sys.argv[2]), part_rows=4096)
print(peak_kb() - before)
"""


MORE_SHAPES = {"changing scalar", "changing global offset", "changing local size", "copies"}
"""Shapes that grow as others do: as four changing scalars, as a changing global size, as a mixed run."""


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(shape, marks=pytest.mark.slow) if shape in MORE_SHAPES else shape
        for shape in SHAPES
    ],
)
def test_memory_does_not_grow_with_the_run(tmp_path: Path, shape: str) -> None:
    peaks = []
    for count in (100_000, 250_000):
        path = tmp_path / f"{count}.cltrace"
        parts = write_large_recording(path, count, SHAPES[shape])
        done = subprocess.run(
            [sys.executable, "-c", FINALISE, parts, path],
            check=True,
            capture_output=True,
            text=True,
        )
        peaks.append(int(done.stdout) * 1024)
    # 150,000 launches more took 115 MB more when whole tables were in memory. Of configurations, the
    # 65,536 first are kept in memory with parts of this size.
    assert peaks[1] < peaks[0] + 30_000_000
    assert peaks[1] < 140_000_000


def test_a_full_disk_is_said_and_leaves_the_spool(tmp_path: Path) -> None:
    parts = write_large_recording(tmp_path / "t.cltrace", 20_000, PLAIN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OutputError, match=r"scratch files|cannot be written"):
            finalise(parts, tmp_path / "t.cltrace")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (tmp_path / "t.cltrace").exists()
    assert [entry.name for entry in tmp_path.iterdir()] == [parts.name]
    assert finalise(parts, tmp_path / "t.cltrace").commands == 20_000


def test_a_killed_finaliser_leaves_what_the_next_one_needs_and_nothing_more(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.cltrace"
    parts = write_large_recording(path, 60_000, PLAIN)
    with subprocess.Popen([sys.executable, "-c", FINALISE, parts, path]) as running:
        while not any(entry.name.endswith(".tmp") for entry in tmp_path.iterdir()):
            assert running.poll() is None
        running.kill()
    assert any(entry.name.endswith(".tmp") for entry in tmp_path.iterdir())
    assert not path.exists()
    other = tmp_path / ".u.cltrace.1.tmp"
    other.touch()
    assert finalise(parts, path).commands == 60_000
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name, parts.name, other.name}


def test_progress_is_one_line_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    now = [0.0]
    with DelayedProgress("writing t.cltrace", lambda: now[0]) as progress:
        progress("1 command")
        assert not log.getvalue()
        for now[0] in (2.1, 3.0, 9.0):
            progress("2 commands")
    assert log.getvalue() == "cltrace: writing t.cltrace …\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_long_task_is_named_from_its_first_state_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, shown in (
        (io.StringIO(), "cltrace: running app.py …\n"),
        (
            Terminal(),
            "".join(f"\r\x1b[Kcltrace: running app.py: run {n} of 2" for n in (1, 2)) + "\r\x1b[K",
        ),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        with TaskProgress("running app.py") as progress:
            progress("run 1 of 2")
            progress("run 2 of 2")
        assert stream.getvalue() == shown


def test_progress_is_shown_on_a_terminal_after_two_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    now = [0.0]
    with DelayedProgress("writing t.cltrace", lambda: now[0]) as progress:
        progress("1 command")
        assert not terminal.getvalue()
        now[0] = 2.1
        progress("2 commands")
        assert "writing t.cltrace: 2 commands" in terminal.getvalue()
        progress("3 commands")
        assert "3 commands" not in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
