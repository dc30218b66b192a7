"""Python programs that the layer records: what only Python knows is in the trace, too."""

import sys
from pathlib import Path

import pytest

import cltrace
from cltrace.intercept.native.library import find_recording_library
from cltrace.intercept.native.settings import write_layer_settings
from cltrace.spool.settings import Settings
from tests.conftest import Runner
from tests.opencl.after import After

pytestmark = pytest.mark.opencl

ON = ("--layer", "on")


@pytest.mark.parametrize("producer", ["on", "off"])
def test_programs_of_the_binary_cache_have_their_source(
    after: After, tmp_path: Path, producer: str
) -> None:
    # For PoCL, pyopencl itself leaves caching to the driver.
    code = (
        "from pyopencl.cache import create_built_program_from_source_cached\n"
        "text = 'kernel void cached(global int *a) { a[0] = 12345; }'\n"
        "program, _ = create_built_program_from_source_cached(\n"
        f"    context, text, b'', cache_dir={str(tmp_path / 'cache')!r})\n"
        "cl.Kernel(program, 'cached')(queue, (1,), None, buffer()).wait()\n"
    )
    flags = ("--layer", producer)
    sql = "SELECT origin, source FROM v_program WHERE source LIKE '%cached%'"
    with after(code, *flags) as first:
        assert [origin for origin, _ in first.rows(sql)] == ["source"]
    Path(first.path).unlink()
    with after(code, *flags) as second:
        ((origin, source),) = second.rows(sql)
        assert origin == "binary"
        assert source == "kernel void cached(global int *a) { a[0] = 12345; }"
        assert second.rows("SELECT count(*) FROM v_launch WHERE kernel = 'cached'") == [(1,)]


@pytest.mark.parametrize("producer", ["on", "off"])
def test_included_files_are_recorded(after: After, tmp_path: Path, producer: str) -> None:
    folder = tmp_path / "folder" / "sub"
    folder.mkdir(parents=True)
    (folder.parent / "outer.h").write_text('# include "sub/inner.h"\n#include <missing.h>\n')
    (folder / "inner.h").write_text('#include "../again.h"\n#define INNER 3\n')
    (folder.parent / "again.h").write_text('#include "outer.h"\n')
    text = '#ifdef NEVER\n#include "outer.h"\n#endif\nkernel void k2(global int *a) { a[0] = 1; }'
    with after(
        f"cl.Program(context, {text!r}).build(options=['-I', {str(folder.parent)!r}], cache_dir=False)\n",
        "--layer",
        producer,
    ) as trace:
        rows = trace.rows("SELECT name, text FROM v_include ORDER BY name")
    assert [name for name, _ in rows] == ["again.h", "outer.h", "sub/inner.h"]
    assert dict(rows)["sub/inner.h"] == '#include "../again.h"\n#define INNER 3\n'


def test_a_source_that_differs_by_a_marker_only_is_one_source(after: After) -> None:
    with after(
        "text = 'kernel void twice(global int *a) { a[0] = 1; }'\n"
        "for _ in range(2): cl.Program(context, text).build(cache_dir=False)\n",
        *ON,
    ) as trace:
        sql = "SELECT count(*), count(DISTINCT source) FROM v_program WHERE source LIKE '%twice%'"
        assert trace.rows(sql) == [(2, 1)]
        assert trace.rows("SELECT count(*) FROM v_program WHERE source LIKE '%defeat%'") == [(0,)]


@pytest.mark.parametrize("producer", ["on", "off"])
def test_regions_and_threads_have_their_names(after: After, producer: str) -> None:
    with after(
        "import cltrace\n"
        "with cltrace.region('before any call'): pass\n"
        "def work():\n"
        "    with cltrace.region('inner \\u00e4'): kernel(queue, (1,), None, buffer()).wait()\n"
        "thread = threading.Thread(target=work, name='worker seven')\n"
        "thread.start(); thread.join()\n",
        "--layer",
        producer,
    ) as trace:
        sql = "SELECT r.name, t.name FROM v_region r JOIN v_thread t ON t.thread_id = r.thread_id"
        assert set(trace.rows(sql)) == {
            ("before any call", "MainThread"),
            ("inner ä", "worker seven"),
        }
        assert trace.rows("SELECT count(*) FROM v_process WHERE pyopencl_version <> ''") == [(1,)]


