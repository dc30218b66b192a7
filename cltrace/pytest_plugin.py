"""The pytest plugin: records the OpenCL work of tests, limits it, and compares it with an earlier run.

It does nothing until a test uses the fixture `cltrace` or the marker of that name.

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
    from cltrace.regress.run_records import RunSample

_DIRECTORY: Final = ".cltrace/tests"
_PROPERTIES: Final = {
    "cltrace_launches",
    "cltrace_bytes_to_device",
    "cltrace_builds",
    "cltrace_failures",
}
_MARKER: Final = (
    "cltrace(kernel='*', max_launches=, max_bytes_to_device=, max_builds=, max_failures=, "
    "max_operations=, max_transactions=, max_over_model=): limit the OpenCL work of a test"
)


class WorkRecorder:
    """Recorder of a test's OpenCL work, which begins with the test, after its fixtures.

    `stop` ends the recording and returns the work; otherwise the recording ends with the test.
    """

    def __init__(self, limits: "Sequence[Limits]", *, is_counted: bool) -> None:
        self.limits = tuple(limits)
        self.base: RunSample | None = None
        """The work of the test in an earlier run, None without one to compare with."""
        self.why_not = "another recording is under way"
        """The reason why nothing is recorded."""
        self._is_counted = is_counted
        self._tracing: Tracing | None = None
        self._work: RecordedWork | None = None

    def start(self) -> None:
        """Start to record. Where that is impossible, `why_not` says why."""
        from cltrace.inside import trace  # noqa: PLC0415 - an unused plugin loads nothing
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
        """End the recording and return the work, None if nothing was recorded."""
        tracing, self._tracing = self._tracing, None
        if tracing is None:
            return self._work
        from cltrace.intercept import session  # noqa: PLC0415 - loaded by `start`

        try:
            tracing.__exit__(None, None, None)
            self._work = self._read(tracing.path)
        except Exception as error:  # noqa: BLE001 - no failure of tracing may fail the test
            session.leave("failed")
            self.why_not = f"the recording failed: {error}"
        finally:
            shutil.rmtree(tracing.path.parent, ignore_errors=True)
        return self._work

    @property
    def work(self) -> "RecordedWork | None":
        """The recorded work, None before the end of the recording."""
        return self._work

    def _read(self, path: Path) -> "RecordedWork":
        from cltrace.regress.recorded_work import RecordedWork  # noqa: PLC0415 - as above
        from cltrace.regress.samples import SampleDetail  # noqa: PLC0415 - imports numpy
        from cltrace.runs.predicted_sample import read_modelled_sample  # noqa: PLC0415 - imports numpy
        from cltrace.trace.reader import Trace  # noqa: PLC0415 - imports sqlite3

        is_counted = self._is_counted or any(limits.is_of_kernels for limits in self.limits)
        detail = SampleDetail.WORK if is_counted else SampleDetail.TIMES
        with Trace(path) as trace:
            return RecordedWork(read_modelled_sample(trace, detail=detail))


_RECORDER: Final = pytest.StashKey[WorkRecorder]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("cltrace", "OpenCL work of tests")
    group.addoption(
        "--cltrace-save",
        metavar="NAME",
        help="save the work of tests that use `cltrace` under NAME",
    )
    group.addoption(
        "--cltrace-compare",
        metavar="NAME",
        help="fail tests that launch, move or compute more than the work saved under NAME",
    )
    group.addoption("--cltrace-dir", metavar="DIR", help=f"save work in DIR (default {_DIRECTORY})")
    parser.addini("cltrace_dir", "the directory of saved work of tests", default=_DIRECTORY)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker; with an option, register the plugin of the session."""
    config.addinivalue_line("markers", _MARKER)
    if config.getoption("--cltrace-save") or config.getoption("--cltrace-compare"):
        config.pluginmanager.register(_SavedWork(config), "cltrace-kept")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Give queues that fixtures create profiling from now on, if a test uses the plugin."""
    if session.config.option.collectonly or not any(map(_uses_plugin, session.items)):
        return
    from cltrace.intercept import session as tracing  # noqa: PLC0415 - an unused plugin loads nothing

    tracing.prepare()
    session.config.add_cleanup(tracing.stop_preparing)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Make the recorder of a test that uses the plugin."""
    if not _uses_plugin(item):
        return
    from cltrace.regress.limits import parse_limits  # noqa: PLC0415 - imports numpy

    limits, problem = [], ""
    try:
        limits = [parse_limits(_named_limits(mark)) for mark in item.iter_markers("cltrace")]
    except ValueError as error:
        problem = f"@pytest.mark.cltrace: {error}"
    if problem:
        pytest.fail(problem, pytrace=False)
    saved_work = item.config.pluginmanager.getplugin("cltrace-kept")
    recorder = WorkRecorder(limits, is_counted=saved_work is not None)
    if saved_work is not None:
        recorder.base = saved_work.before(item.nodeid)
    item.stash[_RECORDER] = recorder


