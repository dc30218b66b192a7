"""What the tests share: running cltrace as its users do, and a watch for hooks left behind."""

import multiprocessing.queues
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyopencl
import pytest
from hypothesis import settings

import cltrace
from cltrace.kernels.launches.settings import CACHE_VARIABLE
from cltrace.timeline.timekeeping import finalise
from cltrace.trace.reader import Trace
from cltrace.trace.recording import discard_parts
from tests.layer import CountingLayer, compiled_layer
from tests.patience import HANG_S
from tests.platform import select_pocl
from tests.synthetic import Text, as_it_is, write_recording
from tests.verb_server import VerbServer, is_served

CLTRACE = (sys.executable, "-m", "cltrace")
_WORKER = "PYTEST_XDIST_WORKER"
"""Environment variable of a worker of pytest-xdist. All workers keep counts in the same directory."""
PROGRAMS = Path(__file__).parent / "opencl" / "programs"
LONG_FILES = (
    *("test_programs.py", "test_kernels_agree.py", "test_energy_model.py", "test_score.py"),
    *("test_calibrate.py", "test_counts_agree.py", "test_kernel_advice.py", "test_streaming.py"),
    *("test_recorded_pages.py", "test_generated_kernels.py", "test_notebooks.py", "test_action.py"),
    *("test_whole_programs.py", "test_fuzzing.py", "test_hostile.py", "test_profiles.py"),
    *("test_pytest_plugin.py", "test_hooks_agree.py", "test_together.py", "test_faults.py"),
)
"""Files of tests that take minutes, and run first."""


def pytest_configure() -> None:
    """Choose the platform, and let hypothesis take the time that a loaded machine needs."""
    # Shells start jobs in the background so; programs under test would inherit it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as under nohup
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    select_pocl()
    if _WORKER not in os.environ:  # a worker has the environment of the process that started it
        os.environ[CACHE_VARIABLE] = tempfile.mkdtemp(prefix="cltrace-counts-")
        # There is a worker for each processor. Threads of linear algebra would wait for each other.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    settings.register_profile("cltrace", deadline=None, print_blob=True)
    settings.load_profile("cltrace")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files first that take longest: no worker is left with one of them at the end."""
    places = {name: place for place, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


def pytest_unconfigure() -> None:
    """Remove the counts that the tests kept, once all workers have ended."""
    if _WORKER in os.environ:
        return
    shutil.rmtree(os.environ[CACHE_VARIABLE], ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended: its status, negative for a signal, and what it said."""

    status: int
    stdout: str
    stderr: str


Runner = Callable[..., Finished]


@pytest.fixture(autouse=True)
def no_leaked_hooks() -> Iterator[None]:
    """Fail a test that leaves anything of pyopencl replaced, or a tracing under way."""
    before = _state()
    yield
    from cltrace.intercept import session  # noqa: PLC0415 - only where a test may have used it

    assert session.current() is None, "the test left a tracing under way"
    after = _state()
    changed = {name for name in before.keys() & after.keys() if before[name] != after[name]}
    assert not changed, f"the test left hooks: {sorted(changed)}"


def _state() -> dict[str, int]:
    """The identity of everything that cltrace replaces."""
    raw = sys.modules["pyopencl._cl"]
    owners: list[object] = [pyopencl, raw, sys.modules.get("pyopencl.invoker")]
    owners += [os, subprocess.Popen, multiprocessing.queues.SimpleQueue]
    owners += (value for value in vars(raw).values() if isinstance(value, type))
    return {
        f"{getattr(owner, '__name__', owner)}.{name}": id(value)
        for owner in owners
        if owner is not None
        for name, value in list(vars(owner).items())
        if callable(value) or isinstance(value, (property, staticmethod))
    }


