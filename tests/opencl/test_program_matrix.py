"""A matrix of programs that do the same traced and untraced: output, messages and exit status."""

import re
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import Finished, Runner
from tests.opencl.matrix import HEAD, crashes, exits, finalizers, limits, signals

pytestmark = pytest.mark.opencl

PROGRAMS: Final = {
    f"{subject}: {name}": code
    for subject, programs in (
        ("signals", signals.PROGRAMS),
        ("exits", exits.PROGRAMS),
        ("crashes", crashes.PROGRAMS),
        ("finalizers", finalizers.PROGRAMS),
        ("limits", limits.PROGRAMS),
    )
    for name, code in programs.items()
}
SAMPLE: Final = (
    "signals: handles a signal by launching", "signals: asks for handlers and mask",
    "exits: raises from another error", "exits: has exit functions", "crashes: aborts, with faulthandler",
    "finalizers: memory of the program", "finalizers: counts of references",
    "finalizers: launches in a finalizer", "limits: has few descriptors",
)  # fmt: skip
WAYS: Final = {"layer": (), "hooks": ("--layer", "off")}
DIFFERENT: Final = {
    # docs/limits.md names each of these under "What a program can notice".
    ("exits: recurses without end", "hooks"): "hooks add frames",
    ("crashes: has a fatal error of Python", "hooks"): "the reader is among Python's threads",
}
QUIET: Final = {"OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore::DeprecationWarning"}


def own_message(line: str) -> bool:
    """Return whether cltrace wrote a line, after the program had ended."""
    return line.startswith("cltrace: the trace is incomplete: ")


def seen(done: Finished) -> Finished:
    """Return what a user saw, without what differs from run to run: addresses and temporary names."""
    own_lines = [line for line in done.stderr.splitlines(keepends=True) if not own_message(line)]
    texts = (
        re.sub(r"tempfile_\w+|/tmp/tmp\w+|0x[0-9a-f]+", "*", text)
        for text in (done.stdout, "".join(own_lines))
    )
    return Finished(done.status, *texts)


def compare(name: str, ways: tuple[str, ...], run: Runner, directory: Path) -> None:
    """Run a program untraced and traced in each way."""
    (directory / "program.py").write_text(HEAD + PROGRAMS[name])
    plain = seen(run("program.py", command=[sys.executable], env=QUIET))
    for way in ways:
        flags = (*WAYS[way], "-f", "-q", "-o", "t.cltrace")
        traced = run("run", *flags, sys.executable, "program.py", env=QUIET)
        assert seen(traced) == plain, way


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_programs_is_the_same(name: str, run: Runner, tmp_path: Path) -> None:
    compare(name, tuple(WAYS), run, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_the_same(name: str, run: Runner, tmp_path: Path) -> None:
    compare(name, tuple(way for way in WAYS if (name, way) not in DIFFERENT), run, tmp_path)


def test_the_matrix_is_large() -> None:
    assert len(PROGRAMS) >= 80
    assert set(SAMPLE) <= PROGRAMS.keys()
    assert {name for name, _ in DIFFERENT} <= PROGRAMS.keys()
