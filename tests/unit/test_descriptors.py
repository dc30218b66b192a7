"""Files of a spool in a program that limits its descriptors."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from cltrace.spool.descriptors import PersistentFile
from cltrace.spool.stop_page import StopPage

FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (199, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only


def test_a_file_keeps_a_high_descriptor(tmp_path: Path) -> None:
    file = PersistentFile(tmp_path / "rows", FLAGS)
    descriptor = file.descriptor()
    file.release()
    assert descriptor >= 200
    assert file.descriptor() == descriptor
    file.close()


@pytest.mark.usefixtures("few_descriptors")
def test_a_low_descriptor_is_open_during_its_use_only(tmp_path: Path) -> None:
    before = open_descriptors()
    file = PersistentFile(tmp_path / "rows", FLAGS)
    for word in (b"one", b"two"):
        os.write(file.descriptor(), word)
        file.release()
        assert open_descriptors() == before
    page = StopPage(tmp_path)
    page.add_unrecorded_fork()
    assert open_descriptors() == before
    assert (tmp_path / "rows").read_bytes() == b"onetwo"
