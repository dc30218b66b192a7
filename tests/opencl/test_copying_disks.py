"""Disks that copy pages on writes and are full, or have a quota: no signal, and no complete trace."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import cltrace
from cltrace.intercept.native.build import find_compilers
from tests.conftest import Runner, needs
from tests.opencl.test_stopped_recordings import LAUNCHES, PROGRAM, check_is_told, layers

pytestmark = pytest.mark.opencl


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with space for a part of the recording. Only root can mount it."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


COPYING_DISK = """
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
int fstatfs(int descriptor, struct statfs *status)
{
    const int result = (int)syscall(SYS_fstatfs, descriptor, status);
    status->f_type = 0x9123683E;
    return result;
}
"""
"""Calls every file system btrfs: there a store into a page of a file needs space each time."""


@layers
def test_a_full_disk_that_copies_pages(
    layer: str, small_disk: Path, run: Runner, tmp_path: Path
) -> None:
    compiler = next(find_compilers(), None)
    needs(compiler is not None, "a C compiler")
    assert compiler is not None
    source, library = tmp_path / "copying.c", tmp_path / "copying.so"
    source.write_text(COPYING_DISK)
    flags = ["-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run([*compiler.command, *flags], check=True)
    program = tmp_path / "program.py"
    program.write_text(f"{PROGRAM}\nprint('t.cltrace.parts' in open('/proc/self/maps').read())")
    words = ("-q", "--layer", layer, "-o", small_disk / "t.cltrace", program, "full", str(LAUNCHES))
    done = run("run", *words, env={"LD_PRELOAD": str(library)})
    assert (done.status, done.stdout) == (0, f"{LAUNCHES}\nFalse\n"), done.stderr
    shutil.copytree(small_disk / "t.cltrace.parts", tmp_path / "t.cltrace.parts")
    assert run("recover", "t.cltrace").status == 0
    assert check_is_told(tmp_path / "t.cltrace", run, "No space left on device") == LAUNCHES


@pytest.fixture
def quota(tmp_path: Path) -> Iterator[Path]:
    """A directory of btrfs with a quota of 1 MiB. Only root can mount it."""
    place, image = tmp_path / "quota", tmp_path / "image"
    place.mkdir()
    image.touch()
    os.truncate(image, 300 << 20)
    directory = place / "limited"
    commands = (
        ("mkfs.btrfs", "-q", image), ("mount", "-o", "loop", image, place),
        ("btrfs", "quota", "enable", place), ("btrfs", "subvolume", "create", directory),
        ("btrfs", "qgroup", "limit", "1M", directory),
    )  # fmt: skip
    if os.geteuid() != 0 or shutil.which("mkfs.btrfs") is None:
        pytest.skip("btrfs cannot be made here")
    try:
        for command in commands:
            if subprocess.run(command, check=False, capture_output=True).returncode != 0:
                pytest.skip("quotas are not allowed here")
        yield directory
    finally:
        subprocess.run(["umount", str(place)], check=False)


@layers
def test_a_quota(layer: str, quota: Path, run: Runner, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    words = ("-q", "--layer", layer, "-o", quota / "t.cltrace", program, "full", str(LAUNCHES))
    done = run("run", *words)
    assert (done.status, done.stdout) == (0, f"{LAUNCHES}\n"), done.stderr
    assert "Disk quota exceeded" in done.stderr
    shutil.copytree(quota / "t.cltrace.parts", tmp_path / "t.cltrace.parts")
    assert run("recover", "t.cltrace").status == 0
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        assert trace.meta["state"] == "incomplete"
        assert trace.rows("SELECT count(*) FROM v_command")[0][0] < LAUNCHES
    assert run("check", "t.cltrace", "t.cltrace").status == 3
