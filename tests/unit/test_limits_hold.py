"""Limits that hold whatever the input does: queries, meters, texts and copies in kernels."""

import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from cltrace.errors import KernelError, PowerError, QueryError
from cltrace.events.power import ProbeState
from cltrace.kernels.ir.types import ArrayType, IntegerType
from cltrace.kernels.limits import limit_counting
from cltrace.kernels.values import constant_value, plain_array_bytes, to_bytes
from cltrace.power.load_classes import Load, LoadKind
from cltrace.power.readers.exec import ExecReader
from cltrace.power.readers.lines import LineReader
from cltrace.power.readers.sim import SimulationPlan, simulate_readings
from cltrace.trace.guarded_query import run_guarded_query
from tests.conftest import Runner

T = TypeVar("T")
GOLDEN = Path(__file__).parents[1] / "golden" / "schema-4.cltrace"
LONG = "printf('%.*c', 20000000, 'x')"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT instr({LONG}, substr({LONG}, 10000000) || 'y')",
        "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT count(*) FROM a",
        "WITH RECURSIVE a(x) AS (SELECT 1 UNION SELECT x + 1 FROM a) SELECT max(x) FROM a",
    ],
)
def test_a_query_ends_in_time_inside_of_functions_too(sql: str) -> None:
    with pytest.raises(QueryError, match=r"longer than 0\.5 s"):
        run_guarded_query(GOLDEN, sql, max_rows=10, max_seconds=0.5)


def test_what_the_parent_holds_is_not_the_querys_memory() -> None:
    sql = f"SELECT length({LONG})"
    code = f"""if True:
        from pathlib import Path
        from cltrace.trace.guarded_query import run_guarded_query
        held = bytearray(1 << 30)
        print(run_guarded_query(Path({str(GOLDEN)!r}), {sql!r}, max_rows=1, max_seconds=60).rows)
    """
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "[(20000000,)]\n", done.stderr


def test_a_query_whose_parent_gets_no_time_has_run_for_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = sys.modules[run_guarded_query.__module__]
    monkeypatch.setattr(module, "_GRACE_S", 600.0)
    monkeypatch.setattr(module, "_SPARE_CPU_S", 0)
    sql = f"SELECT instr({LONG}, substr({LONG}, 10000000) || 'y')"
    with pytest.raises(QueryError, match=r"longer than 0\.5 s"):
        run_guarded_query(GOLDEN, sql, max_rows=10, max_seconds=0.5)


LATE_TIE = """
        import ctypes, os, time
        parent, library = os.getpid(), ctypes.CDLL(None)
        class Late:
            def prctl(self, *words):
                while os.getppid() == parent:
                    time.sleep(0.01)
                library.prctl(*words)
        ctypes.CDLL = lambda _: Late()
"""


@pytest.mark.parametrize("before", ["", LATE_TIE], ids=["tied", "killed before it is tied"])
def test_a_query_ends_with_its_parent(before: str) -> None:
    endless = "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT max(x) FROM a"
    code = f"""if True:
        from pathlib import Path
        from cltrace.trace.guarded_query import run_guarded_query
        {before}
        run_guarded_query(Path({str(GOLDEN)!r}), {endless!r}, max_rows=1, max_seconds=600)
    """
    parent = subprocess.Popen([sys.executable, "-c", code])
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    child = _wait_for(lambda: children.read_text().split())[0]
    parent.kill()
    parent.wait()
    assert _wait_for(lambda: _is_gone(child))


def _is_gone(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def _wait_for(find: Callable[[], T]) -> T:
    deadline = time.monotonic() + 60
    while not (value := find()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return value


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT DISTINCT {LONG} || a.command_id || b.command_id FROM v_command a, v_command b",
        f"SELECT {LONG} || command_id FROM v_command",
        f"WITH RECURSIVE a(x, y) AS (SELECT 1, {LONG} UNION SELECT x + 1, y FROM a) SELECT 1 FROM a",
    ],
)
def test_a_query_takes_bounded_memory(sql: str) -> None:
    with pytest.raises(QueryError, match="MiB"):
        run_guarded_query(GOLDEN, sql, max_rows=1000, max_seconds=60)


def test_a_guarded_query_answers_as_others_do(run: Runner) -> None:
    result = run_guarded_query(
        GOLDEN, "SELECT 1 AS a, 'x', NULL, 1.5, x'00ff' UNION ALL SELECT 2, '', 3, 4, 5",
        max_rows=1, max_seconds=60,
    )  # fmt: skip
    assert result.column_names[0] == "a"
    assert result.rows == [(1, "x", None, 1.5, b"\x00\xff")]
    assert result.is_cut
    with pytest.raises(QueryError, match="syntax error"):
        run_guarded_query(GOLDEN, "SELEC", max_rows=1, max_seconds=60)
    shown = run("query", GOLDEN, f"SELECT {LONG} AS text")
    assert (shown.status, len(shown.stdout) < 10_000) == (0, True)
    whole = run("query", GOLDEN, "SELECT printf('%.*c', 9000, 'x') AS text", "--format", "csv")
    assert "x" * 9000 in whole.stdout


