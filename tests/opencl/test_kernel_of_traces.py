"""Kernels of traces, counted as they were launched: `cltrace kernel TRACE`, and the page."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import cltrace
from cltrace.kernels.counts.traced_launches import traced_launches
from cltrace.measure import Bench, find_device
from cltrace.profile import load_profile, write_profile
from cltrace.report.page.trace_page import PageOptions, render_page
from cltrace.report.traced_kernel import traced_kernel_tables
from tests.conftest import Runner
from tests.opencl.after import After

pytestmark = pytest.mark.opencl

PROGRAM = """
import sys
import numpy as np
import pyopencl as cl

SOURCE = '#include "by.h"\\\\n' + '''
__kernel void gather(__global const int *index, __global const float *x, __global float *y, float s) {
    int i = get_global_id(0);
    y[i] = x[index[i]] * s * BY;
}'''
platform = next(p for p in cl.get_platforms() if p.name == "Portable Computing Language")
context = cl.Context(platform.get_devices()[:1])
queue = cl.CommandQueue(context)
program = cl.Program(context, SOURCE).build(options=["-I", sys.argv[1]])
numbers = np.arange(256, dtype=np.int32)[::-1].copy()
index = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)
x = cl.Buffer(context, 0, 1024)
y = cl.Buffer(context, 0, 1024)
kernel = cl.Kernel(program, "gather")
for step in range(5):
    kernel(queue, (256,), (64,), index, x, y, np.float32(step))
