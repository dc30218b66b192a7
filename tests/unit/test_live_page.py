"""`cltrace kernel --live`: a page that follows its source."""

import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import CLTRACE
from tests.patience import HANG_S

SOURCE = (
    "__kernel void copy(__global const int *x, __global int *y)\n{ y[get_global_id(0)] = x[0]; }\n"
)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Address of a live page of `copy.cl`."""
    (tmp_path / "copy.cl").write_text(SOURCE)
    words = [*CLTRACE, "kernel", "copy.cl", "--global-size", "64", "--live"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            match = re.search(r"live at (http://127\.0\.0\.1:\d+/\S+/) ", process.stderr.readline())
            assert match is not None
            yield match[1]
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


def test_only_those_who_know_the_address_get_the_page(address: str) -> None:
    root = "/".join(address.split("/")[:3])
    for path in ("/", "/page", "/version", "/another/page"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            read(root + path)
