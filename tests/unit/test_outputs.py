"""Outputs of all verbs: they write to pipes and devices, follow links, and replace regular files only."""

import os
import shlex
import shutil
import socket
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from cltrace.errors import OutputError
from cltrace.files import check_output, find_output, find_trace_output, write_atomically
from tests.conftest import CLTRACE, Runner, needs
from tests.run_samples import round_of
from tests.unit.test_check import written

GOLDEN = Path(__file__).parents[1] / "golden" / "schema-4.cltrace"
SCORE = Path(__file__).parents[2] / "cltrace" / "regress" / "score-reference.json"
SIMULATED = "sim:seed=2,period_s=0.001"

STREAMED: Mapping[str, tuple[str, ...]] = {
    "view": ("view", "t.cltrace", "-o", "OUT"),
    "export": ("export", "t.cltrace", "--to", "chrome", "-o", "OUT"),
    "json": ("check", "s.json", "--json", "OUT"),
    "junit": ("check", "s.json", "--junit", "OUT"),
    "markdown": ("check", "s.json", "--markdown", "OUT"),
    "chart": ("check", "s.json", "--gab-json", "OUT"),
    "html": ("compare", "score.json", "score.json", "--html", "OUT"),
}
"""Command lines that write a text, which any program can read from a pipe."""
DATABASES: Mapping[str, tuple[str, ...]] = {
    "merge": ("merge", "t.cltrace", "u.cltrace", "-f", "-o", "OUT"),
    "import": ("power", "import", "t.cltrace", "--reader", SIMULATED, "-f", "-o", "OUT"),
    "run": ("run", "-q", "-f", "-o", "OUT", "-c", "print()"),
}
"""Command lines that write a trace, which needs a regular file."""
PipeReader = Callable[[], tuple[Path, Callable[[], bytes]]]
FORCED = {"view", "export", "html"}
"""Verbs that overwrite with `-f` only."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with what the command lines read."""
    for name in ("t.cltrace", "u.cltrace"):
        shutil.copy(GOLDEN, tmp_path / name)
    shutil.copy(SCORE, tmp_path / "score.json")
    written(tmp_path / "s.json", round_of(1, {}))
    return tmp_path


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """A device that takes everything, as /dev/null: a test that replaces it harms nothing."""
    path = tmp_path / "null"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        path.write_bytes(b"x")
    except OSError:
        needs(False, "the right to make devices")
    return path


@pytest.fixture
def read_pipe(tmp_path: Path) -> Iterator[PipeReader]:
    """Make a pipe, and return it with the function that ends the reading and returns what came."""
    opened: list[int] = []

    def begin() -> tuple[Path, Callable[[], bytes]]:
        path = tmp_path / "pipe"
        os.mkfifo(path)
        # A writer of our own: the reader goes on until `end`, whoever writes in between.
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(reader, True)
        holder = os.open(path, os.O_WRONLY)
        opened.append(reader)
        came: list[bytes] = []

        def read() -> None:
            while part := os.read(reader, 1 << 16):
                came.append(part)

        thread = threading.Thread(target=read)
        thread.start()

        def end() -> bytes:
            os.close(holder)
            thread.join()
            return b"".join(came)

        return path, end

    yield begin
    for descriptor in opened:
        os.close(descriptor)


def words_for(line: tuple[str, ...], out: Path | str) -> list[str]:
    return [str(out) if word == "OUT" else word for word in line]


@pytest.mark.parametrize("name", STREAMED)
def test_a_text_goes_to_a_pipe_and_a_device(
    name: str, place: Path, device: Path, read_pipe: PipeReader, run: Runner
) -> None:
    assert run(*words_for(STREAMED[name], place / "file"), cwd=place).status == 0
    pipe, end = read_pipe()
    done = run(*words_for(STREAMED[name], pipe), cwd=place)
    came = end()
    assert done.status == 0, done.stderr
    assert len(came) == pytest.approx((place / "file").stat().st_size, rel=0.01)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert run(*words_for(STREAMED[name], device), cwd=place).status == 0
    assert stat.S_ISCHR(device.lstat().st_mode)
    link = place / "link-to-device"
    link.symlink_to(device)
    assert run(*words_for(STREAMED[name], link), cwd=place).status == 0
    assert link.is_symlink()
    assert stat.S_ISCHR(device.lstat().st_mode)


@pytest.mark.parametrize("name", STREAMED)
def test_stdout_by_name_is_the_stream_and_stays(name: str, place: Path, run: Runner) -> None:
    before = Path("/dev/stdout").lstat()
    done = run(*words_for(STREAMED[name], "/dev/stdout"), cwd=place)
    assert done.status == 0, done.stderr
    run(*words_for(STREAMED[name], "file"), cwd=place)
    assert len((place / "file").read_text()) <= len(done.stdout)
    assert Path("/dev/stdout").lstat().st_ino == before.st_ino


