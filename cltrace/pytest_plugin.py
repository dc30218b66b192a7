"""The pytest plugin: what a test's OpenCL work may be, and what it was.

It does nothing until a test asks: by the fixture `cltrace`, or by the marker of that name.

    @pytest.mark.cltrace(max_launches=3, max_builds=0)
    def test_step(simulation):
        simulation.step()
"""

import json
import shutil
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from cltrace.errors import CltraceError

if TYPE_CHECKING:
    from cltrace.inside import Tracing
    from cltrace.regress.limits import Limits
    from cltrace.regress.recorded_work import RecordedWork
    from cltrace.regress.runs import RunSample

_DIRECTORY: Final = ".cltrace/tests"
_PROPERTIES: Final = {
    "cltrace_launches", "cltrace_bytes_to_device", "cltrace_builds", "cltrace_failures",
}  # fmt: skip
_MARKER: Final = (
    "cltrace(kernel='*', max_launches=, max_bytes_to_device=, max_builds=, max_failures=, "
    "max_operations=, max_transactions=, max_over_model=): what the OpenCL work of a test may be at most"
)


class Recorder:
    """The recording of a test's OpenCL work: it begins with the test, after its fixtures.

    `stop` ends it and tells what was recorded; the end of the test does so else.
    """

    def __init__(self, limits: "Sequence[Limits]", *, is_counted: bool) -> None:
        self.limits = tuple(limits)
        self.base: RunSample | None = None
        """What an earlier run of the test did, where it is to be compared with."""
        self.why_not = "another recording is under way"
        self._is_counted = is_counted
        self._tracing: Tracing | None = None
        self._work: RecordedWork | None = None

    def start(self) -> None:
        """Begin to record; where that cannot be, `why_not` says why."""
        from cltrace.inside import trace  # noqa: PLC0415 - a session that does not ask loads nothing
        from cltrace.intercept import session  # noqa: PLC0415 - as above

        if session.is_recording_here():  # `cltrace run` records
            return
        directory = Path(tempfile.mkdtemp(prefix="cltrace-test-"))
        tracing = trace(directory / "test.cltrace")
        try:
            tracing.__enter__()
        except CltraceError as error:
            # Without pyopencl a test launches nothing, and may skip itself.
            shutil.rmtree(directory, ignore_errors=True)
            self.why_not = str(error)
            return
        self._tracing = tracing

    def stop(self) -> "RecordedWork | None":
        """End the recording, and what it tells; None where another recording is under way."""
        tracing, self._tracing = self._tracing, None
        if tracing is None:
            return self._work
        from cltrace.intercept import session  # noqa: PLC0415 - loaded by `start`

        try:
            tracing.__exit__(None, None, None)
            self._work = self._read(tracing.path)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test goes on, and tracing has ended
            session.leave("failed")
            self.why_not = f"the recording failed: {error}"
        finally:
            shutil.rmtree(tracing.path.parent, ignore_errors=True)
        return self._work

    @property
    def work(self) -> "RecordedWork | None":
        """What was recorded, None before the end."""
        return self._work

    def _read(self, path: Path) -> "RecordedWork":
        from cltrace.regress.recorded_work import RecordedWork  # noqa: PLC0415 - as above
        from cltrace.regress.samples import Depth  # noqa: PLC0415 - imports numpy
        from cltrace.runs.modelled_sample import sampled  # noqa: PLC0415 - imports numpy
        from cltrace.trace.reader import Trace  # noqa: PLC0415 - imports sqlite3

        is_deep = self._is_counted or any(one.is_of_kernels for one in self.limits)
        with Trace(path) as trace:
            return RecordedWork(sampled(trace, depth=Depth.WORK if is_deep else Depth.TIMES))


_RECORDER: Final = pytest.StashKey[Recorder]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("cltrace", "OpenCL work of tests")
    group.addoption(
        "--cltrace-save", metavar="NAME", help="keep what tests with `cltrace` launch, by this name"
    )
    group.addoption(
        "--cltrace-compare",
        metavar="NAME",
        help="fail tests that launch, move or compute more than what was kept by this name",
    )
    group.addoption("--cltrace-dir", metavar="DIR", help=f"where it is kept (default {_DIRECTORY})")
    parser.addini("cltrace_dir", "where the work of tests is kept", default=_DIRECTORY)


