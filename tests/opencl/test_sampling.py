"""Samples of real runs: each a process of its own, in turns, and nothing left behind."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cltrace.errors import BenchmarkFailedError, ExitStatus
from cltrace.regress.comparison import compare_rounds
from cltrace.regress.counters import CounterKind
from cltrace.regress.work import SizedKernel
from cltrace.runs.run_sampler import Invocation, RunSampler
from tests.patience import HANG_S, wait_until

pytestmark = pytest.mark.opencl

PROGRAM = """
import sys
import numpy as np
import pyopencl as cl
from pathlib import Path
print("hello from the program")
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
source = "kernel void k(global float *x, int n)"
source += "{ float a = x[0]; for (int i = 0; i < n; ++i) a = a * 0.5f + 1; x[get_global_id(0)] = a; }"
kernel = cl.Program(context, source).build().k
x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 256)
for _ in range(int(sys.argv[1])):
    kernel(queue, (64,), None, x, np.int32(100))
queue.finish()
with Path("order.txt").open("a") as stream:
    stream.write(Path.cwd().name + " ")
"""


@pytest.fixture
def places(tmp_path: Path) -> tuple[Invocation, Invocation]:
    """The same program in two directories; the second launches once more."""
    found = []
    for name, launches in (("base", "12"), ("head", "13")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "app.py").write_text(PROGRAM)
        found.append(Invocation(("app.py", launches), tmp_path / name))
    return found[0], found[1]


def test_runs_take_turns_and_count_the_same_each_time(
    places: tuple[Invocation, Invocation], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    base, head = places
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    told: list[str] = []
    found = RunSampler(drop=2, report=told.append).run_pairs(base, head, 3)
    assert [one.rpartition(" ")[2] for one in told] == [
        "base",
        "head",
        "head",
        "base",
        "base",
        "head",
    ]
    (kernel,) = found.base[0].kernels.values()
    assert (kernel.launches, kernel.counted) == (12, 10)
    both = compare_rounds([found]).counters
    assert [one.key.subject for one in both] == [None, SizedKernel("k", "[64]")]
    for one in both:
        assert one.key.kind is CounterKind.LAUNCHES
        assert one.base == 12
        assert one.head == 13
        assert one.is_worse
    # Each ran where it belongs, nothing is left, and nothing of theirs was printed.
    assert (base.directory / "order.txt").read_text() == "base base base "
    assert (head.directory / "order.txt").read_text() == "head head head "
    assert not list(scratch.iterdir())
    assert capfd.readouterr().out == ""


def test_a_command_that_fails_is_no_sample(places: tuple[Invocation, Invocation]) -> None:
    base, _ = places
    bad = Invocation(("app.py", "many"), base.directory)
    with pytest.raises(
        BenchmarkFailedError, match=r"app.py many exited with 1: .*ValueError"
    ) as error:
        RunSampler().run_once(bad)
    assert error.value.exit_status is ExitStatus.BENCHMARK_FAILED
    with pytest.raises(BenchmarkFailedError, match="launched no kernel"):
        RunSampler().run_once(Invocation(("app.py", "0"), base.directory))
    with pytest.raises(BenchmarkFailedError, match="killed by SIGABRT, and said nothing"):
        RunSampler().run_once(Invocation(("-c", "import os; os.abort()"), base.directory))
    with pytest.raises(BenchmarkFailedError, match="no-such-program"):
        RunSampler().run_once(Invocation(("no-such-program",), base.directory))


def test_an_interrupt_ends_the_command_too(tmp_path: Path) -> None:
    inner = (
        "import os, time; from pathlib import Path; "
        f"Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid())); time.sleep(60)"
    )
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from pathlib import Path; from cltrace.runs.run_sampler import Invocation, RunSampler; "
        f"RunSampler().run_once(Invocation(('-c', {inner!r}), Path({str(tmp_path)!r})))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    started = tmp_path / "pid"
    wait_until(lambda: started.exists() and bool(started.read_text()), "the command to start")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=HANG_S)
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