queue.finish()
"""


@pytest.fixture
def traced(run: Runner, tmp_path: Path) -> Path:
    (tmp_path / "by.h").write_text("#define BY 2.0f\n")
    (tmp_path / "gather.py").write_text(PROGRAM)
    words = [
        "run",
        "-o",
        "g.cltrace",
        "--capture-buffers",
        "16",
        sys.executable,
        "gather.py",
        tmp_path,
    ]
    done = run(*words)
    assert done.status == 0, done.stderr
    return tmp_path / "g.cltrace"


def test_launches_have_what_counting_needs(traced: Path) -> None:
    with cltrace.load(traced) as trace:
        launches = list(traced_launches(trace))
    assert {launch.kernel for launch in launches} == {"gather"}
    assert sum(launch.calls for launch in launches) == 5
    first = launches[0]
    assert first.program is not None
    assert first.program.headers["by.h"] == "#define BY 2.0f\n"
    assert first.program.options[0] == "-D__OPENCL_VERSION__=300"
    assert first.global_size == (256,)


def test_captured_contents_decide_addresses(traced: Path, run: Runner) -> None:
    done = run("kernel", traced, "--top", "1", "--format", "json")
    assert done.status == 0, done.stderr
    (found,) = json.loads(done.stdout)["launches"]
    assert found["assumptions"] == []
    (read,) = [site for site in found["sites"] if site["memory"] == "x"]
    assert read["sectors_per_request"] == 4


def test_the_page_has_the_listing(traced: Path) -> None:
    with cltrace.load(traced) as trace:
        tables = {table.key: table for table in traced_kernel_tables(trace)}
        page = render_page(trace, PageOptions())
    assert tables["listing_0"].title == "gather (256): Source"
    assert any("y[i] = x[index[i]]" in str(row) for row in tables["listing_0"].rows)
    assert "What kernels do" in page
    assert "y[i] = x[index[i]] * s * BY;" in page


def test_a_report_of_kernels_ends_in_time(traced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLTRACE_COUNT_CACHE", "off")
    times = iter([0.0, 30.0])
    with cltrace.load(traced) as trace:
        (table,) = traced_kernel_tables(trace, lambda: next(times, 30.0))
    assert table.key == "kernels_not_counted"


@pytest.mark.parametrize("use", ["on", "off"])
def test_headers_beside_headers_and_by_macros_are_kept(
    use: str, run: Runner, tmp_path: Path
) -> None:
    deep = tmp_path / "inc" / "sub"
    far = tmp_path / "far"
    deep.mkdir(parents=True)
    far.mkdir()
    (tmp_path / "by.h").write_text('#include "sub/x.h"\n#include TEXT_OF(PLACE/far.h)\n')
    (deep / "x.h").write_text('#include "y.h"\n#include "../top.h"\n')
    (deep / "y.h").write_text("#define BY (2.0f * TOP * FAR)\n")
    (tmp_path / "inc" / "top.h").write_text("#define TOP 3.0f\n")
    (far / "far.h").write_text("#define BESIDE <beside.h>\n#include BESIDE\n")
    (far / "beside.h").write_text("#define FAR 5.0f\n")
    options = f"""["-I", sys.argv[1], "-I", sys.argv[1] + "/inc", "-DTEXT_OF(x)=NAME(x)", "-D",
        "NAME(x)=#x", "-DPLACE={far}", "-I{far}"]"""
    program = PROGRAM.replace('["-I", sys.argv[1]]', options)
    (tmp_path / "gather.py").write_text(program)
    done = run("run", "--layer", use, "-o", "g.cltrace", sys.executable, "gather.py", tmp_path)
    assert done.status == 0, done.stderr
    with cltrace.load(tmp_path / "g.cltrace") as trace:
        names = [name for (name,) in trace.rows("SELECT name FROM v_include ORDER BY 1")]
    outer = [f"{far}/beside.h", f"{far}/far.h"]
    assert names == [*outer, "by.h", "sub/x.h", "sub/y.h", "top.h"]
    done = run("kernel", "g.cltrace", "--top", "1")
    assert done.status == 0
    assert "gather" in done.stdout
    assert "not found" not in done.stdout


COMPILED = """
import warnings
warnings.simplefilter("ignore")
outer = cl.Program(context, '#include "inner.h"\\n#define BY INNER\\n')
inner = cl.Program(context, '#define INNER 3\\n')
text = '''
#define PLACE "dir/outer.h"
#include "other.h"
#include PLACE
kernel void times(global int *a) { a[get_global_id(0)] *= BY * OTHER; }'''
parts = cl.Program(context, text)
open("other.h", "w").write("#define OTHER 5")
open("inner.h", "w").write("#error not this one")
parts.compile("-I .", headers=[("dir/outer.h", outer), ("inner.h", inner)])
times = cl.Kernel(cl.link_program(context, [parts]), "times")
memory = buffer(256)
times(queue, (64,), None, memory).wait()
"""


def test_programs_given_as_headers_are_kept(after: After) -> None:
    with after(COMPILED) as trace:
        headers = {
            "dir/outer.h": '#include "inner.h"\n#define BY INNER\n',
            "inner.h": "#define INNER 3\n",
            "other.h": "#define OTHER 5",
        }
        (launch,) = traced_launches(trace)
        assert launch.program is not None
        assert launch.program.headers == headers
        keys = [table.key for table in traced_kernel_tables(trace)]
        assert keys
        assert "kernels_not_counted" not in keys


def test_cost_types_have_times_where_the_device_has_a_profile(
    traced: Path, run: Runner, tmp_path: Path
) -> None:
    with Bench(find_device("pocl")) as bench:
        device = bench.facts
    own = replace(load_profile("pocl-cpu"), device=device)
    directory = tmp_path / "data" / "cltrace" / "profiles"
    write_profile(own, directory / "mine.json")
    (directory / "broken.json").write_text("{")
    words = ["kernel", traced, "--top", "1", "--format", "json"]
    without = json.loads(run(*words, env={"XDG_DATA_HOME": str(tmp_path)}).stdout)["launches"][0]
    assert "time_ns" not in without["cost_types"][0]
    timed = json.loads(run(*words, env={"XDG_DATA_HOME": str(tmp_path / "data")}).stdout)
    timed = timed["launches"][0]
    times = {row["type"]: row["time_ns"] for row in timed["cost_types"]}
    assert times["base"] > 0
    assert times.pop("total") == pytest.approx(sum(times.values()))
