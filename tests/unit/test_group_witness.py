"""Signals to a process group are told from signals to one process of it."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import clean_environment, finished
from tests.patience import HANG_S, wait_until

PROGRAM = """
import os, signal, sys
from cltrace.runs.group_witness import GroupWitness
os.setpgid(0, 0)
for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, lambda *_: None)
witness = GroupWitness([signal.SIGINT, signal.SIGTERM])
os.kill(os.getpid(), signal.SIGINT); print(witness.has_seen(signal.SIGINT))
os.killpg(0, signal.SIGINT); print(witness.has_seen(signal.SIGTERM), witness.has_seen(signal.SIGINT))
print(witness.has_seen(signal.SIGINT))
os.kill(os.getpid(), signal.SIGTERM); print(witness.has_seen(signal.SIGTERM))
os.kill(int(open(f"/proc/self/task/{os.getpid()}/children").read()), signal.SIGKILL)
import time; time.sleep(0.1)
print(witness.has_seen(signal.SIGTERM))
witness.close()
"""


def test_a_witness_sees_signals_to_the_group_only(tmp_path: Path) -> None:
    done = finished([sys.executable, "-c", PROGRAM], tmp_path)
    assert done.stderr == ""
    assert done.stdout.split() == ["False", "False", "True", "False", "False", "None"]


COUNTING = """
import signal, sys, time
count = 0
def handler(*_):
    global count
    count += 1
for name in sys.argv[1:]: signal.signal(getattr(signal, name), handler)
print("ready", flush=True)
while not count: time.sleep(0.01)
time.sleep(0.3)
sys.exit(count)
"""
"""Counts the signals whose names are its arguments, and exits with their number."""


@pytest.mark.parametrize("name", ["SIGUSR1", "SIGALRM", "SIGPROF", "SIGRTMIN"])
def test_a_command_gets_what_cltrace_alone_gets(name: str, tmp_path: Path) -> None:
    # Each of these ended cltrace, and left the program without it.
    assert count_of_signals((), name, tmp_path, is_group=False) == 1


def test_no_other_signal_ends_cltrace_alone(tmp_path: Path) -> None:
    code = (
        "import signal\nfrom cltrace.runs.child import _FORWARDED as forwarded\n"
        "print(sorted(signal.valid_signals() - set(forwarded), key=int))"
    )
    others = finished([sys.executable, "-c", code], tmp_path).stdout
    names = set(re.findall(r"SIG[A-Z]+", others))
    faults = {"SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS"}
    harmless = {"SIGPIPE", "SIGXFSZ", "SIGCHLD", "SIGURG", "SIGWINCH", "SIGTTIN", "SIGTTOU"}
    assert names == faults | harmless | {"SIGKILL", "SIGSTOP"}


@pytest.mark.parametrize("is_group", [False, True])
@pytest.mark.parametrize("name", ["SIGINT", "SIGQUIT", "SIGTERM", "SIGXCPU", "SIGCONT", "SIGALRM"])
def test_a_command_gets_a_signal_once(name: str, is_group: bool, tmp_path: Path) -> None:
    assert count_of_signals((), name, tmp_path, is_group=is_group) == 1


@pytest.mark.parametrize("is_group", [False, True])
@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_a_command_that_handles_what_it_inherits_as_ignored_gets_it(
    name: str, is_group: bool, tmp_path: Path
) -> None:
    # Shells start background jobs with SIGINT ignored, `nohup` starts a command with SIGHUP ignored.
    ignoring = ("sh", "-c", f'trap "" {name.removeprefix("SIG")}; exec "$@"', "sh")
    assert count_of_signals(ignoring, name, tmp_path, is_group=is_group) == 1


def test_a_command_inherits_that_a_signal_is_ignored(tmp_path: Path) -> None:
    program = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    command = [sys.executable, "-m", "cltrace", "run", "-q", sys.executable, "-c", program]
    assert finished([*ignoring, *command], tmp_path).stdout == "True\n"


def count_of_signals(before: tuple[str, ...], name: str, place: Path, *, is_group: bool) -> int:
    """Return how often a traced command gets a signal, sent to cltrace alone or to the group.

    `before` are the words of a command that starts cltrace.
    """
    command = [sys.executable, "-m", "cltrace", "run", "-q", "-o", str(place / "t.cltrace")]
    with subprocess.Popen(
        [*before, *command, sys.executable, "-c", COUNTING, name],
        stdout=subprocess.PIPE,
        env=clean_environment(),
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        (os.killpg if is_group else os.kill)(process.pid, getattr(signal, name))
        return process.wait(HANG_S)


def test_a_witness_ends_with_its_process(tmp_path: Path) -> None:
    code = (
        "import os, signal\nfrom cltrace.runs.group_witness import GroupWitness\n"
        "witness = GroupWitness([signal.SIGTERM])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = finished([sys.executable, "-c", code], tmp_path)
    # The output ended, which the witness had inherited.
    assert done.status == -signal.SIGKILL


@pytest.mark.parametrize("is_group", [False, True])
def test_a_command_stops_and_continues_with_cltrace(is_group: bool, tmp_path: Path) -> None:
    program = "import os; print(os.getpid(), flush=True); input(); print('ended')"
    command = [sys.executable, "-m", "cltrace", "run", "-q", "-o", str(tmp_path / "t.cltrace")]
    with subprocess.Popen(
        [*command, sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
        process_group=0,
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        send = os.killpg if is_group else os.kill
        send(process.pid, signal.SIGTSTP)
        wait_for_states({process.pid, pid}, "T")
        send(process.pid, signal.SIGCONT)
        wait_for_states({process.pid, pid}, "SRD")
        assert process.communicate(b"\n", timeout=HANG_S)[0] == b"ended\n"
        assert process.returncode == 0


def wait_for_states(pids: set[int], states: str) -> None:
    """Wait until the processes are in one of the states."""
    wait_until(lambda: all(state_of(pid) in states for pid in pids), f"states of {pids}")


def state_of(pid: int) -> str:
    """Return the letter of a process's state."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
