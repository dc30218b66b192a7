"""Parts from a stranger: what is no regular file is refused unread, and nothing outside is touched."""

import json
import os
import shutil
import socket
import sqlite3
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

import cltrace
from cltrace.errors import CltraceError, RefusedError, SpoolError
from cltrace.spool.layout import OUTCOME_FILE, SESSION_FILE, STOP_FILE, trace_path_of
from cltrace.spool.settings import Settings
from cltrace.spool.stop_page import StopReport, encode_stop
from cltrace.timeline.timekeeping import finalise
from cltrace.trace.recording import begin, discard_parts
from tests.conftest import Runner, finished
from tests.synthetic import write_recording

LIMIT_S = 20
UNREAD = {"4100001-7/contents.bin"}
"""The process has no record that leads there."""
SECRET = "the secret of another file"


def write_parts(place: Path) -> Path:
    """Parts with a file of every kind."""
    parts = write_recording(place / "t.cltrace")
    (parts / "untraced-77.txt").write_text("no cltrace\n")
    for directory in processes(parts):
        (directory / STOP_FILE).write_bytes(encode_stop(StopReport()))
    return parts


def processes(parts: Path) -> list[Path]:
    return sorted(path for path in parts.iterdir() if path.is_dir() and path.name[0].isdigit())


def become_fifo(path: Path) -> None:
    os.mkfifo(path)


def become_link(path: Path) -> None:
    outside = path.parents[3] / "outside"
    outside.write_text(f"{SECRET}\n" * 100)
    path.symlink_to(outside)


def become_link_to_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def become_directory(path: Path) -> None:
    path.mkdir()


def become_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the whole path is too long for a socket
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def become_device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
        path.open("rb").close()
    except OSError:
        pytest.skip("only root makes devices")


KINDS: tuple[Callable[[Path], None], ...] = (
    become_fifo,
    become_link,
    become_link_to_device,
    become_directory,
    become_socket,
    become_device,
)


def in_time(work: Callable[[], object]) -> Exception | None:
    """Return what the work raises; fail if it does not end."""
    raised: list[Exception] = []

    def run() -> None:
        try:
            work()
        except CltraceError as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(LIMIT_S)
    assert not thread.is_alive(), "it waits for ever"
    return raised[0] if raised else None


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_is_no_regular_file_is_refused(kind: Callable[[Path], None], tmp_path: Path) -> None:
    place = tmp_path / "a" / "b"
    place.mkdir(parents=True)
    parts = write_parts(place)
    whole = tmp_path / "whole"
    shutil.copytree(parts, whole)
    names = sorted(str(path.relative_to(whole)) for path in whole.rglob("*") if path.is_file())
    assert len({Path(name).name for name in names}) > 15
    for name in names:
        path = parts / name
        path.unlink()
        kind(path)
        target = tmp_path / "out.cltrace"
        error = in_time(partial(finalise, parts, target))
        if name not in UNREAD:
            assert isinstance(error, SpoolError), (name, error)
            assert str(path) in str(error)
            assert not target.exists()
        target.unlink(missing_ok=True)
        shutil.rmtree(parts)
        shutil.copytree(whole, parts)
    finalise(parts, tmp_path / "out.cltrace")


def replace_by_file(path: Path) -> None:
    path.write_text("no directory")


def link_to_nothing(path: Path) -> None:
    path.symlink_to("nowhere")


def link_outside(path: Path) -> None:
    path.symlink_to(path.parents[1] / "foreign")


