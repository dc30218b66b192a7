"""Lines that findings name: the program's own, where a package made the calls."""

import sys
from pathlib import Path

import pytest

import cltrace
from cltrace.events import MAX_CALLSITE_DEPTH
from cltrace.timeline.advice.model import Place
from cltrace.timeline.advice.places import read_places
from cltrace.trace.reader import Trace
from tests.conftest import Runner

pytestmark = pytest.mark.opencl

PACKAGE = """
import numpy as np
import pyopencl as cl


def launch(queue, kernel, x):
    kernel(queue, (64,), None, x, np.int32(1))


def step(queue, kernel, x):
    launch(queue, kernel, x)
    return cl.enqueue_fill_buffer(queue, x, np.float32(0), 0, 256)
"""
PROGRAM = """
import pyopencl as cl
import packaged

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
source = "kernel void s(global float *x, int by) { x[get_global_id(0)] += by; }"
kernel = cl.Program(context, source).build().s
x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
for _ in range(3):
    packaged.step(queue, kernel, x)
    cl.enqueue_fill_buffer(queue, x, b"1234", 0, 256)
queue.finish()
"""


@pytest.fixture(params=["off", "on"])
def packaged(request: pytest.FixtureRequest, run: Runner, tmp_path: Path) -> Trace:
    """The trace of a program that calls OpenCL itself and through a package."""
    packages = tmp_path / "lib" / "python3" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "packaged.py").write_text(PACKAGE)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    path = tmp_path / "places.cltrace"
    words = ("run", "-q", "--layer", request.param, "-o", path, sys.executable, program)
    done = run(*words, env={"PYTHONPATH": str(packages)})
    assert done.status == 0, done.stderr
    trace: Trace = cltrace.load(path)
    return trace


def test_the_line_is_the_programs_with_the_packages_beside_it(packaged: Trace) -> None:
    with packaged as trace:
        places = read_places(trace)
        rows = trace.rows(
            "SELECT kind, site, min(command_id) FROM v_command GROUP BY kind, site ORDER BY 3"
        )
        numbers = {
            f"{file}:{line}": int(number)
            for number, file, line in trace.rows("SELECT site_id, file, line FROM v_site")
        }
    found = [(kind, _short(places[numbers[site]])) for kind, site, _ in rows]
    assert found == [
        ("kernel", Place("program.py:11", "packaged.py:7")),
        ("fill", Place("program.py:11", "packaged.py:12")),
        ("fill", Place("program.py:12", "")),
    ]


RECURSION = """
import pyopencl as cl
import packaged

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
source = "kernel void s(global float *x, int by) { x[get_global_id(0)] += by; }"
kernel = cl.Program(context, source).build().s
x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)

def recurse(level):
    if level:
        recurse(level - 1)
    else:
        packaged.step(queue, kernel, x)

def main():
    packaged.step(queue, kernel, x)
    for level in (1, 30, 60):
        recurse(level)

main()
queue.finish()
"""


DEEP = """
import pyopencl as cl

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)

def recurse(levels):
    if levels:
        recurse(levels - 1)
    else:
        queue.finish()

recurse(LEVELS)
"""


@pytest.mark.parametrize("layer", ["off", "on"])
def test_a_stack_begins_at_the_programs_line_and_is_bounded(
    run: Runner, tmp_path: Path, layer: str
) -> None:
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "packaged.py").write_text(PACKAGE)
    (tmp_path / "program.py").write_text(RECURSION)
    words = ("run", "-q", "--layer", layer, "--callsite-depth", "6", "-o", tmp_path / "r.cltrace")
    done = run(*words, sys.executable, "program.py", env={"PYTHONPATH": str(packages)})
    assert done.status == 0, done.stderr
    with cltrace.load(tmp_path / "r.cltrace") as trace:
        rows = trace.rows(
            "SELECT DISTINCT k.site_id, k.position, k.line, k.function FROM v_stack k "
            "WHERE k.site_id IN (SELECT site_id FROM command WHERE launch_id IS NOT NULL) ORDER BY 1, 2"
        )
    stacks: dict[int, list[tuple[object, object]]] = {}
    for site, _, line, function in rows:
        stacks.setdefault(int(site), []).append((line, function))
    launch, step = (7, "launch"), (11, "step")
    main, calls, again, made = (18, "main"), (20, "main"), (13, "recurse"), (15, "recurse")
    # Of the deeper recursions, the frames in the middle are left out: they have one stack.
    assert sorted(stacks.values(), key=lambda stack: (len(stack), stack)) == sorted(
        [
            [launch, step, main, (22, "<module>")],
            [launch, step, made, again, calls, (22, "<module>")],
            [launch, made, again, again, calls, (22, "<module>")],
        ],
        key=lambda stack: (len(stack), stack),
    )


def _short(place: Place) -> Place:
    return Place(Path(place.site).name, Path(place.library).name if place.library else "")


@pytest.mark.parametrize("layer", ["off", "on"])
@pytest.mark.parametrize("levels", ["200", "900"])
def test_the_deepest_stack_that_is_recorded_is_read_as_a_whole(
    run: Runner, tmp_path: Path, layer: str, levels: str
) -> None:
    """However deep the recursion is, the outermost frame is the program's first line."""
    (tmp_path / "program.py").write_text(DEEP.replace("LEVELS", levels))
    words = ("run", "-q", "--layer", layer, "-o", tmp_path / "d.cltrace", "--callsite-depth")
    done = run(*words, MAX_CALLSITE_DEPTH, sys.executable, "program.py")
    assert done.status == 0, done.stderr
    with cltrace.load(tmp_path / "d.cltrace") as trace:
        stacks = trace.rows(
            "SELECT count(*), max(CASE function WHEN '<module>' THEN position END) FROM v_stack "
            "GROUP BY site_id ORDER BY 1 DESC LIMIT 1"
        )
    assert stacks == [(MAX_CALLSITE_DEPTH, MAX_CALLSITE_DEPTH - 1)]
