"""Traces for tests that need no OpenCL."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cltrace.timeline.timekeeping import finalise
from cltrace.trace.recording import discard_parts
from tests.synthetic import Text, as_it_is, write_recording

MakeTrace = Callable[..., Path]


@pytest.fixture
def make_trace(tmp_path: Path) -> MakeTrace:
    """Makes a trace of the made-up recording: `make_trace("a.cltrace", text=...)`."""

    def maker(name: str = "made.cltrace", text: Text = as_it_is) -> Path:
        path = tmp_path / name
        parts = write_recording(path, text)
        finalise(parts, path)
        discard_parts(parts)
        return path

    return maker
