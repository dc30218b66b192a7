"""Loaders of every kind take the layer in, and a loader that does not is told truly."""

import ctypes
from pathlib import Path

import pytest

import cltrace
from cltrace.events.kinds import LAYER_UNUSED
from cltrace.events.records import ProcessEnded
from cltrace.events.tables import BUFFERS, LAUNCHES, RELEASES, STAMPS
from cltrace.intercept.native.environment import INITIALISERS, takes_layers
from cltrace.intercept.native.loader_check import Absence, explain_unrecorded
from cltrace.trace.reader import Trace
from tests.conftest import Runner
from tests.native.conftest import Toolbox
from tests.native.loaders import build_loader, copy_pyopencl, under

pytestmark = pytest.mark.opencl

_LATER = 'INITIALISER="clInitLayerInAnotherWay"'
_LAUNCHES = "SELECT count(*), count(end_device_ns) FROM command WHERE launch_id > 0"
_PROGRAM = """
import sys
import pyopencl as cl
assert "/site-packages/" not in cl.__file__

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
program = cl.Program(context, "kernel void k(global int *a) { a[get_global_id(0)] = 1; }").build()
kernel = cl.Kernel(program, "k")
for _ in range(20):
    kernel(queue, (16,), None, buffer)
queue.finish()
"""


