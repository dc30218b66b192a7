"""Long tables read in parts by several processes: the same numbers, or a plain word about why not."""

import contextlib
import os
import shutil
import signal
import sqlite3
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cltrace
from cltrace.errors import DamagedTraceError, TraceError
from cltrace.report.selection import Selection, sum_selected
from cltrace.trace.column_blocks import ColumnBlocks
from cltrace.trace.merge import merge
from cltrace.trace.parallel_read import read_column_parts, worker_count
from cltrace.trace.table_location import TableLocation
from tests.command_parts import NAMES, highest_of, source_of
from tests.conftest import MakeTrace, Runner
from tests.hostile import changed


def executed(path: Path, sql: str) -> Path:
    """The trace at `path` after a statement."""

    def change(database: sqlite3.Connection) -> None:
        database.execute(sql)

    return changed(path, change)


@pytest.mark.parametrize(("rows", "workers"), [(7, 2), (10, 3), (1, 2), (1000, 2)])
def test_parts_are_the_table_in_its_order(rows: int, workers: int, make_trace: MakeTrace) -> None:
    path = make_trace("odd name?#%41 '.cltrace")
    highest = highest_of(path)
    parts = list(read_column_parts(source_of(path), highest, workers, rows_per_part=rows))
    assert len(parts) == -(-highest // rows)
    with cltrace.load(path) as trace:
        whole = trace.columns({name: name for name in NAMES}, "command ORDER BY id")
    for name in NAMES:
        assert np.concatenate([part[name] for part in parts]).tolist() == whole[name].tolist()
        assert parts[0][name].flags.writeable


def test_a_gap_in_the_numbers_is_an_empty_part(make_trace: MakeTrace) -> None:
    path = executed(make_trace(), "DELETE FROM packed_command WHERE id BETWEEN 5 AND 20")
    parts = list(read_column_parts(source_of(path), highest_of(path), 2, rows_per_part=4))
    assert [len(part["id"]) for part in parts[:6]] == [4, 0, 0, 0, 0, 4]


def test_what_is_no_number_is_damage(make_trace: MakeTrace) -> None:
    path = make_trace()
    highest = highest_of(path)
    executed(path, "UPDATE packed_command SET flags = 'x' WHERE id = 9")
    with pytest.raises(DamagedTraceError, match="is damaged") as caught:
        list(read_column_parts(source_of(path), highest, 2, rows_per_part=5))
    assert "\n" not in str(caught.value)


def test_a_trace_that_was_replaced_is_not_mixed_with_the_new_one(make_trace: MakeTrace) -> None:
    path, other = make_trace("one.cltrace"), make_trace("other.cltrace")
    source, highest = source_of(path), highest_of(path)
    os.utime(other, ns=(0, 0))
    other.replace(path)
    with pytest.raises(TraceError, match="was replaced while it was read"):
        list(read_column_parts(source, highest, 2, rows_per_part=5))


def test_nothing_of_the_current_directory_is_imported(
    make_trace: MakeTrace, tmp_path: Path, run: Runner
) -> None:
    path = make_trace()
    for name in ("json", "sqlite3", "numpy", "cltrace"):
        (tmp_path / f"{name}.py").write_text("open('owned', 'w')")
    code = (
        "import os, sys; from pathlib import Path\n"
        "from cltrace.trace.parallel_read import read_column_parts\n"
        "from tests.command_parts import source_of, highest_of\n"
        f"path = Path({str(path)!r}); source, highest = source_of(path), highest_of(path)\n"
        f"sys.path.insert(0, ''); os.chdir({str(tmp_path)!r})\n"
        "print(len(list(read_column_parts(source, highest, 2, rows_per_part=1000))))"
    )
    root = Path(__file__).parents[2]
    done = run("-c", code, command=[sys.executable], cwd=root, env={"PYTHONPATH": str(root)})
    assert (done.status, done.stdout) == (0, "1\n"), done.stderr
    assert not (tmp_path / "owned").exists()


def test_a_reader_that_is_killed_is_said_so(make_trace: MakeTrace) -> None:
    path = make_trace()
    source = source_of(path)
    endless = TableLocation(
        source.path,
        source.identity,
        "command",
        {
            "n": "(WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) "
            "SELECT max(x) FROM c)"
        },
    )
    found = iter(read_column_parts(endless, highest_of(path), 2, rows_per_part=5))

    def kill() -> None:
        while not (readers := readers_of(os.getpid())):
            pass
        os.kill(readers[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(TraceError, match="signal 9"):
        next(found)
    killer.join()
    assert not readers_of(os.getpid())


def readers_of(pid: int) -> list[int]:
    """The processes that read parts for a process; it may have other children."""
    found = []
    for one in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            parent = int((one / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"parallel_worker" in (one / "cmdline").read_bytes():
                found.append(int(one.name))
    return found


def test_few_rows_start_nothing() -> None:
    assert worker_count(1000) == 1
    assert 1 <= worker_count(10_000_000) <= len(os.sched_getaffinity(0))


@given(
    st.lists(st.lists(st.integers(-9, 9), max_size=9), min_size=1, max_size=12), st.integers(1, 8)
)
def test_what_was_collected_is_all_parts_in_order(parts: list[list[int]], block: int) -> None:
    collected = ColumnBlocks(rows_per_block=block)
    for part in parts:
        numbers = np.array(part, np.int32)
        collected.append({"a": numbers, "b": numbers > 0})
    whole = [one for part in parts for one in part]
    assert collected.pop("a").tolist() == whole
    assert collected.pop("b").tolist() == [one > 0 for one in whole]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE packed_command SET api = 'abc'",
        "UPDATE packed_command SET api = api + 65536 * 7",
        "UPDATE packed_command SET flags = 1e300 WHERE id = 3",
        "UPDATE packed_command SET queue_id = '7x'",
        "UPDATE packed_command SET kernel_id = 1 << 40",
        "UPDATE packed_command SET id = 4611686018427387904 "
        "WHERE id = (SELECT max(id) FROM packed_command)",
        "UPDATE packed_command SET id = -1099511627776 "
        "WHERE id = (SELECT min(id) FROM packed_command)",
    ],
)
def test_sums_of_a_part_refuse_what_cannot_be(sql: str, make_trace: MakeTrace) -> None:
    path = executed(make_trace(), sql)
    with pytest.raises(DamagedTraceError), cltrace.load(path) as trace:
        sum_selected(trace, "kernel", Selection(from_ns=0))


@pytest.mark.parametrize(
    "dimension", ["kernel", "queue", "device", "process", "thread", "callsite", "kernel-device"]
)
def test_sums_of_everything_are_the_stored_sums(dimension: str, make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace()) as trace:
        lines = sum_selected(trace, dimension, Selection(kernel=None, from_ns=-(10**12)))
        stored = dict(
            trace.rows(
                "SELECT key || activity, sum(calls) FROM v_rollup WHERE dimension = :d GROUP BY 1",
                {"d": dimension},
            )
        )
    found: dict[str, int] = {}
    for line in lines:
        key = line.key + line.activity
        found[key] = found.get(key, 0) + line.rollup.calls
    assert found == stored


def test_merging_names_the_trace_that_is_at_fault(make_trace: MakeTrace, tmp_path: Path) -> None:
    good = make_trace("good.cltrace")
    raw = os.fsdecode(bytes(tmp_path) + b"/lat\xe9.cltrace")
    shutil.copy(good, raw)
    assert merge([Path(raw), good], tmp_path / "both.cltrace") == 2 * highest_of(good)
    bad = Path(shutil.copy(good, tmp_path / "bad.cltrace"))
    size = bad.stat().st_size
    with bad.open("r+b") as file:
        file.truncate(size // 2)
    with pytest.raises(DamagedTraceError, match=r"bad\.cltrace"):
        merge([bad, good], tmp_path / "no.cltrace")
    names = sorted(os.fsencode(one.name) for one in tmp_path.iterdir())
    assert names == [b"bad.cltrace", b"both.cltrace", b"good.cltrace", b"lat\xe9.cltrace"]
    with sqlite3.connect(tmp_path / "both.cltrace") as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