def finished(
    words: Sequence[str | Path],
    cwd: Path,
    *,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    seconds: float = HANG_S,
) -> Finished:
    """Run a command in a directory, in an environment without what would change it, and `env`."""
    done = subprocess.run(
        list(map(str, words)),
        capture_output=True,
        cwd=cwd,
        env={**clean_environment(), **(env or {})},
        input=stdin.encode() if stdin is not None else None,
        timeout=seconds,
        check=False,
    )
    return Finished(done.returncode, _text(done.stdout), _text(done.stderr))


@pytest.fixture(scope="session")
def verb_server() -> Iterator[Callable[[], VerbServer]]:
    """A process that runs reading verbs, started when first used."""
    servers: list[VerbServer] = []

    def server() -> VerbServer:
        if not servers:
            servers.append(VerbServer(clean_environment()))
        return servers[0]

    yield server
    for started in servers:
        started.close()


@pytest.fixture
def run(tmp_path: Path, verb_server: Callable[[], VerbServer]) -> Runner:
    """Run a command in a fresh directory: `run("summary", "x.cltrace")` runs cltrace's verb.

    `for_trace` is for recordings of which only the trace matters: they start sooner.
    """

    def runner(
        *words: str | Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: str | None = None,
        seconds: float = HANG_S,
        command: Sequence[str | Path] = CLTRACE,
        for_trace: bool = False,
    ) -> Finished:
        served = is_served(words, env or {}, for_trace=for_trace)
        if command is CLTRACE and stdin is None and served:
            environment = {**clean_environment(), **(env or {})}
            done = verb_server().run(list(map(str, words)), cwd or tmp_path, environment)
            return Finished(done[0], _text(done[1]), _text(done[2]))
        return finished([*command, *words], cwd or tmp_path, env=env, stdin=stdin, seconds=seconds)

    return runner


@pytest.fixture
def traced(run: Runner, tmp_path: Path) -> Iterator[Callable[..., Trace]]:
    """Trace a program of `opencl/programs`, or code, and open the trace; it must have exited 0."""
    opened: list[Trace] = []

    def tracer(program: str, *words: str, flags: Sequence[str] = (), code: bool = False) -> Trace:
        path = tmp_path / f"traced{len(opened)}.cltrace"
        target = ["-c", program] if code else [str(PROGRAMS / program)]
        done = run("run", "-q", "-o", path, *flags, *target, *words, for_trace=True)
        assert done.status == 0, done.stderr
        opened.append(cltrace.load(path))
        return opened[-1]

    yield tracer
    for one in opened:
        one.close()


@pytest.fixture(scope="session")
def _layer_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_layer(tmp_path_factory.mktemp("layer"))


@pytest.fixture
def layer(_layer_library: Path, tmp_path: Path) -> CountingLayer:
    """The counting layer, with nothing counted."""
    return CountingLayer(_layer_library, tmp_path / "counts")


def needs(is_there: bool, what: str) -> None:
    """Skip the test without something; where nothing may be missing, as in CI, fail it."""
    if not is_there and os.environ.get("CLTRACE_TESTS_NEED_ALL"):
        pytest.fail(f"missing: {what}")
    if not is_there:
        pytest.skip(f"needs {what}")


def clean_environment() -> dict[str, str]:
    """This environment without what would change the programs under test."""
    dropped = ("CLTRACE_", "PYTEST_", "COUNTING_LAYER")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == CACHE_VARIABLE or not name.startswith(dropped)
    }
    for name in (
        "PYTHONPATH",
        "COLUMNS",
        "NO_COLOR",
        "FORCE_COLOR",
        "OPENCL_LAYERS",
        "PYTHONWARNINGS",
    ):
        kept.pop(name, None)
    return kept


def _text(raw: bytes) -> str:
    return raw.decode(errors="backslashreplace")


MakeTrace = Callable[..., Path]


@pytest.fixture
def make_trace(tmp_path: Path) -> MakeTrace:
    """Makes a trace of the made-up recording: `make_trace("a.cltrace", text=...)`."""

    def maker(name: str = "made.cltrace", text: Text = as_it_is) -> Path:
        path = tmp_path / name
        parts = write_recording(path, text)
        finalise(parts, path)
        discard_parts(parts)
        return path

    return maker
