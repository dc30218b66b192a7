"""The program's end is the program's own: status, signal, streams, tracebacks."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cltrace
from cltrace.events.tables import LAUNCHES
from cltrace.spool.layout import parts_directory, process_directories
from tests.conftest import PROGRAMS, Runner, clean_environment
from tests.patience import HANG_S, wait_until, watched_lateness

pytestmark = pytest.mark.opencl

ENDINGS = PROGRAMS / "endings.py"
WAYS = (
    "ok", "exit7", "raise", "clerror", "nested", "builderror", "_exit", "abort", "kill", "segv",
    "unfinished",
)  # fmt: skip


@pytest.mark.parametrize("how", WAYS)
def test_ends_as_it_does_untraced(how: str, run: Runner, tmp_path: Path) -> None:
    plain = run(ENDINGS, how, command=[sys.executable])
    path = tmp_path / "t.cltrace"
    traced = run("run", "-q", "-o", path, sys.executable, ENDINGS, how)
    assert traced.status == plain.status
    assert traced.stdout == plain.stdout
    assert without_temporary_names(traced.stderr) == without_temporary_names(plain.stderr)
    with cltrace.load(path) as trace:
        launches = trace.rows("SELECT count(*) FROM v_command WHERE kernel = 'tick'")[0][0]
        assert launches == 20
        ended = trace.meta_int("signal"), trace.meta_int("exit_status")
    expected = (-plain.status, None) if plain.status < 0 else (None, plain.status)
    assert ended == expected


def without_temporary_names(text: str) -> str:
    """Text without what differs from run to run: addresses and names of temporary files."""
    return re.sub(r"tempfile_\w+|/tmp/tmp\w+|0x[0-9a-f]+", "*", text)


KILLED = "incomplete, an unknown number of commands may be missing"


@pytest.mark.parametrize(("how", "state"), [("abort", "complete"), ("kill", KILLED)])
def test_a_killed_program_leaves_a_trace_that_says_so(
    how: str, state: str, run: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "t.cltrace"
    run("run", "-q", "-o", path, ENDINGS, how)
    shown = run("info", path, "--format", "json")
    assert shown.status == 0
    assert json.loads(shown.stdout)["facts"]["state"] == state
    assert run("summary", path).stdout.count("killed by signal") == 1


Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts cltrace with a program that goes on, and returns once the program says that it runs."""
    with contextlib.ExitStack() as stack:

        def starter(path: Path, *words: str | Path) -> "subprocess.Popen[bytes]":
            process = subprocess.Popen(
                [sys.executable, "-m", "cltrace", "run", "-q", "-o", path, ENDINGS, *words],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=clean_environment(),
                start_new_session=True,
            )
            stack.enter_context(process)
            stack.callback(kill_group, process.pid)
            assert process.stdout is not None
            assert process.stdout.readline() == b"to stdout\n"
            wait_until(lambda: are_recorded(path, 20), "the first launches to be written")
            return process

        yield starter


def are_recorded(path: Path, launches: int) -> bool:
    """Return whether the processes of a recording have written as many launches."""
    rows = parts_directory(path).glob("*/launches.rows")
    return sum(file.stat().st_size for file in rows) >= launches * 8 * LAUNCHES.width


def kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def test_sigterm_to_cltrace_alone_reaches_the_program(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "t.cltrace"
    process = start(path, "loop")
    wait_until(lambda: are_recorded(path, 100), "launches of the loop to be written")
    process.send_signal(signal.SIGTERM)
    assert process.wait(HANG_S) == -signal.SIGTERM
    with cltrace.load(path) as trace:
        assert trace.meta_int("signal") == signal.SIGTERM
        assert trace.rows("SELECT count(*) FROM v_command")[0][0] > 20


def test_interrupting_the_group_ends_both(start: Start, tmp_path: Path) -> None:
    process = start(tmp_path / "t.cltrace", "loop")
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(HANG_S) in {-signal.SIGINT, 130, 1}
    assert process.stderr is not None
    assert b"KeyboardInterrupt" in process.stderr.read()


def test_a_program_sees_one_interrupt(start: Start, tmp_path: Path) -> None:
    process = start(tmp_path / "t.cltrace", "interrupted")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 3
    assert out == b"interrupted once\n"
    assert b"Traceback" not in err


def test_killing_cltrace_leaves_parts_that_recover_finishes(
    run: Runner, start: Start, tmp_path: Path
) -> None:
    path = tmp_path / "t.cltrace"
    process = start(path, "loop")
    process.kill()
    process.wait()
    shown = run("summary", path)
    assert shown.status == 0
    assert "unfinished recording" in shown.stderr
    programs = [identity for _, identity in process_directories(parts_directory(path))]
    os.killpg(process.pid, signal.SIGTERM)
    wait_until(lambda: not any(program.is_alive for program in programs), "the program to end")
    done = run("recover", path)
    assert done.status == 0, done.stderr
    assert "incomplete" in done.stderr
    assert not path.with_name("t.cltrace.parts").exists()
    assert run("summary", path).status == 0


@pytest.mark.parametrize("how", ["loop", "tight"])
def test_a_killed_program_loses_at_most_its_last_100_ms(
    how: str, start: Start, tmp_path: Path
) -> None:
    path = tmp_path / "t.cltrace"
    process = start(path, how)
    with watched_lateness() as lateness:
        time.sleep(0.5)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        killed_ns = time.perf_counter_ns()
        os.kill(int(children[-1]), signal.SIGKILL)  # the first is the witness of signals
    assert process.wait(HANG_S) == -signal.SIGKILL
    with cltrace.load(path) as trace:
        last = trace.rows("SELECT max(return_host_ns) FROM v_command")[0][0]
    # A busy machine wakes the tracer's thread as late as any other, some times between two writes.
    assert killed_ns - last < 200e6 + 10e9 * lateness.max_s
