"""Mutated files through every verb that reads them: no internal error, no hang, bounded memory.

`CLTRACE_FUZZ=N` reads N mutations of each kind instead of a few, `CLTRACE_FUZZ_SEED` begins elsewhere.
A failure names the seed of its mutation.
"""

import contextlib
import io
import json
import os
import resource
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from cltrace.cli import main
from cltrace.kernels.events.files import pack_events
from tests.conftest import finished
from tests.kernels.inside import record_sum
from tests.mutations import mutate_file
from tests.run_samples import round_of
from tests.synthetic import write_recording
from tests.unit.test_check import written

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
DATA = ROOT / "tests" / "data"
FEW = 12
COUNT = int(os.environ.get("CLTRACE_FUZZ", FEW))
SEED = int(os.environ.get("CLTRACE_FUZZ_SEED", 1))
MAX_CPU_S = 30
MAX_WALL_S = 300
MAX_MEMORY_KB = 2 << 20
H200 = ("--profile", "=nvidia-h200")


@dataclass(frozen=True)
class Subject:
    """A kind of file: how it is made, its name, and the verbs that read it, `{}` for its name."""

    make: Callable[[Path], object]
    name: str
    verbs: tuple[tuple[str, ...], ...]


def copy_of(source: Path) -> Callable[[Path], object]:
    return lambda path: shutil.copy(source, path)


def first_of(source: Path, count: int, name: str) -> Callable[[Path], object]:
    """Make a file of measurements with the first few only, which are counted soon."""

    def make(path: Path) -> None:
        stored = json.loads(source.read_text())
        path.write_text(json.dumps({**stored, name: stored[name][:count]}))

    return make


def with_few_readings(path: Path) -> None:
    """Make a trace whose power was read for a part of its time."""
    shutil.copy(DATA / "h200-mixture.cltrace", path)
    with contextlib.closing(sqlite3.connect(path)) as trace, trace:
        trace.execute("DELETE FROM power_sample WHERE id % 8 <> 0")


