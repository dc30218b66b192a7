"""Processes that run Python: sites are Python's, of libraries in C too; one producer records calls."""

import sys
from ctypes.util import find_library
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from cltrace.events import MAX_CALLSITE_DEPTH
from cltrace.events.apis import Api
from cltrace.events.records import Diagnostic, Kernel, ProcessStarted, Site
from cltrace.events.tables import CALLS, CIRCUMSTANCES, LAUNCHES
from cltrace.spool.reader import ProcessSpool
from cltrace.spool.settings import Settings
from tests.native.conftest import RecordedRun, Toolbox

pytestmark = pytest.mark.opencl

_ARRAYS = """
import numpy as np
import pyopencl as cl
import pyopencl.array as cla

def make():
    context = cl.create_some_context(interactive=False)
    return cl.CommandQueue(context)

queue = make()
a = cla.zeros(queue, 1000, np.float32)
def add():
    return a + a  # line 12
for _ in range(20):
    add()
a.fill(3)
queue.finish()
print(queue.properties)
"""

_OTHER_LIBRARY = """
import ctypes, sys, time
import numpy as np
import pyopencl as cl

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
library = ctypes.CDLL(sys.argv[1])  # a loader of its own, as a library in C has
time.sleep(0.2)  # the layer looks for loaders now and then
finish = library.clFinish
finish.argtypes = [ctypes.c_void_p]
finish(queue.int_ptr)
released = ctypes.PyDLL(sys.argv[1]).clFlush
released.argtypes = [ctypes.c_void_p]
released(queue.int_ptr)
"""

_THREADS = """
import threading
import numpy as np
import pyopencl as cl

context = cl.create_some_context(interactive=False)
program = cl.Program(context, "kernel void k(global int *a) { a[get_global_id(0)] = 1; }").build()
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)

def work():
    queue = cl.CommandQueue(context)
    kernel = cl.Kernel(program, "k")
    for _ in range(200):
        kernel(queue, (16,), None, buffer)  # line 14
    queue.finish()

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def _record(
    toolbox: Toolbox, tmp_path: Path, code: str, *words: str, settings: Settings | None = None
) -> RecordedRun:
    program = tmp_path / "program.py"
    program.write_text(code.lstrip("\n"))
    command = [sys.executable, str(program), *words]
    run = toolbox.record(tmp_path / "parts", command, settings, record_python=True)
    assert run.status == 0, run.stderr
    return run


def _sites(spool: ProcessSpool) -> dict[int, Site]:
    return {site.id: site for site in spool.records(Site)}


def test_launches_have_the_line_that_caused_them(toolbox: Toolbox, tmp_path: Path) -> None:
    run = _record(toolbox, tmp_path, _ARRAYS)
    spool, sites = run.spool, _sites(run.spool)
    assert run.stdout == "0\n"
    names = {kernel.id: kernel.name for kernel in spool.records(Kernel)}
    places = {
        (names[int(kernel)], sites[int(site)].line, sites[int(site)].function)
        for kernel, site in spool.rows(CIRCUMSTANCES)[
            :, [CIRCUMSTANCES.index("kernel_id"), CIRCUMSTANCES.index("site_id")]
        ]
    }
    assert ("axpbyz", 12, "add") in places
    assert {Path(site.file).name for site in sites.values() if site.line} == {"program.py"}
    assert len(spool.rows(LAUNCHES)) >= 20
    assert spool.records(ProcessStarted)[0].python_version == sys.version.split()[0]


def test_a_chain_of_frames_is_recorded(toolbox: Toolbox, tmp_path: Path) -> None:
    run = _record(toolbox, tmp_path, _ARRAYS, settings=Settings(callsite_depth=3))
    sites = _sites(run.spool)
    inner = next(site for site in sites.values() if site.function == "add")
    outer = sites[inner.outer_site_id]
    assert (outer.function, outer.line, outer.outer_site_id) == ("<module>", 14, 0)


def test_the_layer_has_the_maximum_of_the_settings() -> None:
    header = resources.files("cltrace.intercept.native") / "layer" / "settings.h"
    assert f"#define MAX_CALLSITE_DEPTH {MAX_CALLSITE_DEPTH}\n" in header.read_text()


def test_calls_of_another_loader_are_recorded_once(toolbox: Toolbox, tmp_path: Path) -> None:
    other = find_library("OpenCL")
    assert other is not None
    spool = _record(toolbox, tmp_path, _OTHER_LIBRARY, other).spool
    calls, sites = spool.rows(CALLS), _sites(spool)
    lines = {
        Api(int(row[CALLS.index("api")])): sites[int(row[CALLS.index("site_id")])].line
        for row in calls
    }
    assert lines[Api.clFinish] == 11  # ctypes releases the interpreter's lock around this call
    assert lines[Api.clFlush] == 14
    for api in (Api.clFinish, Api.clFlush):
        assert np.count_nonzero(calls[:, CALLS.index("api")] == api) == 1


def test_a_loader_without_platforms_is_noted(toolbox: Toolbox, tmp_path: Path) -> None:
    other = find_library("OpenCL")
    assert other is not None
    # pyopencl's loader finds PoCL beside itself.
    alone = replace(toolbox, variables={**toolbox.variables, "OCL_ICD_VENDORS": str(tmp_path)})
    spool = _record(alone, tmp_path, _OTHER_LIBRARY, other).spool
    assert Api.clFlush not in spool.rows(CALLS)[:, CALLS.index("api")]
    notes = [note for note in spool.records(Diagnostic) if note.code == "loader-unrecorded"]
    assert len(notes) == 1
    assert "libOpenCL.so" in notes[0].message


def test_threads_of_python_are_recorded(toolbox: Toolbox, tmp_path: Path) -> None:
    spool = _record(toolbox, tmp_path, _THREADS).spool
    sites = _sites(spool)
    assert len(spool.rows(LAUNCHES)) == 800
    used = {sites[int(site)].line for site in spool.rows(CIRCUMSTANCES)[:, 2]}
    assert used == {13}
    assert len(set(spool.rows(CIRCUMSTANCES)[:, CIRCUMSTANCES.index("thread_id")])) == 4


_PAUSES = """
import ctypes, sys
import pyopencl as cl

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
layer = ctypes.CDLL(sys.argv[1])
queue.finish()
layer.cltrace_layer_resume()
queue.finish()  # line 9
layer.cltrace_layer_pause()
queue.finish()
layer.cltrace_layer_flush(None)
"""


def test_the_program_can_pause_and_resume(toolbox: Toolbox, tmp_path: Path) -> None:
    settings = Settings(start_paused=True)
    run = _record(toolbox, tmp_path, _PAUSES, str(toolbox.layer), settings=settings)
    calls, sites = run.spool.rows(CALLS), _sites(run.spool)
    (finish,) = calls[calls[:, CALLS.index("api")] == Api.clFinish]
    assert sites[int(finish[CALLS.index("site_id")])].line == 9


def test_python_is_left_to_the_hooks_if_the_settings_say_so(
    toolbox: Toolbox, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(_ARRAYS.lstrip("\n"))
    run = toolbox.record(tmp_path / "parts", [sys.executable, str(program)])
    assert (run.status, run.stdout) == (0, "0\n")
    assert run.spools == []
