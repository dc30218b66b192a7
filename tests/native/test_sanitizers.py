"""The layer under the sanitizers of compilers. Reports about drivers, which have none, are left out."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from cltrace.events.tables import LAUNCHES, STAMPS
from cltrace.intercept.native.build import Compiler, compile_layer, find_compilers
from tests.conftest import needs
from tests.native.conftest import Toolbox

pytestmark = pytest.mark.opencl

_PROGRAMS: Final = (
    ("matrix",),
    ("threads",),
    ("callbacks",),
    ("queues",),
    ("endings", "fork"),
    ("endings", "daemon"),
    ("endings", "late-release"),
    ("launches", "20000"),
    ("costs", "4000", "1000"),
    ("observer", "errno"),
    ("observer", "fail"),
    ("observer", "reload"),
    ("observer", "fork-in-build"),
    ("observer", "fork-often"),
)
_STATUS: Final = {"fork": 6, "daemon": 2, "late-release": 2}

_MEMORY: Final = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
_RACES: Final = ("-fsanitize=thread",)

_RACE_SUPPRESSIONS: Final = """
called_from_lib:libpocl
race:libpocl
mutex:libpocl
deadlock:libpocl
thread:libpocl
signal:libpocl
called_from_lib:libOpenCL
"""
"""PoCL synchronises its threads by means that the sanitizer does not see."""


@pytest.fixture(scope="module")
def memory_checked(tmp_path_factory: pytest.TempPathFactory) -> Toolbox:
    """The layer and the programs, checked for faults of memory and undefined behaviour."""
    variables = {
        # Drivers keep memory until the process ends.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=77",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }
    return _sanitized(tmp_path_factory.mktemp("memory"), _MEMORY, variables)


@pytest.fixture(scope="module")
def race_checked(tmp_path_factory: pytest.TempPathFactory) -> Toolbox:
    """The layer and the programs, checked for data races and lock orders."""
    directory = tmp_path_factory.mktemp("races")
    suppressions = directory / "suppressions"
    suppressions.write_text(_RACE_SUPPRESSIONS)
    options = f"suppressions={suppressions}:exitcode=77:die_after_fork=0"
    return _sanitized(directory, _RACES, {"TSAN_OPTIONS": options})


def _sanitized(directory: Path, flags: tuple[str, ...], variables: dict[str, str]) -> Toolbox:
    compiler = next(
        filter(lambda compiler: _links(compiler, flags, directory), find_compilers()), None
    )
    needs(compiler is not None, "a C compiler with sanitizers")
    assert compiler is not None
    layer = directory / "layer.so"
    compile_layer(compiler, layer, ("-g", "-O1", *flags))
    return Toolbox(compiler, layer, directory, flags, variables)


def _links(compiler: Compiler, flags: tuple[str, ...], directory: Path) -> bool:
    source, program = directory / "empty.c", directory / "empty"
    source.write_text("int main(void) { return 0; }\n")
    command = [*compiler.command, *flags, "-o", str(program), str(source)]
    built = subprocess.run(command, capture_output=True, check=False)
    return not built.returncode and not subprocess.run([program], check=False).returncode


@pytest.mark.parametrize("words", _PROGRAMS, ids="-".join)
def test_memory_is_used_rightly(
    memory_checked: Toolbox, words: tuple[str, ...], tmp_path: Path
) -> None:
    _check(memory_checked, words, tmp_path)


@pytest.mark.parametrize("words", _PROGRAMS, ids="-".join)
def test_threads_do_not_race(race_checked: Toolbox, words: tuple[str, ...], tmp_path: Path) -> None:
    if words[-1].startswith(("fork", "daemon")):
        return  # the sanitizer follows no forks of threads, and reports that descriptors are closed
    _check(race_checked, words, tmp_path)


@pytest.mark.parametrize("words", [("matrix",), ("threads",), ("launches", "20000")], ids="-".join)
def test_threads_do_not_race_for_an_exclusive_driver(
    race_checked: Toolbox, words: tuple[str, ...], tmp_path: Path
) -> None:
    layer = race_checked.directory / "exclusive.so"
    if not layer.exists():
        flags = ("-g", "-O1", "-DEXCLUSIVE_DRIVER=true", *_RACES)
        compile_layer(race_checked.compiler, layer, flags)
    _check(replace(race_checked, layer=layer), words, tmp_path)


def _check(toolbox: Toolbox, words: tuple[str, ...], tmp_path: Path) -> None:
    name, *rest = words
    command = [str(toolbox.program(name)), *rest]
    run = toolbox.record(tmp_path / "parts", command)
    reports = [line for line in run.stderr.splitlines() if "runtime error" in line or "==" in line]
    assert run.status == _STATUS.get(words[-1], 0), "\n".join([*reports[:5], run.stderr[-6000:]])
    spool = run.spools[0]
    assert spool.is_complete
    assert len(spool.rows(STAMPS)) >= len(spool.rows(LAUNCHES))