def test_a_region_before_the_first_call_is_recorded(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "early.cltrace"
    code = (
        "import os, pyopencl, cltrace\n"
        "with cltrace.region('early'): os.environ['OCL_ICD_VENDORS'] = '/nothing/here'\n"
        "try: print(len(pyopencl.get_platforms()))\n"
        "except pyopencl.Error: print('none')\n"
    )
    done = run("run", "-q", *ON, "-o", path, sys.executable, "-c", code)
    # The program chooses its platforms after the import: cltrace must not ask for them before.
    assert (done.status, done.stdout) == (0, "none\n"), done.stderr
    with cltrace.load(path) as trace:
        assert trace.rows("SELECT name FROM v_region") == [("early",)]


def test_what_the_interpreter_destroys_at_its_end_is_told_apart(after: After) -> None:
    with after("kept = buffer(1000)\ndropped = buffer(2000)\ndel dropped\n", *ON) as trace:
        sql = "SELECT size_bytes, fate FROM v_buffer ORDER BY 1"
        assert trace.rows(sql) == [(1000, "at-exit"), (2000, "released")]
        assert trace.rows("SELECT ended_how FROM v_process") == [("exit",)]


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        ("os._exit(0)", "_exit"),
        ("import atexit; atexit._clear() or os._exit(0)", "_exit"),
        ("os.execv(sys.executable, [sys.executable, '-c', 'pass'])", "exec"),
    ],
)
def test_ends_that_c_does_not_see_are_complete(after: After, ending: str, told: str) -> None:
    with after(
        "for _ in range(500): kernel(queue, (1,), None, buffer())\n"
        "queue.finish()\n"
        "try: os.execv('/nothing/here', ['nothing'])\n"
        "except OSError: kernel(queue, (1,), None, buffer()).wait()\n" + ending,
        *ON,
    ) as trace:
        sql = "SELECT count(*), count(start_device_ns) FROM v_command WHERE kind = 'kernel'"
        assert trace.rows(sql)[0][0] == 501
        assert (told,) in trace.rows("SELECT ended_how FROM v_process")


def test_workers_of_a_pool_are_recorded(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pool.cltrace"
    code = (
        "import multiprocessing as mp, numpy as np, pyopencl as cl\n"
        "def work(n):\n"
        "    context = cl.create_some_context(interactive=False)\n"
        "    queue = cl.CommandQueue(context)\n"
        "    program = cl.Program(context, 'kernel void p(global int *a) { a[0] = 1; }').build()\n"
        "    program.p(queue, (1,), None, cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)).wait()\n"
        "    return n\n"
        "if __name__ == '__main__':\n"
        "    with mp.get_context('fork').Pool(2) as pool: print(sum(pool.map(work, range(6))))\n"
    )
    done = run("run", "-q", *ON, "-o", path, sys.executable, "-c", code)
    assert (done.status, done.stdout) == (0, "15\n"), done.stderr
    with cltrace.load(path) as trace:
        assert trace.rows("SELECT count(*) FROM v_launch WHERE kernel = 'p'") == [(6,)]


def test_hooks_record_where_the_environment_lacks_the_layer(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "hooks.cltrace"
    code = (
        "import os\n"
        "os.environ.pop('OPENCL_LAYERS', None)\n"
        "import pyopencl as cl\n"
        "context = cl.create_some_context(interactive=False)\n"
        "queue = cl.CommandQueue(context)\n"
        "cl.enqueue_marker(queue).wait()\n"
    )
    done = run("run", "-q", "-o", path, sys.executable, "-c", code)
    assert done.status == 0, done.stderr
    with cltrace.load(path) as trace:
        assert trace.rows("SELECT count(*) FROM v_command WHERE kind = 'marker'") == [(1,)]


def test_a_library_is_chosen_only_where_the_recording_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "layer.so"
    monkeypatch.setenv("OPENCL_LAYERS", f"/other.so:{library}")
    assert find_recording_library(tmp_path) is None
    write_layer_settings(tmp_path, Settings(), 0, library=library, record_python=False)
    assert find_recording_library(tmp_path) is None
    write_layer_settings(tmp_path, Settings(), 0, library=library, record_python=True)
    assert find_recording_library(tmp_path) == library
    monkeypatch.setenv("OPENCL_LAYERS", "/other.so")
    assert find_recording_library(tmp_path) is None
