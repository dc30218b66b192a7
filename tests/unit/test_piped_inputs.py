"""Inputs that are pipes: read as any file, and refused where nobody writes to them."""

import os
import shutil
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from cltrace.errors import SampleFileError
from cltrace.files import MAX_WRITER_WAIT_S, read_first_bytes, read_input
from cltrace.regress.sample_files import is_samples, read_samples
from tests.conftest import CLTRACE, Runner, clean_environment
from tests.run_samples import round_of
from tests.unit.test_check import written

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "schema-4.cltrace"
SCORE = ROOT / "cltrace" / "regress" / "score-reference.json"
SOURCE = "kernel void f(global float *a) { a[get_global_id(0)] = 1; }"
TRACE_VERBS = [
    ["summary", "PIPE"], ["timeline", "PIPE"], ["info", "PIPE"], ["view", "PIPE"], ["kernel", "PIPE"],
    ["export", "PIPE", "--to", "csv"], ["query", "PIPE", "SELECT 1"], ["recover", "PIPE"],
    ["merge", "PIPE", "t.cltrace", "-o", "m.cltrace"], ["predict", "PIPE"],
    ["accuracy", "--trace", "PIPE"], ["power", "import", "PIPE", "--reader", "sim", "-o", "x.cltrace"],
    ["power", "predict", "PIPE"],
]  # fmt: skip
TEXT_VERBS = [
    ["check", "PIPE"], ["compare", "score.json", "PIPE"], ["kernel", "pipe.cl"],
    ["predict", "t.cltrace", "--profile", "PIPE"], ["profile", "show", "PIPE"],
    ["kernel", "f.cl", "--global-size=64", "--arg=a=@PIPE"],
    ["power", "import", "t.cltrace", "PIPE", "--reader", "replay", "-o", "x.cltrace"],
]  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with files of all kinds, and a pipe that nobody writes to."""
    shutil.copy(GOLDEN, tmp_path / "t.cltrace")
    shutil.copy(SCORE, tmp_path / "score.json")
    written(tmp_path / "s.json", round_of(1, {}))
    (tmp_path / "f.cl").write_text(SOURCE)
    for name in ("PIPE", "pipe.cl"):
        os.mkfifo(tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("words", [*TRACE_VERBS, *TEXT_VERBS], ids=" ".join)
def test_a_pipe_without_a_writer_is_refused(words: list[str], place: Path, run: Runner) -> None:
    before = sorted(place.iterdir())
    done = run(*words, cwd=place, seconds=60)
    assert done.status == 2, done
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert sorted(place.iterdir()) == before


def test_the_wait_for_a_writer_is_short() -> None:
    assert MAX_WRITER_WAIT_S < 30


def test_a_pipe_without_a_writer_is_named(place: Path) -> None:
    with pytest.raises(OSError, match="nobody writes to this pipe"):
        read_input(place / "PIPE", writer_wait_s=0)


@pytest.mark.parametrize("words", [["check", "IN"], ["compare", "IN", "s.json"]], ids=" ".join)
@pytest.mark.parametrize("how", ["/dev/stdin", "<(cat s.json)", "<(sleep 0.2; cat s.json)"])
def test_pipes_of_a_shell_are_read(words: list[str], how: str, place: Path, run: Runner) -> None:
    plain = run(*["s.json" if word == "IN" else word for word in words], cwd=place)
    line = " ".join([*CLTRACE, *(how if word == "IN" else word for word in words)])
    piped = shell(f"cat s.json | {line}" if how == "/dev/stdin" else line, place)
    assert (piped.returncode, piped.stderr) == (plain.status, "")
    assert len(piped.stdout.splitlines()) == len(plain.stdout.splitlines())


def test_a_named_pipe_is_read_once_it_has_a_writer(place: Path) -> None:
    pipe = place / "PIPE"
    text = (place / "s.json").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()
    assert is_samples(pipe)
    assert read_first_bytes(pipe, 8) == text[:8]
    assert read_samples(pipe) == read_samples(place / "s.json")
    writer.join()


def test_an_endless_pipe_is_too_large(place: Path) -> None:
    pipe = place / "PIPE"

    def write() -> None:
        with suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
            while True:
                file.write(b" " * 4096)

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(OSError, match="larger than 1 MiB"):
        read_input(pipe, 1 << 20)
    writer.join()


def test_an_empty_pipe_of_a_shell_is_empty() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    try:
        with pytest.raises(SampleFileError):
            read_samples(Path(f"/dev/fd/{reading}"))
    finally:
        os.close(reading)


def shell(line: str, place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line], cwd=place, env=clean_environment() | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
