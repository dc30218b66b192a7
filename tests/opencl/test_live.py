"""`cltrace run --live`: what a terminal gets while a program runs; nothing else gets anything."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from cltrace.report.live import live_lines
from cltrace.spool.layout import parts_directory
from cltrace.timeline.live_activity import ActivitySnapshot, KernelSnapshot, LiveActivity
from tests.conftest import Runner, clean_environment
from tests.opencl.after import HEAD
from tests.patience import HANG_S
from tests.synthetic import LAUNCHES_EACH, write_recording

ESCAPES = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z]|[78])")
PROGRAM = (
    HEAD
    + """
memory = buffer()
for number in range(40):
    for _ in range(20): kernel(queue, (1,), None, memory)
    queue.finish()
    print("line", number, flush=True)
    time.sleep(0.05)
"""
)
ENOUGH = "enough"
LASTING_PROGRAM = PROGRAM.replace(
    "for number in range(40):",
    f"import itertools, os\nfor number in itertools.takewhile(lambda n: not os.path.exists({ENOUGH!r}),"
    " itertools.count()):",
)


def on_a_terminal(
    words: list[str], directory: Path, *, rows: int = 24, awaited: str = ""
) -> tuple[int, str]:
    """Run a command on a terminal of its own; its status, and all that the terminal got.

    Once that has what is `awaited`, a lasting program may end.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    environment = {**clean_environment(), "TERM": "xterm"}
    process = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=directory, env=environment
    )
    os.close(theirs)
    got = b""
    while True:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                data = os.read(ours, 65536)
            except OSError:
                break
            got += data
            if awaited and re.search(awaited, ESCAPES.sub("", got.decode(errors="replace"))):
                (directory / ENOUGH).touch()
        elif process.poll() is not None:
            break
    os.close(ours)
    return process.wait(HANG_S), got.decode()


@pytest.mark.opencl
def test_a_terminal_sees_rates_and_the_program_above_them(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "cltrace", "run", "--live", "-q", "-o", "t.cltrace"]
    status, got = on_a_terminal(
        [*words, sys.executable, "-c", LASTING_PROGRAM],
        tmp_path,
        awaited=r"  k +[\d,]+/s, .* each",
    )
    assert status == 0
    text = ESCAPES.sub("", got)
    assert re.search(r"cltrace: [\d\u202f]+ calls; .* busy \d+%", text)
    assert re.search(r"  k +[\d,]+/s, .* each", text)
    # A terminal's driver may let the display in between a line and its end.
    numbers = re.findall(r"line (\d+)", text)
    assert numbers == [str(number) for number in range(len(numbers))]
    assert text.count("\r\n") == len(numbers)
    # The scrolling region is made once and given back.
    assert got.count("\x1b[1;18r") == 1
    assert got.rstrip().endswith("\x1b[r\x1b8")


@pytest.mark.opencl
def test_what_is_no_terminal_gets_nothing(run: Runner) -> None:
    done = run("run", "--live", "-q", "-o", "t.cltrace", sys.executable, "-c", PROGRAM)
    plain = run("-c", PROGRAM, command=[sys.executable])
    assert done == plain


@pytest.mark.opencl
def test_the_cursor_stays_where_the_program_left_it(tmp_path: Path) -> None:
    code = "print('progress: ', end='', flush=True)\n" + HEAD
    code += "time.sleep(1.5); print('done', flush=True)\n"
    words = [sys.executable, "-m", "cltrace", "run", "--live", "-q", "-o", "t.cltrace"]
    status, got = on_a_terminal([*words, sys.executable, "-c", code], tmp_path)
    assert status == 0
    before = got.partition("done")[0]
    # On a slow machine the display may have been there first.
    assert "\x1bD" * 6 + "\x1b[6A" in before
    assert "\n" not in before.partition("progress: ")[2]


@pytest.mark.opencl
def test_a_closed_stderr_shows_nothing_and_harms_nothing(run: Runner, tmp_path: Path) -> None:
    words = (
        f"{sys.executable} -m cltrace run --live -o t.cltrace {sys.executable} -c 'print(7)' 2>&-"
    )
    done = run("-c", words, command=["sh"])
    assert (done.status, done.stdout) == (0, "7\n")
    assert not list(tmp_path.glob("*.parts"))


@pytest.mark.opencl
def test_a_small_terminal_is_left_alone(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "cltrace", "run", "--live", "-q", "-o", "t.cltrace"]
    status, got = on_a_terminal([*words, sys.executable, "-c", PROGRAM], tmp_path, rows=8)
    assert status == 0
    assert "\x1b" not in got


def test_each_look_is_of_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "t.cltrace"
    write_recording(path)
    watch = LiveActivity(parts_directory(path))
    first, second = watch.poll(), watch.poll()
    (kernel,) = first.kernels
    assert kernel.name == "scale"
    assert kernel.launches == 2 * LAUNCHES_EACH
    assert kernel.total_launches == 2 * LAUNCHES_EACH
    assert kernel.median_ns == 100_000
    assert first.busy_ns["pthread-device"] > 0
    assert first.processes == 2
    (kernel,) = second.kernels
    assert kernel.launches == 0
    assert kernel.total_launches == 2 * LAUNCHES_EACH
    assert kernel.median_ns is None


def test_lines_fit_and_hostile_names_are_harmless() -> None:
    kernels = tuple(KernelSnapshot("\x1b[31m" + "k" * 200, 7, 70, 1e3) for _ in range(20))
    lines = live_lines(ActivitySnapshot(kernels, {"\x1b]0;x\x07": 10**9}, 3, 12345), 0.5, 60, 6)
    assert len(lines) == 6
    assert all(len(line) < 60 and "\x1b" not in line for line in lines)
    assert (
        live_lines(ActivitySnapshot((), {}, 1, 0), 0.5, 80, 6)[0]
        == "cltrace: 0 calls; no device at work"
    )
