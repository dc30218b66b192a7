"""Launches while the interpreter ends: the layer records them, with hooks they are counted as missing."""

import sys
from pathlib import Path

import pytest

import cltrace
from cltrace.trace.reader import Trace
from tests.conftest import Runner
from tests.opencl.matrix import HEAD, finalizers

pytestmark = pytest.mark.opencl

LATE = pytest.mark.parametrize(
    "what",
    [
        "launches in a finalizer",
        "launches in a finalizer by a function",
        "transfers in a finalizer",
    ],
)


def traced(what: str, layer: str, run: Runner, directory: Path) -> Trace:
    code = HEAD + finalizers.PROGRAMS[what]
    flags = ("-q", "--layer", layer, "-o", "t.cltrace")
    assert run("run", *flags, sys.executable, "-c", code).status == 0
    trace: Trace = cltrace.load(directory / "t.cltrace")
    return trace


def commands(trace: Trace) -> int:
    return int(trace.rows("SELECT count(*) FROM v_command")[0][0])


@LATE
def test_the_layer_records_them(what: str, run: Runner, tmp_path: Path) -> None:
    with traced(what, "auto", run, tmp_path) as trace:
        assert (trace.meta["state"], commands(trace)) == ("complete", 2)


@LATE
def test_hooks_count_them_as_missing(what: str, run: Runner, tmp_path: Path) -> None:
    with traced(what, "off", run, tmp_path) as trace:
        assert (trace.meta_int("commands_missing"), commands(trace)) == (1, 1)
        assert trace.meta["state"] == "incomplete"
    shown = run("info", "t.cltrace").stdout
    assert "the interpreter was ending; 1 command is missing" in " ".join(shown.split())


def test_launches_in_exit_functions_of_earlier_imports_are_counted(
    run: Runner, tmp_path: Path
) -> None:
    code = "import atexit\natexit.register(lambda: launch().wait())\n" + HEAD
    run("run", "-q", "--layer", "off", "-o", "t.cltrace", sys.executable, "-c", code)
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        assert (trace.meta_int("commands_missing"), commands(trace)) == (1, 1)