@pytest.mark.parametrize("name", [*STREAMED, *DATABASES])
def test_links_to_files_stay(name: str, place: Path, run: Runner) -> None:
    line = {**STREAMED, **DATABASES}[name]
    target, link, dangling = place / "d" / "target.x", place / "link", place / "dangling"
    target.parent.mkdir()
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to("d/target.x")
    dangling.symlink_to("d/new.x")
    force = ("-f",) if name in FORCED else ()
    for path in (link, dangling):
        done = run(line[0], *words_for(line, path)[1 : -2 if "-c" in line else None], *force,
                   *(line[-2:] if "-c" in line else ()), cwd=place)  # fmt: skip
        assert done.status == 0, done.stderr
        assert path.is_symlink()
        assert path.read_bytes() not in {b"", b"old"}
    assert sorted(child.name for child in target.parent.iterdir()) == ["new.x", "target.x"]
    if name not in DATABASES:
        assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.parametrize("name", [*STREAMED, *DATABASES])
def test_directories_sockets_and_loops_are_refused(name: str, place: Path, run: Runner) -> None:
    line = {**STREAMED, **DATABASES}[name]
    loop, directory, named = place / "loop", place / "directory", place / "socket"
    loop.symlink_to(loop)
    directory.mkdir()
    (directory / "mine").write_text("mine")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(named))
        for path in (loop, directory, named, "."):
            done = run(*words_for(line, path), cwd=place)
            assert done.status == (125 if name == "run" else 2), (path, done.stderr)
            assert len(done.stderr.splitlines()) == 1, done.stderr
    assert loop.is_symlink()
    assert stat.S_ISSOCK(named.lstat().st_mode)
    assert [child.name for child in directory.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", DATABASES)
def test_a_trace_needs_a_regular_file(name: str, place: Path, device: Path, run: Runner) -> None:
    pipe = place / "pipe"
    os.mkfifo(pipe)
    before = sorted(place.iterdir())
    for path in (device, pipe, "/dev/stdout", "/dev/fd/1"):
        done = run(*words_for(DATABASES[name], path), cwd=place)
        assert done.status == (125 if name == "run" else 2), done.stderr
        assert "name a file" in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
    assert stat.S_ISCHR(device.lstat().st_mode)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert sorted(place.iterdir()) == before


REPORTS = ["--json", "--junit", "--markdown", "--gab-json"]


@pytest.mark.parametrize("flag", REPORTS)
def test_reports_of_check_are_written_anew_but_over_no_input(
    flag: str, place: Path, run: Runner
) -> None:
    report, head = place / "report", place / "s.json"
    report.write_text("earlier")
    assert run("check", "s.json", flag, report, cwd=place).status == 0
    assert report.read_text() != "earlier"
    content = head.read_bytes()
    (place / "link").symlink_to("s.json")
    for name in ("s.json", "./s.json", "link"):
        done = run("check", "s.json", flag, name, cwd=place)
        assert (done.status, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert run("check", "t.cltrace", "s.json", flag, name, cwd=place).status == 2
    assert head.read_bytes() == content


EXPORTED = ["view", "chrome", "perfetto", "speedscope", "csv", "parquet", "cltrace"]


def export_words(to: str) -> list[str]:
    return ["view", "t.cltrace"] if to == "view" else ["export", "t.cltrace", "--to", to]


def modes(path: Path) -> set[tuple[bool, int]]:
    entries = [path, *path.rglob("*")] if path.is_dir() else [path]
    return {(entry.is_dir(), stat.S_IMODE(entry.stat().st_mode)) for entry in entries}


@pytest.mark.parametrize("to", EXPORTED)
def test_what_reveals_a_trace_is_private(to: str, place: Path, run: Runner) -> None:
    out = place / "out"
    done = run(*export_words(to), "-o", out, cwd=place)
    assert done.status == 0, done.stderr
    assert modes(out) <= {(False, 0o600), (True, 0o700)}
    out.chmod(0o755 if out.is_dir() else 0o644)
    assert run(*export_words(to), "-f", "-o", out, cwd=place).status == 0
    assert modes(out) <= {(False, 0o644), (True, 0o755)}


def test_a_full_device_is_one_line(place: Path, run: Runner) -> None:
    for line in STREAMED.values():
        done = run(*words_for(line, "/dev/full"), cwd=place)
        assert done.status == 2
        assert done.stderr.splitlines()[-1].endswith("No space left on device")
        assert "Traceback" not in done.stderr


def test_nothing_is_left_of_an_output_that_failed(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("kept")
    with pytest.raises(OutputError):
        write_atomically("new", target / "below")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_disks_and_names_that_no_file_has_are_refused(tmp_path: Path) -> None:
    for text in ("a\0b", "", ".", "..", str(tmp_path), "x" * 300):
        with pytest.raises(OutputError):
            check_output(Path(text), is_forced=True)
    disk = tmp_path / "disk"
    try:
        os.mknod(disk, stat.S_IFBLK | 0o600, os.makedev(7, 255))
    except OSError:
        needs(False, "the right to make devices")
    with pytest.raises(OutputError, match="is a disk"):
        find_output(disk)


def test_long_names_are_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_atomically("text", path)
    assert path.read_text() == "text"
    assert find_trace_output(path) == path


@pytest.mark.parametrize("words", ["help energy", "completion bash", "profile list", "power list"])
def test_stdout_that_is_closed_or_full_is_no_internal_error(words: str, run: Runner) -> None:
    verb = f"{shlex.join(CLTRACE)} {words}"
    closed = run(f"{verb} >&-", command=["sh", "-c"])
    assert (closed.status, closed.stderr) == (0, "")
    full = run(f"{verb} >/dev/full", command=["sh", "-c"])
    assert full.status == 2
    assert full.stderr == "cltrace: the output cannot be written: No space left on device\n"
