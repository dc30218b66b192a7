"""Nothing explicit is missed: every count equals that of a layer below Python."""

import sys
from collections import Counter
from pathlib import Path

import pytest

import cltrace
from tests.conftest import PROGRAMS, Runner
from tests.layer import CountingLayer, countable, traced_counts

pytestmark = pytest.mark.opencl

VISIBLE_SECTIONS = (
    "launches",
    "copies",
    "sync",
    "maps",
    "images",
    "arrays",
    "algorithms",
    "pools",
    "threads",
    "svm",
)

INVISIBLE = {
    "dropped_map": {"clEnqueueUnmapMemObject": 1},
    "immediate_allocator": {"clEnqueueMigrateMemObjects": 3},
    "destructor_wait": {},
    "dropped_svm": {"clEnqueueSVMFree": 1, "clSVMFree": 64},
}
"""The closed list of docs/limits.md: what the layer counts in a section beyond what is traced."""


def both_counts(
    run: Runner, layer: CountingLayer, tmp_path: Path, *sections: str, producer: str = "off"
) -> tuple[Counter[str], Counter[str]]:
    """What the layer and the trace say of one run of the matrix, with `--layer` and `producer`."""
    path = tmp_path / "matrix.cltrace"
    done = run(
        "run",
        "-q",
        "--layer",
        producer,
        "-o",
        path,
        sys.executable,
        PROGRAMS / "matrix.py",
        *sections,
        env=layer.environment,
    )
    assert (done.status, done.stdout) == (0, "done\n"), done.stderr
    below, seen = layer.counts(), traced_counts(path)
    # Letting go of a memory object is no command, and the layer does not count it.
    del seen["clReleaseMemObject"]
    return below, seen


def hidden_waits(tmp_path: Path) -> Counter[str]:
    """The waits in destructors: one for each transfer from or to host memory (docs/limits.md)."""
    with cltrace.load(tmp_path / "matrix.cltrace") as trace:
        sql = "SELECT count(*) FROM v_command WHERE kind IN ('read', 'write')"
        count = trace.rows(sql)[0][0]
    return Counter({"clWaitForEvents": count}) if count else Counter()


@pytest.mark.parametrize("section", VISIBLE_SECTIONS)
def test_counts_what_the_layer_counts(
    section: str, run: Runner, layer: CountingLayer, tmp_path: Path
) -> None:
    below, seen = both_counts(run, layer, tmp_path, section)
    assert sum(below.values()) > 3
    assert seen + hidden_waits(tmp_path) == below


@pytest.mark.parametrize("section", [*VISIBLE_SECTIONS, *INVISIBLE])
def test_the_layer_below_python_misses_nothing(
    section: str, run: Runner, layer: CountingLayer, tmp_path: Path
) -> None:
    below, seen = both_counts(run, layer, tmp_path, section, producer="on")
    assert sum(below.values()) > 3
    assert Counter({name: seen[name] for name in seen.keys() & countable()}) == below


@pytest.mark.parametrize("section", INVISIBLE)
def test_misses_exactly_what_the_limits_say(
    section: str, run: Runner, layer: CountingLayer, tmp_path: Path
) -> None:
    below, seen = both_counts(run, layer, tmp_path, section)
    assert dict(below - seen - hidden_waits(tmp_path)) == INVISIBLE[section]
    assert not seen - below
    shown = run("info", tmp_path / "matrix.cltrace", "--format", "json")
    code = section.replace("_", "-")
    assert f'"code": "{code}"' in shown.stdout
