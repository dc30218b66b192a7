"""Nothing explicit is missed: every count equals that of a layer below Python."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import cltrace
from tests.conftest import PROGRAMS, Runner

pytestmark = pytest.mark.opencl

LAYER_SOURCE = Path(__file__).parent / "layer" / "counting_layer.c"

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
    "dropped_svm": {"clEnqueueSVMFree": 1},
}
"""The closed list of docs/limits.md: what the layer counts in a section beyond what is traced."""

SAME_THING = {
    "clCreateCommandQueueWithProperties": "clCreateCommandQueue",
    "clCreateProgramWithIL": "clCreateProgramWithIL",
}


def entry_points() -> dict[str, int]:
    """Names and positions of what the layer counts, read from its source."""
    found = {}
    for line in LAYER_SOURCE.read_text().splitlines():
        words = line.replace("X(", " ").replace(",", " ").replace(")", " ").split()
        if line.startswith("    X(cl"):
            found[words[0]] = int(words[1])
    return found


@pytest.fixture(scope="session")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled layer."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = tmp_path_factory.mktemp("layer") / "counting_layer.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, LAYER_SOURCE]
    subprocess.run([*map(str, command)], check=True)
    return library


def layer_counts(file: Path) -> Counter[str]:
    """What the layer counted."""
    counters = np.fromfile(file, np.uint64)
    counts: Counter[str] = Counter()
    for name, position in entry_points().items():
        if counters[position]:
            counts[SAME_THING.get(name, name)] += int(counters[position])
    return counts


def traced_counts(path: Path) -> Counter[str]:
    """What the trace has, by entry point, calls that failed included."""
    with cltrace.load(path) as trace:
        return Counter(dict(trace.rows("SELECT api, count(*) FROM v_api_call GROUP BY api")))


def both_counts(
    run: Runner, layer: Path, tmp_path: Path, *sections: str
) -> tuple[Counter[str], Counter[str]]:
    """What the layer and the trace say of one run of the matrix."""
    counts_file, path = tmp_path / "counts", tmp_path / "matrix.cltrace"
    done = run(
        "run",
        "-q",
        "-o",
        path,
        sys.executable,
        PROGRAMS / "matrix.py",
        *sections,
        env={"OPENCL_LAYERS": str(layer), "COUNTING_LAYER_FILE": str(counts_file)},
    )
    assert (done.status, done.stdout) == (0, "done\n"), done.stderr
    below, seen = layer_counts(counts_file), traced_counts(path)
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
    section: str, run: Runner, layer: Path, tmp_path: Path
) -> None:
    below, seen = both_counts(run, layer, tmp_path, section)
    assert sum(below.values()) > 3
    assert seen + hidden_waits(tmp_path) == below


@pytest.mark.parametrize("section", INVISIBLE)
def test_misses_exactly_what_the_limits_say(
    section: str, run: Runner, layer: Path, tmp_path: Path
) -> None:
    below, seen = both_counts(run, layer, tmp_path, section)
    assert dict(below - seen - hidden_waits(tmp_path)) == INVISIBLE[section]
    assert not seen - below
    shown = run("info", tmp_path / "matrix.cltrace", "--format", "json")
    code = section.replace("_", "-")
    assert f'"code": "{code}"' in shown.stdout