def make_parts(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    write_recording(path.with_name(path.name.removesuffix(".parts")))


def make_line_log(path: Path) -> None:
    path.write_text(
        "# channel a scope=gpu unit=W\n"
        + "".join(f"{1_700_000_000_000_000 + n * 10_000} {100 + n % 7}.5\n" for n in range(400))
    )


def make_csv_log(path: Path) -> None:
    rows = (
        f"2023-11-14 22:13:{n // 10:02}.{n % 10}00,{100 + n % 9},{50 + n % 5}" for n in range(300)
    )
    path.write_text("Timestamp,PSU Power In (W),GPU (W)\n" + "\n".join(rows) + "\n")


TRACE_VERBS = (
    ("summary", "{}"), ("summary", "{}", "--by", "callsite", "--kernel", "*"), ("info", "{}"),
    ("timeline", "{}"), ("view", "{}", "-f", "-o", "x.html"),
    ("export", "{}", "-f", "--to", "chrome", "-o", "x.json"),
    ("export", "{}", "-f", "--to", "perfetto", "-o", "x.pftrace"),
    ("export", "{}", "-f", "--to", "csv", "-o", "x.csv"),
    ("query", "{}", "SELECT * FROM v_command"), ("query", "{}", "SELECT * FROM v_launch_arg"),
    ("check", "{}", "good.cltrace"), ("check", "good.cltrace", "{}"), ("compare", "{}", "good.cltrace"),
    ("kernel", "{}", "--format", "json"), ("predict", "{}", *H200), ("summary", "{}", "--predict"),
    ("accuracy", "--trace", "{}", *H200), ("merge", "{}", "good.cltrace", "-f", "-o", "m.cltrace"),
    ("recover", "{}"), ("power", "import", "{}", "--reader", "sim", "-f", "-o", "p.cltrace"),
    ("power", "predict", "{}", *H200),
)  # fmt: skip
PROFILE_VERBS = (
    ("profile", "show", "{}"), ("predict", "good.cltrace", "--profile", "={}"),
    ("kernel", "good.cltrace", "--profile", "{}"), ("calibrate", "--from", "{}", "-o", "out.json"),
    ("power", "predict", "good.cltrace", "--profile", "={}"),
)  # fmt: skip
SAMPLE_VERBS = (
    ("check", "{}"), ("check", "{}", "--through-model", "--format", "json"), ("compare", "{}", "{}"),
    ("baseline", "save", "-f", "main", "{}"), ("check", "{}", "good.json", "--junit", "out.xml"),
)  # fmt: skip
BASELINE = "baselines/board-1/main.json"
SUBJECTS: Mapping[str, Subject] = {
    **{
        f"trace-{version}": Subject(
            copy_of(GOLDEN / f"schema-{version}.cltrace"), "t.cltrace", TRACE_VERBS
        )
        for version in (1, 2, 3, 4, 5)
    },
    "devices": Subject(copy_of(DATA / "two-devices.cltrace"), "t.cltrace", TRACE_VERBS),
    "power": Subject(with_few_readings, "t.cltrace", TRACE_VERBS),
    "parts": Subject(
        make_parts, "t.cltrace.parts",
        (("recover", "{}", "--keep-parts", "-f", "-o", "r.cltrace"), ("summary", "{}"), ("info", "{}"),
         ("timeline", "{}"), ("query", "{}", "SELECT * FROM v_command")),
    ),
    "profile": Subject(copy_of(ROOT / "cltrace/profiles/pocl-cpu.json"), "p.json", PROFILE_VERBS),
    "samples": Subject(lambda path: written(path, round_of(1, {})), "s.json", SAMPLE_VERBS),
    "baseline": Subject(
        lambda path: written(path, round_of(1, {})), BASELINE,
        (("baseline", "list", "--baselines", "baselines"),
         ("baseline", "show", "main", "--baselines", "baselines"),
         ("check", "good.json", "--baseline", "main", "--baselines", "baselines")),
    ),
    "score": Subject(
        copy_of(ROOT / "cltrace/regress/score-reference.json"), "score.json",
        (("compare", "{}", "good-score.json"), ("compare", "{}", "{}", "-f", "--html", "x.html"),
         ("compare", "good-score.json", "good-score.json", "--reference", "{}")),
    ),
    "measurements": Subject(
        first_of(DATA / "pocl-restricted.json", 20, "timings"), "m.json",
        (("accuracy", "--from", "{}", "--profile", "pocl-cpu"),),
    ),
    "points": Subject(
        first_of(DATA / "h200-power-application.json", 2, "points"), "points.json",
        (("power", "predict", "--points", "{}", "--profile", "nvidia-h200"),),
    ),
    "events": Subject(
        lambda path: path.write_bytes(pack_events(record_sum("sum_by_stride", 64, barrier="(void)0"))),
        "e.events",
        (("view", "{}", "-f", "-o", "x.html"), ("query", "{}", "SELECT * FROM accesses"),
         ("query", "{}", "SELECT * FROM branches, decisions, emitted")),
    ),
    "lines": Subject(
        make_line_log, "log.txt",
        (("power", "import", "good.cltrace", "{}", "--reader", "replay", "--offset", "0",
          "-f", "-o", "p.cltrace"),),
    ),
    "table": Subject(
        make_csv_log, "log.csv",
        (("power", "import", "good.cltrace", "{}", "-f", "-o", "p.cltrace", "--offset", "0"),),
    ),
}  # fmt: skip


class HangError(BaseException):
    """A verb that took too long."""


@contextlib.contextmanager
def time_limit() -> Iterator[None]:
    """Limit the CPU time of a verb, because other work on the machine stretches the time that it takes.

    The limit of elapsed time is for verbs that wait.
    """

    def stop(*_: object) -> None:
        raise HangError

    limits = {
        signal.SIGPROF: (signal.ITIMER_PROF, MAX_CPU_S),
        signal.SIGALRM: (signal.ITIMER_REAL, MAX_WALL_S),
    }
    before = {number: signal.signal(number, stop) for number in limits}
    for timer, seconds in limits.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer, _ in limits.values():
            signal.setitimer(timer, 0)
        for number, action in before.items():
            signal.signal(number, action)


def status_of(words: list[str]) -> tuple[int, str]:
    """Run a verb in this process. Returns its status and what it told."""
    out, err = io.StringIO(), io.StringIO()
    status = -1
    with time_limit(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
    return status, err.getvalue()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with good files beside the mutated one."""
    shutil.copy(GOLDEN / "schema-4.cltrace", tmp_path / "good.cltrace")
    shutil.copy(ROOT / "cltrace/regress/score-reference.json", tmp_path / "good-score.json")
    written(tmp_path / "good.json", round_of(2, {}))
    (tmp_path / BASELINE).parent.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLTRACE_DEBUG", raising=False)
    return tmp_path


def mutate(path: Path, chooser: Random) -> None:
    if not path.is_dir():
        mutate_file(path, chooser)
        return
    files = sorted(file for file in path.rglob("*") if file.is_file())
    for _ in range(chooser.choice([1, 1, 3])):
        mutate_file(chooser.choice(files), chooser)


@pytest.mark.parametrize("kind", SUBJECTS)
def test_mutated_files_are_read_or_refused(kind: str, place: Path) -> None:
    subject = SUBJECTS[kind]
    path = place / subject.name
    before_kb = _peak_kb()
    failures = []
    for seed in range(SEED, SEED + COUNT):
        chooser = Random(f"{kind} {seed}")
        subject.make(path)
        mutate(path, chooser)
        words = [word.replace("{}", subject.name) for word in chooser.choice(subject.verbs)]
        try:
            status, messages = status_of(words)
        except HangError:
            failures.append(f"{seed}: {words} took more than {MAX_CPU_S} s of CPU time")
            continue
        if status not in {0, 1, 2, 3, 4} or "internal error" in messages or "Traceback" in messages:
            failures.append(f"{seed}: {words} ended with {status}: {messages[-300:]}")
        elif status and kind != "baseline" and len(messages.splitlines()) > 20:
            failures.append(f"{seed}: {words} told {len(messages.splitlines())} lines")
    assert not failures, "\n".join(failures[:20])
    assert _peak_kb() - before_kb < MAX_MEMORY_KB


def _peak_kb() -> int:
    """Return the most memory that this process had, tests before this one included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_the_unchanged_files_are_read(place: Path) -> None:
    for kind, subject in SUBJECTS.items():
        subject.make(place / subject.name)
        words = [word.replace("{}", subject.name) for word in subject.verbs[0]]
        status, messages = status_of(words)
        assert status in {0, 3}, (kind, words, messages)


def test_files_can_be_mutated_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    for seed in range(300):
        chooser = Random(seed)
        path.write_text('{"a": [1, {"b": 2}], "c": {"d": []}}')
        for _ in range(6):
            mutate_file(path, chooser)


def test_special_files_are_read_by_no_verb_for_ever(place: Path) -> None:
    for words in (
        *(("summary", path) for path in ("/dev/zero", "/dev/null")),
        *(("check", path) for path in ("/dev/zero", "/dev/null")),
        *(("compare", path, "good.json") for path in ("/dev/zero", "/dev/null")),
        ("profile", "show", "/dev/zero"),
        ("accuracy", "--from", "/dev/zero"),
        ("power", "predict", "--points", "/dev/zero", "--profile", "nvidia-h200"),
        ("power", "import", "good.cltrace", "/dev/zero"),
        ("power", "import", "good.cltrace", "/dev/zero", "--reader", "replay"),
        ("kernel", "/dev/zero"),
        ("merge", "/dev/zero", "good.cltrace", "-o", "m.cltrace"),
        ("recover", "/dev/zero"),
    ):
        limited = ["sh", "-c", 'ulimit -v 4000000; exec "$@"', "sh"]
        done = finished([*limited, sys.executable, "-m", "cltrace", *words], place, seconds=60)
        assert done.status == 2, (words, done.stderr[-300:])
