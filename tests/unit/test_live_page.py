"""`cltrace kernel --live`: a page that follows its source."""

import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cltrace.commands.shared.followed_files import included_files
from tests.conftest import CLTRACE
from tests.patience import HANG_S

SOURCE = (
    "__kernel void copy(__global const int *x, __global int *y)\n{ y[get_global_id(0)] = x[0]; }\n"
)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Address of a live page of `copy.cl`."""
    (tmp_path / "copy.cl").write_text(SOURCE)
    with live_page(tmp_path) as address:
        yield address


@contextmanager
def live_page(directory: Path, *flags: str) -> Iterator[str]:
    """Serve a live page of a directory's `copy.cl`."""
    words = [*CLTRACE, "kernel", "copy.cl", "--global-size", "64", "--live", *flags]
    with subprocess.Popen(words, cwd=directory, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            pattern = re.compile(r"live at (http://127\.0\.0\.1:\d+/\S+/) ")
            matches = map(pattern.search, process.stderr)  # errors of the compiler stand before it
            yield next(match[1] for match in matches if match is not None)
        finally:
            process.send_signal(signal.SIGINT)
            process.stderr.read()
            assert process.wait(HANG_S) == 0


def read(address: str) -> str:
    with urllib.request.urlopen(address, timeout=HANG_S) as answer:
        text: str = answer.read().decode()
        return text


def await_version(address: str, earlier: str) -> str:
    end = time.monotonic() + HANG_S
    while read(f"{address}version") == earlier:
        assert time.monotonic() < end
        time.sleep(0.02)
    return read(f"{address}page")


def test_the_page_follows_its_source(address: str, tmp_path: Path) -> None:
    assert "<iframe" in read(address)
    version = read(f"{address}version")
    assert "x[0]" in read(f"{address}page")
    (tmp_path / "copy.cl").write_text(SOURCE.replace("x[0]", "x[0] + 12345"))
    assert "x[0] + 12345" in await_version(address, version)
    version = read(f"{address}version")
    (tmp_path / "copy.cl").write_text("<b>")
    broken = await_version(address, version)
    assert "program.cl:1:1" in broken
    assert "<b>" not in broken
    version = read(f"{address}version")
    (tmp_path / "copy.cl").write_text(SOURCE + "\n")
    assert "x[0]" in await_version(address, version)


def test_the_page_follows_headers_and_those_that_they_include(tmp_path: Path) -> None:
    headers = tmp_path / "headers" / "deep"
    headers.mkdir(parents=True)
    (headers / "a.h").write_text('#include "b.h"\n')
    source = '#include "deep/a.h"\n' + SOURCE.replace("x[0]", "x[0] + ADDED")
    (tmp_path / "copy.cl").write_text(source)
    with live_page(tmp_path, "-I", "headers") as address:
        version = read(f"{address}version")
        assert "b.h" in read(f"{address}page")  # it is missing
        (headers / "b.h").write_text("#define ADDED 1\n")
        assert "x[0] + ADDED" in await_version(address, version)
        version = read(f"{address}version")
        (headers / "b.h").write_text("#define ADDED smth\n")
        assert "smth" in await_version(address, version)


def test_files_of_a_page_are_those_that_its_source_includes(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    for directory in (own, other):
        directory.mkdir()
    (own / "k.cl").write_text('#include <x.h>\n  #  include "y.h"\n// #include "z.h"\n')
    (other / "x.h").write_text('#include "k.cl"\n#include "x.h"\n')
    (other / "unused.h").write_text("")
    assert set(included_files(own / "k.cl", [own, other])) == {
        own / "k.cl", own / "x.h", other / "x.h", own / "y.h", other / "y.h", other / "k.cl"
    }  # fmt: skip


def test_only_those_who_know_the_address_get_the_page(address: str) -> None:
    root = "/".join(address.split("/")[:3])
    for path in ("/", "/page", "/version", "/another/page"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            read(root + path)
