"""`cltrace bench` and `check` on real runs: a revision beside its successor, and what fails."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cltrace.regress.sample_files import read_samples
from cltrace.regress.samples import WHOLE_RUN
from cltrace.regress.work import SizedKernel, WorkKind
from tests.conftest import Runner
from tests.patience import HANG_S, wait_until

pytestmark = pytest.mark.opencl

PROGRAM = """
import numpy as np
import pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
kernel = cl.Program(context, '''
kernel void gather(global float *to, global const float *from)
{ int i = get_global_id(0); to[i] = from[(i * STRIDE) % 65536]; }
''').build(options="-DSTRIDE=1").gather
to, source = (cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 << 16) for _ in range(2))
for _ in range(12):
    kernel(queue, (1 << 16,), None, to, source)
queue.finish()
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A program in a repository, whose working tree touches twice the memory."""
    there = tmp_path / "repository"
    there.mkdir()
    (there / "app.py").write_text(PROGRAM)
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "first")):
        subprocess.run(["git", *words], cwd=there, check=True)
    (there / "app.py").write_text(PROGRAM.replace("STRIDE=1", "STRIDE=2"))
    return there


def test_a_change_of_the_source_fails_by_its_transactions(repository: Path, run: Runner) -> None:
    words = ("--pairs", "6", "--max-pairs", "6", "--floor", "900%", "-o", "s.json", "--vs", "HEAD")
    done = run("bench", *words, "--", "app.py", cwd=repository)
    assert done.status == 0, done.stderr
    assert done.stderr.startswith("cltrace: running app.py …\ncltrace: wrote s.json")
    samples = read_samples(repository / "s.json")
    (only,) = samples.rounds
    assert (len(only.base), len(only.head)) == (6, 6)
    assert samples.base is not None
    assert samples.base.revision == samples.head.revision != ""
    assert samples.head.is_dirty
    revision = samples.head.revision[:12]
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert f"base app.py, revision {revision}" in lines
    assert f"head app.py, revision {revision} and changes" in lines
    key = SizedKernel("gather", "[65536]")
    for side, sectors in ((only.base, 16384), (only.head, 24576)):
        works = [one.work for one in side]
        assert [work is not None for work in works] == [True] * 2 + [False] * 4
        assert works[0] is not None
        amount = works[0].kernels[key].amounts[WorkKind.TRANSACTIONS]
        assert amount.total == 12 * sectors
    done = run("check", "s.json", "--floor", "900%", "--format", "json", cwd=repository)
    assert done.status == 1, done.stdout
    report = json.loads(done.stdout)
    (row,) = [one for one in report["work"] if one["kind"] == "memory transactions"]
    assert row["base"] == 16384
    assert row["head"] == 24576
    assert row["verdict"] == "MORE"
    assert (
        run("check", "s.json", "--floor", "900%", "--counters", "off", cwd=repository).status == 0
    )
    assert not (repository / ".git" / "index.lock").exists()


METER = """\
#!{python}
import sys, time
if "-c" in sys.argv:
    sys.exit(0)
print("# channel cpu unit=W scope=cpu period_s=0.01", flush=True)
while True:
    print(int(time.time() * 1e6), {watts}, "cpu", flush=True)
    time.sleep(0.01)
"""


def test_energy_is_compared_where_it_is_measured(
    repository: Path, run: Runner, tmp_path: Path
) -> None:
    long = PROGRAM.replace("range(12)", "range(3000)")
    (repository / "app.py").write_text(long)
    meter = tmp_path / "meter"
    meter.write_text(METER.format(python=sys.executable, watts=40.5))
    meter.chmod(0o755)
    words = (
        "bench",
        "--pairs",
        "6",
        "--max-pairs",
        "6",
        "--power",
        f"exec:{meter}",
        "-o",
        "s.json",
    )
    done = run(*words, "--aa", "--format", "json", "--", "app.py", cwd=repository)
    assert done.status == 0, done.stderr
    (only,) = read_samples(repository / "s.json").rounds
    for one in (*only.base, *only.head):
        assert one.energy_j[WHOLE_RUN] > 1.0
    (row,) = [one for one in json.loads(done.stdout)["energy"] if one["of"] == "the whole run"]
    assert row["low"] < row["change"] < row["high"]


def test_samples_alone_and_power_beside(repository: Path, run: Runner) -> None:
    words = ("bench", "--pairs", "2", "--power", "exec:echo", "-o", "s.json", "--", "app.py")
    done = run(*words, cwd=repository)
    assert done.status == 0, done.stderr
    (only,) = read_samples(repository / "s.json").rounds
    assert (len(only.base), len(only.head)) == (0, 2)
    assert "no power from exec" in done.stderr or "exec" in done.stderr
    again = run(*words, cwd=repository)
    assert (again.status, "exists already" in again.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--vs", "HEAD", "--", "python", "-c", "raise SystemExit(3)"], 4),
        (["--vs", "HEAD", "--", "true"], 4),
        (["--vs", "HEAD", "--", "no-such-command"], 4),
        (["--vs", "no-such-revision", "--", "app.py"], 2),
        (["--vs", "HEAD", "--pairs", "5", "--", "app.py"], 2),
        (["--", "app.py"], 2),
        (["--vs", "HEAD"], 2),
        (["--vs", "HEAD", "--aa", "--", "app.py"], 2),
        (["-o", ".", "--", "app.py"], 2),
    ],
)
def test_what_cannot_be_sampled_says_so(
    words: list[str], status: int, repository: Path, run: Runner
) -> None:
    done = run("bench", *words, cwd=repository)
    assert done.status == status, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def is_gone(pid: int) -> bool:
    """Return True for a process that has ended, whether or not its parent has asked for its status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_bench_ends_the_command_and_leaves_nothing(
    number: signal.Signals, repository: Path, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    pid = tmp_path / "pid"
    script = f"echo $$ > {pid}; exec sleep 60"
    words = (sys.executable, "-m", "cltrace", "bench", "--vs", "HEAD", "--", "bash", "-c", script)
    process = subprocess.Popen(
        words, cwd=repository, env={**os.environ, "TMPDIR": str(scratch)}, stderr=subprocess.PIPE
    )
    wait_until(lambda: pid.exists() and bool(pid.read_text()), "the command to start")
    process.send_signal(number)
    _, said = process.communicate(timeout=HANG_S)
    assert process.returncode == 128 + number
    assert b"Traceback" not in said
    wait_until(lambda: is_gone(int(pid.read_text())), "the command to end")
    assert list(scratch.iterdir()) == []
