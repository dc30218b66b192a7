"""The pytest plugin on sessions of its own: limits, comparisons, reports, and that it is inert else."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.conftest import Finished, Runner

pytestmark = pytest.mark.opencl

FIXTURE = """
import numpy as np
import pyopencl as cl
import pytest

SOURCE = '''
kernel void add(global float *x, int n) { x[get_global_id(0)] += n; }
kernel void gather(global float *x, global int *at) { x[at[get_global_id(0)]] += 1; }
'''

@pytest.fixture(scope="session")
def device():
    context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
    program = cl.Program(context, SOURCE).build()
    return context, cl.CommandQueue(context), cl.Kernel(program, "add"), cl.Kernel(program, "gather")

@pytest.fixture
def add(device):
    context, queue, kernel, _ = device
    x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
    def times(count):
        for _ in range(count):
            kernel(queue, (1024,), None, x, np.int32(2))
        queue.finish()
    return times

@pytest.fixture
def write(device):
    context, queue, _, _ = device
    x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
    return lambda: cl.enqueue_copy(queue, x, np.zeros(1024, np.float32))

@pytest.fixture
def gather(device):
    context, queue, _, kernel = device
    x = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR,
                  hostbuf=np.zeros(1024, np.float32))
    return lambda: kernel(queue, (1024,), None, x, x)
"""

LIMITS = """
import pytest, pyopencl as cl
mark = pytest.mark.cltrace

@mark(max_launches=2, max_builds=0, max_failures=0, max_bytes_to_device=0,
      max_operations=12288, max_transactions=512)
def test_within(add): add(2)

@mark(max_launches=1)
def test_launches(add): add(2)

@mark(kernel="other*", max_launches=1)
def test_launches_of_another_kernel(add): add(2)

@mark(max_bytes_to_device=4095)
def test_bytes(write): write()

@mark(max_builds=0)
def test_builds(device): cl.Program(device[0], "kernel void z() {}").build()

@mark(max_failures=0)
def test_failures(device):
    with pytest.raises(cl.Error): cl.Program(device[0], "no OpenCL C").build()

@mark(max_operations=12287)
def test_operations(add): add(2)

@mark(max_transactions=511)
def test_transactions(add): add(2)

@mark(max_transactions=10**9)
def test_transactions_that_nobody_knows(gather): gather()

@mark(max_operations=10**9)
def test_operations_are_known_all_the_same(gather): gather()

@mark(max_over_model=100)
def test_model(add): add(2)

@mark(max_launch=1)
def test_no_such_limit(add): add(2)

@mark(5)
def test_no_name(add): add(2)

@mark
def test_own_failure(add):
    add(3)
    assert 1 == 2

class TestIn:
    @mark(max_launches=0)
    def test_class(self, add): add(1)
"""


@pytest.fixture
def session(tmp_path: Path, run: Runner) -> object:
    """Run pytest on a file of tests."""
    (tmp_path / "conftest.py").write_text(FIXTURE)

    def runner(text: str, *words: str, env: dict[str, str] | None = None) -> Finished:
        (tmp_path / "test_it.py").write_text(text)
        flags = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=out.xml")
        return run(*flags, *words, command=[sys.executable], cwd=tmp_path, env=env or {})

    return runner


def outcomes(path: Path) -> dict[str, tuple[str, str]]:
    """How each test ended, and what was said, by its name."""
    found = {}
    for case in ET.parse(path).iter("testcase"):
        bad = [part for part in case if part.tag in {"failure", "error"}]
        text = str(bad[0].get("message")) if bad else ""
        found[str(case.get("name"))] = (bad[0].tag if bad else "passed", text)
    return found


def test_limits_fail_the_test_itself_and_reach_junit(session: Runner, tmp_path: Path) -> None:
    done = session(LIMITS)
    assert done.status == 1
    found = outcomes(tmp_path / "out.xml")
    fine = {
        "test_within",
        "test_launches_of_another_kernel",
        "test_operations_are_known_all_the_same",
    }
    assert {name for name, (how, _) in found.items() if how == "passed"} == fine
    said = {
        "test_launches": "2 launches, at most 1 are allowed",
        "test_bytes": "4,096 bytes to the device, at most 4,095 are allowed",
        "test_builds": "1 builds, at most 0 are allowed",
        "test_failures": "failures, at most 0 are allowed",
        "test_operations": "12,288 operations, at most 12,287 are allowed",
        "test_transactions": "512 memory transactions, at most 511 are allowed",
        "test_transactions_that_nobody_knows": "are not certain: assumed: the address",
        "test_model": "",
        "test_own_failure": "assert 1 == 2",
        "test_class": "1 launches, at most 0 are allowed",
    }
    for name, text in said.items():
        how, message = found[name]
        assert (how, text in message) == ("failure", True), (name, how, message)
    # The table is in the failure, and beside a failure of the test's own.
    assert "12 288" in found["test_operations"][1]
    assert "Captured cltrace call" in done.stdout
    wrong = {"test_no_such_limit": "no limit max_launch;", "test_no_name": "5 has none"}
    for name, text in wrong.items():
        assert found[name][0] == "error"
        assert text in found[name][1]
    properties = ET.parse(tmp_path / "out.xml").findall(
        ".//testcase[@name='test_within']//property"
    )
    assert {one.get("name"): one.get("value") for one in properties} == {
        "cltrace_launches": "2", "cltrace_bytes_to_device": "0", "cltrace_builds": "0",
        "cltrace_failures": "0",
    }  # fmt: skip


USE = """
def test_it(cltrace, add):
    add(2)
    found = cltrace.stop()
    add(5)
    assert found.kernels == {"add": 2}
    assert (found.launches, found.bytes_to_device, found.builds, found.failures) == (2, 0, 0, 0)
    assert cltrace.stop() is found
