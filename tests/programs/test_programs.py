"""Programs of others do under cltrace what they do without it, and every launch is seen."""

import re
import signal
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from cltrace.intercept.native.build import cache_directory
from tests.conftest import Finished, Runner
from tests.known_processor import is_patched
from tests.layer import CountingLayer, traced_counts
from tests.programs.conftest import SourceOf

pytestmark = [pytest.mark.opencl, pytest.mark.programs]

ENVIRONMENT = {
    "PYOPENCL_CTX": "0",
    "PYOPENCL_TEST": "0",
    "MPLBACKEND": "Agg",
    "PYTHONHASHSEED": "0",
}

EXAMPLES = [
    *(
        ("pyopencl", f"examples/{name}.py")
        for name in (
            *("demo", "demo_array", "demo_elementwise_complex"),
            *("demo-struct-reduce", "demo_meta_template", "narray", "pi-monte-carlo", "n-body"),
            *("svm", "dump-properties"),
        )
    ),
    *(  # an elementwise kernel of real numbers, and one of many launches, as others have
        pytest.param("pyopencl", f"examples/{name}.py", marks=pytest.mark.slow)
        for name in ("demo_elementwise", "black-hole-accretion")
    ),
    ("reikna", "examples/demo_struct_reduce.py"),
    *(  # transforms: as those of real numbers, and of a whole program
        pytest.param("reikna", f"examples/demo_{name}.py", marks=pytest.mark.slow)
        for name in ("specialized_fft", "specgram")
    ),
    pytest.param(
        "reikna",
        "examples/demo_real_to_complex_fft.py",
        marks=pytest.mark.skipif(
            is_patched(),
            reason="its own bound is too near where PoCL takes a processor for another",
        ),
    ),
    ("loopy", "examples/python/hello-loopy.py"),
    *(
        pytest.param("loopy", f"examples/python/{name}.py", marks=pytest.mark.slow)
        for name in ("vector-types", "rank-one", "find-centers")
    ),
]

TESTS_OF_OTHERS = [
    ("pyopencl", "test/test_wrapper.py"),
    pytest.param("pyopencl", "test/test_clrandom.py", marks=pytest.mark.slow),
    pytest.param("pyopencl", "test/test_algorithm.py", marks=pytest.mark.slow),
    pytest.param("pyopencl", "test/test_clmath.py", marks=pytest.mark.slow),
    pytest.param("reikna", "test/test_algorithms", marks=pytest.mark.slow),
]

LAUNCHES = "clEnqueueNDRangeKernel"

SELF_TIMED = {"find-centers.py"}
"""What launches until a time has passed: no two runs launch alike."""

POCL_ABORTS = 3
"""Runs of a test module until one is not aborted: PoCL's linker sometimes finds its environment gone
("posix_spawn failed: Bad address") and aborts the process: in 3 of 120 runs without cltrace, in 0 of 120
with it."""

VARYING = re.compile(r"0x[0-9a-f]+|[-+]?\d[\d.]*(e[-+]?\d+)?|\bnan\b|\s+")
"""What differs from run to run of one program: times, random numbers, and how they are aligned."""


def without_numbers(text: str) -> str:
    return VARYING.sub("", text)


def run_both(
    run: Runner, layer: CountingLayer, directory: Path, *words: str | Path
) -> tuple[Finished, Finished]:
    """The program native and traced. Both asked the same launches of the driver; all are traced."""
    trace = directory / "traced.cltrace"
    environment = {**ENVIRONMENT, **layer.environment}

    def cold(name: str) -> dict[str, str]:
        """Caches of its own: a build that is taken from a cache is silent. The layer is everyone's."""
        caches = directory / f"cache-{name}-{words[-1]}"
        caches.mkdir()
        (caches / "cltrace").symlink_to(cache_directory().parent)
        return {"POCL_CACHE_DIR": f"{caches}/pocl", "XDG_CACHE_HOME": str(caches)}

    native_environment = {**environment, **cold("native")}
    native = run(*words, command=[sys.executable], cwd=directory, env=native_environment)
    native_counts = layer.counts()
    layer.restart()
    flags = ("run", "-q", "-f", "-o", trace, "--")
    traced_environment = {**environment, **cold("traced")}
    traced = run(*flags, sys.executable, *words, cwd=directory, env=traced_environment)
    counts = layer.counts()
    assert traced.status == native.status
    if str(words[-1]) not in SELF_TIMED:
        assert counts[LAUNCHES] == native_counts[LAUNCHES]
    assert traced_counts(trace)[LAUNCHES] == counts[LAUNCHES]
    return native, traced


@pytest.mark.parametrize(("package", "program"), EXAMPLES)
def test_an_example_does_what_it_does_untraced(
    package: str, program: str, source_of: SourceOf, run: Runner, layer: CountingLayer
) -> None:
    path = source_of(package) / program
    native, traced = run_both(run, layer, path.parent, path.name)
    assert native.status == 0, native.stderr
    assert without_numbers(traced.stdout) == without_numbers(native.stdout)
    assert without_numbers(traced.stderr) == without_numbers(native.stderr)


@pytest.mark.parametrize(("package", "module"), TESTS_OF_OTHERS)
def test_tests_of_others_end_as_they_end_untraced(
    package: str, module: str, source_of: SourceOf, run: Runner, layer: CountingLayer
) -> None:
    path = source_of(package) / module
    report = path.parent / "report.xml"
    outcomes = []

    def runner(*words: str | Path, **how: object) -> Finished:
        for _ in range(POCL_ABORTS):
            report.unlink(missing_ok=True)
            layer.restart()
            done = run(*words, **how)
            if done.status != -signal.SIGABRT:
                outcomes.append(outcomes_in(report))
                return done
        pytest.fail("it was aborted each time")

    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", path.name)
    run_both(runner, layer, path.parent, *words)
    native, traced = outcomes
    assert list(native.values()).count("passed") > 5
    assert traced == native


def outcomes_in(report: Path) -> dict[str, str]:
    """How each test ended, as pytest's own report says."""
    found = {}
    for case in ET.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        found[name] = next((child.tag for child in case if child.tag != "system-out"), "passed")
    return found