@pytest.mark.parametrize("name", ["4100000-7", "own"])
@pytest.mark.parametrize("place", [link_outside, link_to_nothing, replace_by_file])
def test_no_process_directory_is_a_link(
    place: Callable[[Path], None], name: str, run: Runner, tmp_path: Path
) -> None:
    parts = write_parts(tmp_path)
    own = processes(parts)[0]
    own.rename(tmp_path / "foreign")
    place(own if name == "own" else own.with_name(name))
    done = run("recover", parts)
    assert (done.status, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "damaged or forged" in done.stderr
    assert run("summary", parts).status == 2
    assert (tmp_path / "foreign").is_dir()


def test_a_linked_directory_of_power_is_not_entered(tmp_path: Path) -> None:
    parts = write_parts(tmp_path)
    power = tmp_path / "power"
    (parts / "power").rename(power)
    (parts / "power").symlink_to(power)
    with pytest.raises(SpoolError, match="symbolic link"):
        finalise(parts, tmp_path / "t.cltrace")


def test_nothing_outside_is_deleted(run: Runner, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    parts = write_parts(tmp_path)
    (parts / "linked").symlink_to(outside)
    (processes(parts)[0] / "linked").symlink_to(outside / "mine")
    assert run("recover", parts).status == 0
    assert not parts.exists()
    assert (outside / "mine").read_text() == "mine"
    real = write_recording(tmp_path / "elsewhere.cltrace")
    linked = tmp_path / "linked.cltrace.parts"
    linked.symlink_to(real)
    discard_parts(linked)
    assert (real / SESSION_FILE).exists()


@pytest.mark.parametrize("name", ["exit_status", "signal", "ended_host_ns"])
@pytest.mark.parametrize("value", ["\ud800", "0", [[]], 1.5, True, 1 << 63])
def test_an_outcome_has_numbers_only(name: str, value: object, tmp_path: Path) -> None:
    parts = write_parts(tmp_path)
    outcome = {"exit_status": 0, "signal": None, "ended_host_ns": 1, name: value}
    (parts / OUTCOME_FILE).write_text(json.dumps(outcome))
    with pytest.raises(SpoolError, match="is damaged"):
        finalise(parts, tmp_path / "t.cltrace")


@pytest.mark.parametrize("max_files", ["300", "$(ulimit -Hn)"])
def test_parts_of_any_depth_are_removed(max_files: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    for words in (("recover",), ("run", "-f", "--layer", "off", "-o")):
        parts = write_parts(tmp_path)
        deepest = os.open(processes(parts)[0], os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("deeper", dir_fd=deepest)
            inner = os.open("deeper", os.O_RDONLY, dir_fd=deepest)
            os.close(deepest)
            deepest = inner
        os.symlink(outside, "linked", dir_fd=deepest)
        os.close(deepest)
        command = [sys.executable, "-m", "cltrace", *words, str(trace_path_of(parts))]
        limited = ["sh", "-c", f'ulimit -Sn {max_files}; exec "$@"', "sh", *command]
        done = finished([*limited, *(("true",) * (words[0] == "run"))], tmp_path, seconds=60)
        assert done.status == 0, done.stderr
        assert not parts.exists()
        trace_path_of(parts).unlink()
    assert (outside / "mine").read_text() == "mine"


def test_force_discards_recordings_only(tmp_path: Path) -> None:
    parts = tmp_path / "t.cltrace.parts"
    outside = tmp_path / "outside"
    outside.mkdir()
    makers: tuple[Callable[[], object], ...] = (
        lambda: parts.mkdir(),
        lambda: parts.symlink_to(outside),
        lambda: parts.write_text("mine"),
        lambda: os.mkfifo(parts),
        lambda: parts.symlink_to("nowhere"),
    )
    for make in makers:
        make()
        with pytest.raises(RefusedError, match="is no recording"):
            begin(tmp_path / "t.cltrace", ("x",), Settings(), recorder_pid=1, overwrite=True)
        assert os.path.lexists(parts)
        parts.rmdir() if parts.is_dir() and not parts.is_symlink() else parts.unlink()
    begin(tmp_path / "t.cltrace", ("x",), Settings(), recorder_pid=1, overwrite=True)
    again = begin(tmp_path / "t.cltrace", ("x",), Settings(), recorder_pid=1, overwrite=True)
    assert again.parts == parts


def test_modules_are_read_for_recordings_of_this_machine_only(tmp_path: Path) -> None:
    parts = write_parts(tmp_path)
    module = tmp_path / "module.so"
    os.mkfifo(module)
    records = processes(parts)[0] / "records.jsonl"
    with records.open("a") as file:
        file.write(json.dumps(["site", 900, f"{module}+0x20", 0, "", 0]) + "\n")
    assert in_time(lambda: finalise(parts, tmp_path / "t.cltrace")) is None
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        sites = [file for (file,) in trace.rows("SELECT file FROM v_site")]
    assert f"{module}+0x20" in sites


def test_names_and_sizes_that_no_recording_has(run: Runner, tmp_path: Path) -> None:
    bare = write_recording(tmp_path / "x.cltrace").rename(tmp_path / ".parts")
    with pytest.raises(SpoolError, match="has no name"):
        trace_path_of(bare)
    done = run("recover", bare)
    assert (done.status, len(done.stderr.splitlines())) == (2, 1)
    parts = write_parts(tmp_path)
    with (processes(parts)[0] / "records.jsonl").open("ab") as file:
        file.truncate(1 << 40)
    with pytest.raises(CltraceError, match="too large"):
        finalise(parts, tmp_path / "t.cltrace")
    with (parts / SESSION_FILE).open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(CltraceError, match="too large"):
        finalise(parts, tmp_path / "t.cltrace")


def test_recover_replaces_no_file_that_is_no_trace(run: Runner, tmp_path: Path) -> None:
    parts = write_parts(tmp_path)
    other = tmp_path / "bashrc"
    other.write_text("export PATH\n")
    trace = trace_path_of(parts)
    trace.symlink_to(other)
    refused = run("recover", trace)
    assert refused.status != 0
    assert "symbolic link" in refused.stderr
    trace.unlink()
    trace.write_text("notes\n")
    assert run("recover", trace).status != 0
    assert (other.read_text(), trace.read_text()) == ("export PATH\n", "notes\n")
    trace.unlink()
    with closing(sqlite3.connect(trace)) as connection:
        connection.execute("CREATE TABLE note (text)")
    notes = trace.read_bytes()
    assert run("recover", trace).status != 0
    assert trace.read_bytes() == notes
    assert run("recover", "-f", trace).status == 0