"""


def test_the_fixture_tells_what_was_launched(session: Runner) -> None:
    assert session(USE).status == 0


TWO = """
import pytest
@pytest.mark.cltrace
def test_one(add): add(COUNT)
@pytest.mark.cltrace
def test_two(add): add(2)
def test_three(add): add(99)
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_work_is_kept_and_compared_with(
    workers: list[str], session: Runner, tmp_path: Path
) -> None:
    first = TWO.replace("COUNT", "2")
    done = session(first, "--cltrace-save", "main", *workers)
    assert done.status == 0, done.stdout
    assert "saved the work of 2 tests" in done.stdout
    kept = tmp_path / ".cltrace" / "tests" / "main.json"
    assert len(json.loads(kept.read_text())["tests"]) == 2
    done = session(first, "--cltrace-compare", "main", *workers)
    assert done.status == 0, done.stdout
    done = session(TWO.replace("COUNT", "3"), "--cltrace-compare", "main", *workers)
    assert done.status == 1
    found = outcomes(tmp_path / "out.xml")
    assert [how for how, _ in found.values()].count("failure") == 1
    assert "it does more than before" in found["test_one"][1]
    new = first + "\n@pytest.mark.cltrace\ndef test_new(add): add(1)\n"
    done = session(new, "--cltrace-compare", "main", *workers)
    assert (done.status, "1 tests have nothing to compare with" in done.stdout) == (0, True)
    # A part of the tests leaves the others as they were.
    session(first, "--cltrace-save", "main", "-k", "two", *workers)
    assert len(json.loads(kept.read_text())["tests"]) == 2


def test_what_is_not_compared_for_want_of_a_clang_is_told(session: Runner) -> None:
    tests = TWO.replace("COUNT", "2")
    session(tests, "--cltrace-save", "main")
    assert "clang" not in session(tests, "--cltrace-compare", "main").stdout
    none = {"CLTRACE_CLANG": "/there/is/none"}
    done = session(tests, "--cltrace-compare", "main", env=none)
    assert done.status == 0
    assert "operations and memory transactions of 2 tests are not compared" in done.stdout


def test_nothing_to_compare_with_ends_the_session(session: Runner, tmp_path: Path) -> None:
    done = session(USE, "--cltrace-compare", "none")
    assert done.status == 4
    assert "--cltrace-save none makes it" in done.stderr
    (tmp_path / ".cltrace" / "tests").mkdir(parents=True)
    (tmp_path / ".cltrace" / "tests" / "bad.json").write_text("{}")
    assert "holds no tests of cltrace" in session(USE, "--cltrace-compare", "bad").stderr


INERT = """
import sys
def test_it():
    loaded = {name for name in sys.modules if name.startswith("cltrace.")}
    rooms = {name.split(".")[1] for name in loaded}
    assert rooms <= {
        "errors", "tracing_errors", "pytest_plugin", "version", "inside", "intercept", "spool", "trace",
        "events",
    }
    assert not {"pyopencl", "numpy", "pandas"} & set(sys.modules)
"""


def test_it_is_inert_unless_asked(session: Runner, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("")
    done = session(INERT)
    assert done.status == 0, done.stdout
    assert not (tmp_path / ".cltrace").exists()


def test_a_traced_session_goes_on_without_limits(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "conftest.py").write_text(FIXTURE)
    (tmp_path / "test_it.py").write_text(LIMITS.split("@mark(max_bytes")[0])
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    done = run("run", "-q", "-o", "t.cltrace", "--", sys.executable, *words, cwd=tmp_path)
    assert done.status == 0, done.stdout
    assert "limits of test_within are not checked: another recording" in done.stdout


def test_without_pyopencl_tests_may_skip_themselves(session: Runner, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("")
    (tmp_path / "pyopencl.py").write_text("raise ImportError('no OpenCL here')")
    text = """
import pytest
@pytest.mark.cltrace(max_launches=1)
def test_it():
    pytest.importorskip("pyopencl", exc_type=ImportError)
"""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = session(text, env={"PYTHONPATH": str(tmp_path), "TMPDIR": str(scratch)})
    assert (done.status, "1 skipped" in done.stdout) == (0, True), done.stdout
    assert not [one for one in scratch.iterdir() if one.name.startswith("cltrace")]