def meter(path: Path, body: str, check: str = "exit 0") -> ExecReader:
    path.write_text(f'#!/bin/sh\nif [ "$1" = -c ]; then {check}; fi\n{body}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return ExecReader(str(path))


@pytest.mark.parametrize(
    "body",
    [
        "yes '# a comment'",
        "cat /dev/zero",
        "yes >&2",
        "while :; do echo -n xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
    ],
)
def test_a_meter_that_floods_is_ended_and_told(body: str, tmp_path: Path) -> None:
    opened = meter(tmp_path / "meter", body).open(0.1)
    failure = ""
    try:
        deadline_s = time.monotonic() + 60
        while not failure and time.monotonic() < deadline_s:
            time.sleep(0.05)
            try:
                list(opened.read())
            except PowerError as error:
                failure = str(error)
    finally:
        opened.close()
    assert "prints " in failure


def test_a_check_that_floods_is_ended(tmp_path: Path) -> None:
    probe = meter(tmp_path / "meter", "", "yes >&2").probe()
    assert (probe.state, "too much" in probe.evidence) == (ProbeState.UNSUPPORTED, True)
    assert meter(tmp_path / "quiet", "", "yes >/dev/null & exit 0").probe().state in set(ProbeState)
    result = meter(tmp_path / "told", "", "echo no sensor >&2; exit 3").probe()
    assert result.evidence.endswith("no sensor")


def test_channels_of_a_meter_are_bounded() -> None:
    reader = LineReader("x")
    with pytest.raises(PowerError, match="more than 1000 channels"):
        list(reader.samples(f"1 2 c{number}" for number in range(2000)))


@pytest.mark.parametrize(
    "call",
    [
        "async_work_group_copy(l, a, (size_t)1 << 62, 0)",
        "async_work_group_copy(l, a, n, 0)",
        "async_work_group_strided_copy(l, a, (size_t)1 << 40, 3, 0)",
    ],
)
def test_copies_of_work_groups_end_at_the_limit(call: str, run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(
        "kernel void f(global int *a, local int *l, ulong n) {"
        f" event_t e = {call}; wait_group_events(1, &e); a[get_global_id(0)] = l[0]; }}"
    )
    words = ("kernel", "k.cl", "--no-cache", "--global-size", "64", "--arg", "l=4096")
    done = run(*words, "--arg", f"n={1 << 62}", "--cpu-limit", "0.5")
    assert done.status == 2
    assert "more than the limit of 0.5 s of CPU time: --cpu-limit 0 lifts it" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("number", [10**9, 1 << 44, 1 << 62, (1 << 63) - 1, 1 << 63])
def test_stray_addresses_are_counted(number: int, run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(
        "kernel void f(global int *a, local int *l, ulong n) {"
        " a[get_global_id(0) * n] = 1; a[0] = l[n]; a[n] = l[get_local_id(0) * n]; }"
    )
    words = ("kernel", "k.cl", "--no-cache", "--global-size", "64", "--arg", "l=4096")
    done = run(*words, "--arg", f"n={number}")
    assert done.status == 0, done.stderr


def test_a_recursion_that_is_too_deep_is_an_error_of_the_kernel() -> None:
    def descend() -> None:
        descend()

    with pytest.raises(KernelError, match="nested too deeply"), limit_counting(10.0):
        descend()


@pytest.mark.slow
def test_a_chain_of_a_thousand_sums_is_refused(run: Runner, tmp_path: Path) -> None:
    sums = "".join(f"x += a[i * 1100 + {number}];\n" for number in range(1100))
    (tmp_path / "k.cl").write_text(
        "kernel void f(global int *a, int n) {"
        f" int x = 0; for (int i = 0; i < n; i++) {{ {sums} }} a[0] = x; }}"
    )
    words = ("kernel", "k.cl", "--no-cache", "--global-size", "64", "--arg", "a=4M", "--arg", "n=2")
    done = run(*words)
    assert (done.status, len(done.stderr.splitlines())) == (2, 1)
    assert "nested too deeply" in done.stderr


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_texts_and_tables_become_bytes_at_once(bits: int) -> None:
    chooser = np.random.default_rng(bits)
    limit = 1 << (bits - 1)
    numbers = tuple(int(n) for n in chooser.integers(-limit, limit - 1, 500))
    kind = ArrayType(len(numbers), IntegerType(bits))
    slow = to_bytes(constant_value(kind, numbers, lambda _: 0), kind)[0]
    fast = plain_array_bytes(kind, numbers)
    assert fast is not None
    assert fast.tolist() == slow.tolist()
    whole = plain_array_bytes(ArrayType(5_000_000, IntegerType(8)), (7,) * 5_000_000)
    assert whole is not None
    assert whole.shape == (5_000_000,)


@pytest.mark.parametrize(
    ("period_s", "spans_s", "message"),
    [
        (1e-9, [(0.0, 1.0)], "readings"),
        (1e3, [(0.0, 1e9)], "the commands took"),
        (1e3, [(0.0, float("nan"))], "readings"),
    ],
)
def test_a_simulation_has_a_size(
    period_s: float, spans_s: list[tuple[float, float]], message: str
) -> None:
    loads = (Load(LoadKind.KERNEL, ("k",), "", 1, *np.array(spans_s).T),)
    with pytest.raises(PowerError, match=message):
        simulate_readings(SimulationPlan(period_s=period_s), loads, {})
