"""Two platforms in one process: PoCL, and Intel's runtime for processors where it is installed.

Install it by `pip install --group intel`; it is large, so it is in no other group.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pyopencl as cl
import pytest

import cltrace
from cltrace.intercept.objects.programs import Programs, Texts
from cltrace.intercept.objects.registry import Registry
from cltrace.runs.trial_builds import find_intel_runtime
from cltrace.trace.reader import Trace
from tests.conftest import Runner
from tests.platform import add_platform

pytestmark = pytest.mark.opencl

INTEL = find_intel_runtime()
needs_intel = pytest.mark.skipif(INTEL is None, reason="Intel's runtime is not installed")
POCL = "Portable Computing Language"

PROGRAM = """
import numpy as np
import pyopencl as cl

host = np.ones(4096, np.float32)
for platform in cl.get_platforms():
    (device,) = platform.get_devices()
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    # The program is released before the kernel is launched.
    kernel = cl.Program(context, '''
        kernel void scale(global float *a, float f) { a[get_global_id(0)] *= f; }
    ''').build().scale
    memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, host.nbytes)
    cl.enqueue_copy(queue, memory, host)
    for _ in range(3):
        kernel(queue, host.shape, None, memory, np.float32(2))
    cl.enqueue_copy(queue, host, memory)
    queue.finish()
print(host[0])
"""


@pytest.fixture(params=["off", "on"])
def recorded(request: pytest.FixtureRequest, run: Runner, tmp_path: Path) -> Callable[[], Trace]:
    assert INTEL is not None
    environment = add_platform(INTEL, tmp_path)

    def record() -> Trace:
        words = (
            "run",
            "-q",
            "--layer",
            request.param,
            "-o",
            "t.cltrace",
            sys.executable,
            "-c",
            PROGRAM,
        )
        done = run(*words, env=environment)
        assert (done.status, done.stdout) == (0, "64.0\n"), done.stderr
        trace: Trace = cltrace.load(tmp_path / "t.cltrace")
        return trace

    return record


@needs_intel
def test_both_platforms_are_recorded(recorded: Callable[[], Trace]) -> None:
    with recorded() as trace:
        assert not trace.rows("SELECT code, message FROM v_diagnostic WHERE severity = 'error'")
        rows = trace.rows(
            "SELECT d.platform, c.kind, count(c.duration_ns) FROM v_command c "
            "JOIN v_device d USING (device_id) GROUP BY 1, 2 ORDER BY 1, 2"
        )
        assert rows == [
            (platform, kind, count)
            for platform in ("Intel(R) OpenCL", POCL)
            for kind, count in (("kernel", 3), ("read", 1), ("write", 1))
        ]
        clocks = trace.rows("SELECT DISTINCT device_id, state FROM v_clock_segment ORDER BY 1")
        assert [state for _, state in clocks] == ["proven", "proven"]
        assert trace.rows("SELECT count(*) FROM v_kernel WHERE program_id IS NULL") == [(0,)]


@needs_intel
def test_reports_tell_the_platforms_apart(recorded: Callable[[], Trace], run: Runner) -> None:
    with recorded() as trace:
        path = trace.path
        names = [str(row[0]) for row in trace.rows("SELECT name FROM v_device ORDER BY device_id")]
    summary = json.loads(run("summary", path, "--format", "json").stdout)
    for table in ("kernels_by_device", "memory_by_device"):
        assert sorted(row["device"] for row in summary[table]) == sorted(names)
    done = run("predict", path, "--profile", "pocl-cpu")
    assert done.status == 2
    assert all(name in done.stderr for name in names)
    pthread = next(name for name in names if name.startswith("pthread"))
    done = run("predict", path, "--profile", f"{pthread}=pocl-cpu", "--format", "json")
    assert {row["device"] for row in json.loads(done.stdout)["predicted_launches"]} == {pthread}
    for words in (["timeline"], ["info"], ["view"], ["export", "--to", "chrome"]):
        assert run(*words, path).status == 0


class ReleasedProgram:
    """Kernel of a runtime that names a released program which cannot be used any more."""

    function_name = "scale"
    num_args = 2
    int_ptr = 77
    context = SimpleNamespace(devices=())

    def get_info(self, _: object) -> NoReturn:
        raise cl.LogicError("clRetainProgram", cl.status_code.INVALID_PROGRAM, "")


def test_a_kernel_of_a_released_program_is_recorded() -> None:
    sink: Any = SimpleNamespace(records=[])
    programs = Programs(sink, Texts(sink), record_source=True)
    registry = Registry(sink, programs)
    kernel: Any = ReleasedProgram()
    assert registry.kernel_id(kernel, "scale") == 1
    program: Any = SimpleNamespace(int_ptr=5)
    number = programs.register(program, "source", 0, 0)  # type: ignore[arg-type]
    registry.store_program(kernel, program)
    assert registry.kernel_id(kernel, "scale") == 2
    assert [record.program_id for record in sink.records if hasattr(record, "argument_count")] == [
        0,
        number,
    ]
    registry.forget_program(kernel)
    assert registry.kernel_id(kernel, "scale") == 1