@pytest.fixture(scope="module")
def loader(toolbox: Toolbox, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loader that takes layers as Khronos' loader does since 2026."""
    return build_loader(toolbox, tmp_path_factory.mktemp("loader") / "new")


@pytest.fixture(scope="module")
def later_loader(toolbox: Toolbox, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loader whose layers have an interface that this version of cltrace does not know."""
    return build_loader(toolbox, tmp_path_factory.mktemp("loader") / "later", _LATER)


def test_a_program_under_the_new_loader_is_recorded(
    toolbox: Toolbox, loader: Path, tmp_path: Path
) -> None:
    program = str(toolbox.program("launches"))
    run = under(toolbox, loader).record(tmp_path / "parts", [program, "100"])
    assert (run.status, run.stderr) == (0, "")
    assert len(run.spool.rows(LAUNCHES)) == len(run.spool.rows(STAMPS)) == 101
    assert len(run.spool.rows(RELEASES)) == len(run.spool.rows(BUFFERS)) == 1
    assert run.spool.is_complete


def test_the_layer_leaves_drivers_alone_after_they_are_closed(
    toolbox: Toolbox, loader: Path, tmp_path: Path
) -> None:
    program = str(toolbox.program("closing"))
    run = under(toolbox, loader).record(tmp_path / "parts", [program])
    assert (run.status, run.stderr) == (3, "")
    assert len(run.spool.rows(LAUNCHES)) == len(run.spool.rows(STAMPS)) == 50
    assert run.spool.is_complete
    assert run.spool.records(ProcessEnded)[0].how == "exit"


def test_pyopencl_under_the_new_loader_is_recorded(
    loader: Path, run: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "a.cltrace"
    done = run("run", "-q", "-o", path, "-c", _PROGRAM, env=_importing(loader, tmp_path))
    assert (done.status, done.stderr) == (0, "")
    with cltrace.load(path) as trace:
        assert trace.rows(_LAUNCHES) == [(20, 20)]
        assert _codes(trace) == ["recorded-by-layer"]
        assert trace.rows("SELECT ended_how FROM process") == [("exit",)]


def test_the_layer_has_the_functions_that_loaders_ask_for(toolbox: Toolbox, loader: Path) -> None:
    layer = ctypes.CDLL(str(toolbox.layer))
    for name in INITIALISERS:
        assert hasattr(layer, name)
    properties = (ctypes.c_uint64 * 3)(0x1234, 1, 0)
    init = layer.clInitLayerWithProperties
    assert init(0, properties, properties, properties, properties) == -64  # CL_INVALID_PROPERTY
    assert init(0, None, None, None, (ctypes.c_uint64 * 1)()) == -30  # CL_INVALID_VALUE
    assert takes_layers(loader)


def test_hooks_record_where_the_loader_knows_other_layers_only(
    later_loader: Path, run: Runner, tmp_path: Path
) -> None:
    assert not takes_layers(later_loader)
    path = tmp_path / "a.cltrace"
    _run_refused(later_loader, path, run)
    with cltrace.load(path) as trace:
        assert trace.rows(_LAUNCHES) == [(20, 20)]
        assert "recorded-by-layer" not in _codes(trace)


def test_a_loader_that_knows_other_layers_only_is_named(
    toolbox: Toolbox, later_loader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = toolbox.program("launches")  # it loads a loader by name
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/{'x' * 300}:{tmp_path};{later_loader.parent}")
    reason = explain_unrecorded(program)
    assert reason.absence is Absence.OTHER_LAYERS
    assert str(later_loader) in reason.message
    assert "other layers" in reason.message


def test_a_loader_inside_a_program_is_named(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(
        Path("/bin/true").read_bytes() + b"\0OPENCL_LAYERS\0clGetLayerInfo\0clInitLayerNew\0"
    )
    reason = explain_unrecorded(program)
    assert reason.absence is Absence.OTHER_LAYERS
    assert f"{program} has a loader" in reason.message


def test_a_refusal_by_the_loader_is_noted(toolbox: Toolbox, run: Runner, tmp_path: Path) -> None:
    refusing = build_loader(toolbox, tmp_path / "loader", "API_VERSION=200")
    path = tmp_path / "a.cltrace"
    _run_refused(refusing, path, run)
    with cltrace.load(path) as trace:
        assert trace.rows(_LAUNCHES) == [(0, 0)]
        (message,) = trace.rows(
            "SELECT message FROM diagnostic WHERE code = :code", {"code": LAYER_UNUSED}
        )
        assert "--layer off" in message[0]
    # It is the rule in pools, whose first process imports pyopencl and does not use it.
    assert "loaded the layer" not in run("summary", path).stdout
    assert "layer-unused" in run("info", path).stdout


def test_a_failed_exec_before_the_first_call_leaves_no_note(
    loader: Path, run: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "a.cltrace"
    fails = 'import os, pyopencl\ntry: os.execv("/nonexistent/x", ["x"])\nexcept OSError: pass\n'
    done = run("run", "-q", "-o", path, "-c", fails + _PROGRAM, env=_importing(loader, tmp_path))
    assert done.status == 0, done.stderr
    with cltrace.load(path) as trace:
        assert trace.rows(_LAUNCHES)[0][0]
        assert not trace.rows(
            "SELECT message FROM diagnostic WHERE code = :code", {"code": LAYER_UNUSED}
        )


def test_a_program_without_platforms_is_told(
    toolbox: Toolbox, loader: Path, run: Runner, tmp_path: Path
) -> None:
    program = toolbox.program("launches")
    (tmp_path / "vendors").mkdir()
    alone = {"OCL_ICD_VENDORS": str(tmp_path / "vendors")}
    layered = {**alone, "TEST_OPENCL_LOADER": str(loader)}
    done = run("run", "-o", tmp_path / "a.cltrace", program, env=layered)
    assert done.status == 9
    assert "cltrace: OpenCL was loaded, and no call was recorded" in done.stderr
    done = run("run", "-o", tmp_path / "b.cltrace", program, env=alone)
    assert done.status == 9
    assert "found no platform" in done.stderr


def _run_refused(loader: Path, path: Path, run: Runner) -> None:
    """Record the program into a trace under a loader that refuses the layer."""
    done = run("run", "-q", "-o", path, "-c", _PROGRAM, env=_importing(loader, path.parent))
    assert done.status == 0
    assert done.stderr.startswith("the loader refuses")


def _importing(loader: Path, directory: Path) -> dict[str, str]:
    """Return the environment in which programs import a pyopencl that calls `loader`."""
    return {"PYTHONPATH": str(copy_pyopencl(loader, directory / "package"))}


def _codes(trace: Trace) -> list[str]:
    return [code for (code,) in trace.rows("SELECT code FROM diagnostic ORDER BY 1")]