@pytest.fixture
def cltrace(request: pytest.FixtureRequest) -> Iterator[WorkRecorder]:
    """Record the OpenCL work of the test: `cltrace.stop()` returns it."""
    recorder: WorkRecorder | None = request.node.stash.get(_RECORDER, None)
    if recorder is None:  # the fixture is requested while the test runs: record from here
        recorder = request.node.stash[_RECORDER] = WorkRecorder((), is_counted=False)
        recorder.start()
    yield recorder
    recorder.stop()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Record the test, and fail it if it exceeds a limit or does more than before."""
    recorder = item.stash.get(_RECORDER, None)
    if recorder is None:
        return (yield)
    recorder.start()
    try:
        result = yield
    except BaseException:
        _report_work(item, recorder)
        if recorder.work is not None:
            item.add_report_section("call", "cltrace", _work_table(recorder.work))
        raise
    _report_work(item, recorder)
    problems = _find_problems(recorder, is_alone=not _is_worker(item.config))
    if problems:
        pytest.fail(problems, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Attach the work to the report, which xdist sends to the process that saves it."""
    report = yield
    recorder = item.stash.get(_RECORDER, None)
    saved_work = item.config.pluginmanager.getplugin("cltrace-kept")
    work = recorder.work if recorder is not None else None
    if work is not None and saved_work and report.when == "call" and report.passed:
        from cltrace.regress.sample_files import run_to_json  # noqa: PLC0415 - imports numpy

        report.cltrace = json.dumps(run_to_json(work.sample))
    return report


class _SavedWork:
    """Plugin of a session that holds the work of tests in an earlier run and in this one."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._save: str | None = config.getoption("--cltrace-save")
        self._compare: str | None = config.getoption("--cltrace-compare")
        self._now: dict[str, RunSample] = {}
        self._before: Mapping[str, RunSample] = self._read(self._compare)
        self._new: list[str] = []
        self._uncounted = 0

    def before(self, name: str) -> "RunSample | None":
        """Return the work of a test in the earlier run."""
        return self._before.get(name)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the work of a test from its report."""
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
        """Save the work of the tests that ran, and keep that of the others."""
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
        """Print the number of saved tests, and of those that could not be compared."""
        if self._save is not None and self._now:
            path = self._path(self._save)
            terminalreporter.write_line(
                f"cltrace: saved the work of {len(self._now)} tests in {path}"
            )
        if self._new:
            terminalreporter.write_line(
                f"cltrace: {len(self._new)} tests have nothing to compare with in {self._compare}: "
                f"{', '.join(self._new[:3])}{', …' if len(self._new) > 3 else ''}"
            )
        if self._uncounted:
            # Every session of pytest imports this module.
            from cltrace.installation import suggest_install  # noqa: PLC0415

            terminalreporter.write_line(
                f"cltrace: operations and memory transactions of {self._uncounted} tests are not "
                f"compared, as there was no clang: `{suggest_install('predict')}` brings one"
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
        from cltrace.files import slug  # noqa: PLC0415 - an unused plugin loads nothing

        directory = self._config.getoption("--cltrace-dir") or self._config.getini("cltrace_dir")
        return Path(self._config.rootpath, directory, f"{slug(name)}.json")


def _uses_plugin(item: pytest.Item) -> bool:
    by_fixture = "cltrace" in getattr(item, "fixturenames", ())
    return by_fixture or item.get_closest_marker("cltrace") is not None


def _is_worker(config: pytest.Config) -> bool:
    """Return True if this process is one of several in which xdist runs tests."""
    return hasattr(config, "workerinput")


def _named_limits(mark: pytest.Mark) -> Mapping[str, object]:
    if mark.args:
        raise ValueError(f"give limits by name: {mark.args[0]!r} has none")
    return mark.kwargs


def _report_work(item: pytest.Item, recorder: WorkRecorder) -> None:
    """End the recording, and add the counters to the test's report."""
    work = recorder.stop()
    if work is None:
        item.add_report_section("call", "cltrace", f"not recorded: {recorder.why_not}")
        if recorder.limits:
            text = f"cltrace: the limits of {item.name} are not checked: {recorder.why_not}"
            item.warn(pytest.PytestWarning(text))
        return
    item.user_properties[:] = [
        (name, value) for name, value in item.user_properties if name not in _PROPERTIES
    ]
    item.user_properties += [
        ("cltrace_launches", work.launches),
        ("cltrace_bytes_to_device", work.bytes_to_device),
        ("cltrace_builds", work.builds),
        ("cltrace_failures", work.failures),
    ]


def _find_problems(recorder: WorkRecorder, *, is_alone: bool) -> str:
    """Return the violations of limits and the increases, with a table of the launches; "" for none.

    If other tests run at the same time (`is_alone` is False), times are not compared with the model.
    """
    from dataclasses import replace  # noqa: PLC0415 - with what follows

    from cltrace.regress.limits import find_violations  # noqa: PLC0415 - imports numpy
    from cltrace.regress.recorded_tests import compare_test  # noqa: PLC0415 - as above
    from cltrace.report.recorded_work import difference_text  # noqa: PLC0415 - as above

    work = recorder.work
    if work is None:
        return ""
    all_limits = (
        recorder.limits
        if is_alone
        else [replace(limits, max_over_model=None) for limits in recorder.limits]
    )
    parts = [f"cltrace: {text}" for limits in all_limits for text in find_violations(limits, work)]
    if recorder.base is not None:
        comparison = compare_test(recorder.base, work.sample)
        if comparison.has_more:
            parts.append("cltrace: it does more than before\n" + difference_text(comparison))
    return "\n".join([*parts, "", _work_table(work)]) if parts else ""


def _work_table(work: "RecordedWork") -> str:
    from cltrace.report.recorded_work import work_text  # noqa: PLC0415 - imports numpy

    return work_text(work)