def pytest_configure(config: pytest.Config) -> None:
    """Tell of the marker; with an option, take part in the session."""
    config.addinivalue_line("markers", _MARKER)
    if config.getoption("--cltrace-save") or config.getoption("--cltrace-compare"):
        config.pluginmanager.register(_Kept(config), "cltrace-kept")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Where a test asks: queues that fixtures make have profiling from now on."""
    if session.config.option.collectonly or not any(map(_is_asked, session.items)):
        return
    from cltrace.intercept import session as tracing  # noqa: PLC0415 - a session that does not ask loads nothing

    tracing.prepare()
    session.config.add_cleanup(tracing.unprepare)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Make the recorder of a test that asks."""
    if not _is_asked(item):
        return
    from cltrace.regress.limits import limits_of  # noqa: PLC0415 - imports numpy

    limits, wrong = [], ""
    try:
        limits = [limits_of(_named(mark)) for mark in item.iter_markers("cltrace")]
    except ValueError as error:
        wrong = f"@pytest.mark.cltrace: {error}"
    if wrong:
        pytest.fail(wrong, pytrace=False)
    kept = item.config.pluginmanager.getplugin("cltrace-kept")
    recorder = Recorder(limits, is_counted=kept is not None)
    if kept is not None:
        recorder.base = kept.before(item.nodeid)
    item.stash[_RECORDER] = recorder


@pytest.fixture
def cltrace(request: pytest.FixtureRequest) -> Iterator[Recorder]:
    """Record the OpenCL work of the test: `cltrace.stop()` tells what it was."""
    found: Recorder | None = request.node.stash.get(_RECORDER, None)
    if found is None:  # asked for while the test runs: it begins here
        found = request.node.stash[_RECORDER] = Recorder((), is_counted=False)
        found.start()
    yield found
    found.stop()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Record the test, and fail it where it does more than it may."""
    recorder = item.stash.get(_RECORDER, None)
    if recorder is None:
        return (yield)
    recorder.start()
    try:
        result = yield
    except BaseException:
        _tell(item, recorder)
        if recorder.work is not None:
            item.add_report_section("call", "cltrace", _table(recorder.work))
        raise
    _tell(item, recorder)
    problems = _problems(recorder, is_alone=not _is_worker(item.config))
    if problems:
        pytest.fail(problems, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Send what was recorded along with the report: with xdist, to the process that keeps it."""
    report = yield
    recorder = item.stash.get(_RECORDER, None)
    kept = item.config.pluginmanager.getplugin("cltrace-kept")
    work = recorder.work if recorder is not None else None
    if work is not None and kept and report.when == "call" and report.passed:
        from cltrace.regress.sample_files import run_to_json  # noqa: PLC0415 - imports numpy

        report.cltrace = json.dumps(run_to_json(work.sample))
    return report


class _Kept:
    """What tests did in an earlier run, and what they do in this one. One a session."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._save: str | None = config.getoption("--cltrace-save")
        self._compare: str | None = config.getoption("--cltrace-compare")
        self._now: dict[str, RunSample] = {}
        self._before: Mapping[str, RunSample] = self._read(self._compare)
        self._new: list[str] = []
        self._uncounted = 0

    def before(self, name: str) -> "RunSample | None":
        """What a test did in the run to be compared with."""
        return self._before.get(name)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a test did from its report."""
        stored = getattr(report, "cltrace", None)
        if stored is None:
            return
        from cltrace.regress.sample_files import run_from_json  # noqa: PLC0415 - imports numpy

        now = self._now[report.nodeid] = run_from_json(json.loads(stored))
        before = self._before.get(report.nodeid)
        if before is not None:
            self._uncounted += now.work is None or before.work is None
        elif self._compare is not None:
            self._new.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Keep what tests did, beside what is kept of tests that did not run."""
        if self._save is None or _is_worker(self._config) or not self._now:
            return
        from cltrace.regress.recorded_tests import read_tests, write_tests  # noqa: PLC0415 - imports numpy

        path = self._path(self._save)
        try:
            before = read_tests(path) if path.exists() else {}
            write_tests({**before, **self._now}, path)
        except CltraceError as error:
            raise pytest.UsageError(f"--cltrace-save: {error}") from error

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what was kept, and what there was nothing to compare with."""
        if self._save is not None and self._now:
            path = self._path(self._save)
            terminalreporter.write_line(
                f"cltrace: kept the work of {len(self._now)} tests in {path}"
            )
        if self._new:
            terminalreporter.write_line(
                f"cltrace: {len(self._new)} tests have nothing to compare with in {self._compare}: "
                f"{', '.join(self._new[:3])}{', …' if len(self._new) > 3 else ''}"
            )
        if self._uncounted:
            terminalreporter.write_line(
                f"cltrace: operations and memory transactions of {self._uncounted} tests are not "
                "compared, as there was no clang: `pip install 'cltrace[predict]'` brings one"
            )

    def _read(self, name: str | None) -> "Mapping[str, RunSample]":
        if name is None:
            return {}
        from cltrace.regress.recorded_tests import read_tests  # noqa: PLC0415 - imports numpy

        try:
            return read_tests(self._path(name))
        except CltraceError as error:
            raise pytest.UsageError(
                f"--cltrace-compare: {error}; --cltrace-save {name} makes it"
            ) from error

    def _path(self, name: str) -> Path:
        from cltrace.files import file_name  # noqa: PLC0415 - a session that does not ask loads nothing

        directory = self._config.getoption("--cltrace-dir") or self._config.getini("cltrace_dir")
        return Path(self._config.rootpath, directory, f"{file_name(name)}.json")


def _is_asked(item: pytest.Item) -> bool:
    by_fixture = "cltrace" in getattr(item, "fixturenames", ())
    return by_fixture or item.get_closest_marker("cltrace") is not None


def _is_worker(config: pytest.Config) -> bool:
    """Whether this process is one of several that xdist runs tests in."""
    return hasattr(config, "workerinput")


def _named(mark: pytest.Mark) -> Mapping[str, object]:
    if mark.args:
        raise ValueError(f"name the limits: {mark.args[0]!r} is of which?")
    return mark.kwargs


def _tell(item: pytest.Item, recorder: Recorder) -> None:
    """End the recording, and put what was counted into the test's report."""
    found = recorder.stop()
    if found is None:
        item.add_report_section("call", "cltrace", f"not recorded: {recorder.why_not}")
        if recorder.limits:
            text = f"cltrace: the limits of {item.name} are not checked: {recorder.why_not}"
            item.warn(pytest.PytestWarning(text))
        return
    item.user_properties[:] = [one for one in item.user_properties if one[0] not in _PROPERTIES]
    item.user_properties += [
        ("cltrace_launches", found.launches),
        ("cltrace_bytes_to_device", found.bytes_to_device),
        ("cltrace_builds", found.builds),
        ("cltrace_failures", found.failures),
    ]


def _problems(recorder: Recorder, *, is_alone: bool) -> str:
    """What a test does that it may not, with a table of what it launched; "" for nothing.

    Beside others (`is_alone` false) times say nothing, and are not held against the model.
    """
    from dataclasses import replace  # noqa: PLC0415 - with what follows

    from cltrace.regress.limits import exceeded  # noqa: PLC0415 - imports numpy
    from cltrace.regress.recorded_tests import compared_test  # noqa: PLC0415 - as above
    from cltrace.report.recorded_work import difference_text  # noqa: PLC0415 - as above

    found = recorder.work
    if found is None:
        return ""
    limits = (
        recorder.limits
        if is_alone
        else [replace(one, max_over_model=None) for one in recorder.limits]
    )
    parts = [f"cltrace: {text}" for one in limits for text in exceeded(one, found)]
    if recorder.base is not None:
        difference = compared_test(recorder.base, found.sample)
        if difference.has_more:
            parts.append("cltrace: it does more than before\n" + difference_text(difference))
    return "\n".join([*parts, "", _table(found)]) if parts else ""


def _table(found: "RecordedWork") -> str:
    from cltrace.report.recorded_work import work_text  # noqa: PLC0415 - imports numpy

    return work_text(found)
