"""Events inside launches, recorded by a device: the same as the executor's, with the program unharmed."""

import json
import sys
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

import cltrace
from cltrace.intercept.hooks import launch_contents
from cltrace.intercept.objects.arguments import freeze
from cltrace.intercept.sink import Sink
from cltrace.kernels import Argument, BufferArgument, LocalArgument, parse
from cltrace.kernels.events.capture import EventLimits, record_events
from cltrace.kernels.events.device_launch import DeviceLaunch
from cltrace.kernels.events.recording_request import EventSelection, KernelLaunch
from cltrace.kernels.events.records import LaunchEvents
from cltrace.runs.device_events import record_on_device
from cltrace.spool.writer import SpoolWriter
from tests.conftest import Runner
from tests.kernels.cases import Case
from tests.kernels.catalogue import CASES
from tests.kernels.device_launches import device_launch, event_differences, executor_events
from tests.kernels.inside import inside_program
from tests.kernels.launches import contents_of
from tests.unit.test_annotations import VECTORS

pytestmark = pytest.mark.opencl

DATA = Path(__file__).parents[1] / "data"
DEVICE = "Portable"
ALL = 1 << 40
ORDERED_BY_TURNS = {
    "float_sum_by_swap",  # each retries until nobody came between
    "spin_lock",
    "bfs_step",  # who comes first enters a node
    "string_match",  # places by turns of an atomic counter
    "reduce_two_stage",  # the last work-group goes on
    "compact_any_order",
    "compact_in_groups",
    "radix_scatter",
}
"""Cases whose events depend on the order in which work-items come to an atomic operation."""
DETERMINATE = [
    case
    for case in CASES
    if "pocl" not in case.unsupported_by and case.name not in ORDERED_BY_TURNS
]
SAMPLE = DETERMINATE[::4]


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_a_device_records_what_the_executor_records(case: Case) -> None:
    launch = device_launch(case)
    log = record_on_device(launch, DEVICE, ALL)
    assert list(event_differences(executor_events(case), launch.events(log, ALL))) == []
    if case.has_reference and not case.pocl_wrong:
        assert case.disagreement(contents_of(case, log.outputs)) == ""


def test_an_h200_recorded_what_the_executor_records() -> None:
    recorded = json.loads((DATA / "h200-inside.json").read_text(encoding="utf-8"))
    verdicts = {verdict["case"]: verdict for verdict in recorded["verdicts"]}
    assert set(verdicts) == {case.name for case in CASES}
    different = {name for name, verdict in verdicts.items() if "differences" in verdict}
    assert different <= {*ORDERED_BY_TURNS, "c11_atomics"}
    assert {name for name, verdict in verdicts.items() if "refusal" in verdict} == {
        "uneven_groups",
        "sub_groups",
    }
    # The instrumented kernel leaves in its buffers what the kernel itself does.
    by_turns = {"every_global_atomic", "linked_lists"}
    assert {name for name, verdict in verdicts.items() if "other_buffers" in verdict} <= (
        different | by_turns
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", DETERMINATE, ids=lambda case: case.name)
def test_a_device_records_the_whole_corpus_so(case: Case) -> None:
    launch = device_launch(case)
    events = launch.events(record_on_device(launch, DEVICE, ALL), ALL)
    assert list(event_differences(executor_events(case), events)) == []


CONDITIONS = """
#define NEXT(i) (i++)
#define BOTH(a, b) ((a) && (b))
int changes(__global int *calls, int i) { calls[i] += 1; return calls[i] & 1; }
__kernel void conditions(__global const int *x, __global int *y, __global int *calls, int n)
{
    const int i = get_global_id(0);
    int k = 0, sum = 0;
    while (NEXT(k) < (x[i] & 7))
        if (BOTH(k % 2, changes(calls, i)) || x[(i + k) % n] > 50)
            sum += x[k];
    do { sum -= k; if (sum < -40) goto out; } while (--k > 0);
    for (int j = 0; ; ++j) { if (!(j < 3 && sum > 0)) break; sum -= x[j] ? j : x[i]; }
    switch (sum & 7) {
    case 0: y[i] += 2; break;
    case 1: case 2: y[i] -= 1;
    case 3: sum++;
    default: y[i] ^= k;
    case 6: break;
    }
out:
    if (x[i] == 13) return;
    const int4 v = vload4(0, x + (i & ~3)) > (int4)(20, 40, 60, 80);
    y[i] += any(v) ? v.x + v.y : sum;
}
"""


def test_conditions_are_evaluated_once_and_told_as_written() -> None:
    numbers = (np.arange(256, dtype=np.int32) * 7919) % 101
    arguments: list[Argument] = [
        BufferArgument(1024, numbers),
        BufferArgument(1024, np.arange(256, dtype=np.int32)),
        BufferArgument(1024, np.zeros(256, np.int32)),
        256,
    ]
    launch = (
        parse(CONDITIONS),
        "conditions",
        (256,),
        (64,),
        arguments,
    )
    device = DeviceLaunch(KernelLaunch(*launch))
    log = record_on_device(device, DEVICE, ALL)
    expected = record_events(KernelLaunch(*launch), limits=EventLimits(max_events=ALL))
    assert list(event_differences(expected, device.events(log, ALL))) == []
    assert len(np.unique(expected.items.stream)) > 40
    assert log.outputs[2].view(np.int32).sum() > 256, "the calls in conditions have their effect"


def test_values_are_those_of_the_executor() -> None:
    source = (
        "__kernel void values(__global const int *x) { const int i = get_global_id(0);\n"
        "    for (int k = 0; k < 3; ++k) {\n"
        "        const char c = x[i] * (k - 1); //@emit char low = c\n"
        "        //@emit float half_of[i] = x[i] / 2.0f\n"
        "        //@emit ulong wide = (ulong)-1 - i\n"
        "    } }\n"
    )
    contents = np.arange(100, 164, dtype=np.int32)
    launch = (parse(source), "values", (64,), (32,), [BufferArgument(256, contents)])
    device = DeviceLaunch(KernelLaunch(*launch))
    events = device.events(record_on_device(device, DEVICE, ALL), ALL)
    expected = record_events(KernelLaunch(*launch))
    assert value_rows(events) == value_rows(expected)
    assert len(value_rows(events)) > 64 * 6


def value_rows(recorded: LaunchEvents) -> set[tuple[object, ...]]:
    values = recorded.values
    columns = (values.row, values.emission, values.index, values.value)
    return set(zip(*(column.tolist() for column in columns), strict=True))


COMPONENTS = """
__kernel void components(__global float4 *x, __global uchar3 *y, __local short8 *t)
{
    const int i = get_global_id(0), l = get_local_id(0);
    x[i].y += 2; x[i].zx = x[i].xy; x[i][i % 4] *= 3;
    if (l % 2) y[i / 2].x = i; else y[i / 2].zy = (uchar2)(i, 7);
    t[l].s5 = i; t[l].odd.x = 3; t[l].hi = 1;
    x[i].w = t[l].s1 + t[l].s7;
}
"""


def test_components_that_a_device_stores_are_those_of_the_executor() -> None:
    arguments: list[Argument] = [
        BufferArgument(1024, np.arange(256, dtype=np.float32)),
        BufferArgument(128, np.zeros(128, np.uint8)),
        LocalArgument(512),
    ]
    launch = (parse(COMPONENTS), "components", (64,), (32,), arguments)
    device = DeviceLaunch(KernelLaunch(*launch))
    log = record_on_device(device, DEVICE, ALL)
    assert (
        list(event_differences(record_events(KernelLaunch(*launch)), device.events(log, ALL))) == []
    )
    x = np.arange(256, dtype=np.float32).reshape(64, 4)
    x[:, 1] += 2
    x[:, [2, 0]] = x[:, [0, 1]]
    x[np.arange(64), np.arange(64) % 4] *= 3
    x[:, 3] = 4
    assert np.array_equal(log.outputs[0].view(np.float32).reshape(64, 4), x)
    y = log.outputs[1].reshape(32, 4)
    assert y[:, :3].tolist() == [[2 * i + 1, 7, 2 * i] for i in range(32)]


def test_components_of_vectors_are_recorded() -> None:
    source = VECTORS.replace("half *x", "ushort *bits").replace("x[i]", "0.0f")
    source = source.replace("vload_half(i, x)", "0.25f * i").replace("half8", "float8")
    source = source.replace("#pragma OPENCL EXTENSION cl_khr_fp16 : enable", "")
    arguments: list[Argument] = [BufferArgument(8)]
    launch = DeviceLaunch(KernelLaunch(parse(source), "vectors", (4,), (4,), arguments))
    events = launch.events(record_on_device(launch, DEVICE, ALL), ALL)
    expected = record_events(KernelLaunch(parse(source), "vectors", (4,), (4,), arguments))
    assert value_rows(events) == value_rows(expected)
    assert len(value_rows(events)) == 4 * (4 + 3 + 8 + 1 + 2)


PROGRAM = """
import hashlib
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, '''
__kernel void fill(__global int *x) { const int i = get_global_id(0); x[i] = (i * 7919) % 101; }
__kernel void walk(__global const int *x, __global int *y, __local int *t, int n)
{
    const int i = get_global_id(0), l = get_local_id(0);
    t[l] = x[i] + y[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    int k = 0;
    while (k++ < (t[l] & 7)) y[i] += t[(l + k) % 64] > 50 ? n : 1;
}''').build()
flags = cl.mem_flags.READ_WRITE
x = cl.Buffer(context, flags, 4096)
y = cl.Buffer(context, flags | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.arange(1024, dtype=np.int32))
program.fill(queue, (1024,), None, x)
kernel = program.walk
for n in range(2):
    kernel(queue, (1024,), (64,), x, y, cl.LocalMemory(256), np.int32(n))
kernel.set_args(x, y, cl.LocalMemory(256), np.int32(5))
cl.enqueue_nd_range_kernel(queue, kernel, (1024,), (64,))
out = np.empty(1024, np.int32)
cl.enqueue_copy(queue, out, y)
print(hashlib.sha256(out.tobytes()).hexdigest())
"""


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_launch_of_a_program_is_recorded_and_the_program_is_left_alone(
    run: Runner, tmp_path: Path, number: int
) -> None:
    plain = run("-c", PROGRAM, command=[sys.executable])
    done = run("run", "--inside", f"wal*:{number}", "-q", "-o", "t.cltrace", "-c", PROGRAM)
    assert (done.status, done.stdout, done.stderr) == (plain.status, plain.stdout, plain.stderr)
    # What the launch finds in its buffers: the executor has the same events for these.
    again = run("kernel", "t.cltrace", "--kernel", "walk", "--events", "again.events")
    assert again.status == 0, again.stderr
    columns = ["item", "epoch", "line", "kind", "memory", "offset_bytes"]
    texts = []
    for name in ("t.events", "again.events"):
        with cltrace.load(tmp_path / name) as events:
            assert len(events["branches"]) == 1024
            accesses = events["accesses"][columns].sort_values(columns)
            texts.append((events["branches"].stream.tolist(), accesses.to_csv(index=False)))
    assert texts[0] == texts[1]


def test_commands_that_end_only_if_the_program_goes_on_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(launch_contents, "_PATIENCE_S", 0.05)
    context = cl.create_some_context(interactive=False)
    queue, later = cl.CommandQueue(context), cl.UserEvent(context)
    notes: list[str] = []
    watch = launch_contents.LaunchContents(
        Sink(), SpoolWriter(tmp_path), {}, lambda: 0, notes.append, "k", 1, lambda _: 0
    )
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
    cl.enqueue_fill_buffer(queue, buffer, np.array(7, np.int32), 0, 64, wait_for=[later])
    watch.launching("k", queue, [freeze(buffer)], None)
    later.set_status(cl.command_execution_status.COMPLETE)
    queue.finish()
    assert notes == [
        "the buffers of k are not captured: commands before it had not ended after 0.05 s"
    ]


SHARED = """
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, '''
__kernel void halve(__global const int *x, __global int *y)
{ const int i = get_global_id(0); if (x[i] > 9) y[i] = x[i] / 2; else y[i] += 1; }''').build()
flags = cl.svm_mem_flags.READ_WRITE
x, y = (cl.SVMAllocation(context, 256, 64, flags, queue=queue) for _ in range(2))
cl.enqueue_copy(queue, x, np.arange(64, dtype=np.int32) % 20)
cl.enqueue_copy(queue, y, np.zeros(64, np.int32))
kernel = program.halve
FORM
out = np.empty(64, np.int32)
cl.enqueue_copy(queue, out, y)
print(out.tolist())
"""


@pytest.mark.parametrize(
    "form",
    [
        "kernel(queue, (64,), (32,), x, y)",
        "kernel.set_args(x, y); cl.enqueue_nd_range_kernel(queue, kernel, (64,), (32,))",
    ],
)
def test_shared_virtual_memory_of_a_launch_is_captured(
    run: Runner, tmp_path: Path, form: str
) -> None:
    program = SHARED.replace("FORM", form)
    plain = run("-c", program, command=[sys.executable])
    done = run("run", "--inside", "halve", "-q", "-o", "t.cltrace", "-c", program)
    assert (done.status, done.stdout, done.stderr) == (plain.status, plain.stdout, plain.stderr)
    with cltrace.load(tmp_path / "t.events") as events:
        assert events["branches"].stream.tolist() == [str(int(i % 20 > 9)) for i in range(64)]


def test_shared_virtual_memory_within_an_allocation_is_refused(run: Runner, tmp_path: Path) -> None:
    form = "kernel(queue, (32,), (32,), x, cl.SVM(np.frombuffer(memory, np.int32)[4:]))"
    program = SHARED.replace("FORM", "memory = bytearray(512); " + form)
    done = run("run", "--inside", "halve", "--no-summary", "-o", "t.cltrace", "-c", program)
    assert (
        "--inside: the buffers of halve are not captured: it gets shared virtual memory that begins "
        "within an allocation"
    ) in done.stderr
    assert not (tmp_path / "t.events").exists()


def test_a_launch_that_never_comes_is_told(run: Runner, tmp_path: Path) -> None:
    done = run("run", "--inside", "walk:4", "--no-summary", "-o", "t.cltrace", "-c", PROGRAM)
    assert done.status == 0
    assert "--inside: launch 4 of walk was not seen" in done.stderr
    assert not (tmp_path / "t.events").exists()


@pytest.mark.parametrize("flags", [["--no-source"], ["--no-args"], ["--capture-buffers", "4"]])
def test_what_inside_needs_cannot_be_left_out(run: Runner, flags: list[str]) -> None:
    done = run("run", "--inside", "walk", *flags, "-c", "print('ran')")
    assert (done.status, done.stdout) == (125, "")
    assert f"--inside cannot be combined with {flags[0]}" in done.stderr


def test_a_device_that_is_not_there_is_told(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text("__kernel void k(__global int *x) { x[0] = 1; }\n")
    sizes = ["--global-size", "64", "--local-size", "64"]
    done = run("kernel", "k.cl", *sizes, "--events", "k.events", "--device", "no such device")
    assert done.status != 0
    assert "no device is called 'no such device'" in done.stderr
    assert "Traceback" not in done.stderr


def test_watched_memory_is_recorded_and_must_be_there() -> None:
    contents = np.zeros(64, np.float32)
    arguments = [BufferArgument(256, contents), BufferArgument(256)]
    launch = DeviceLaunch(
        KernelLaunch(inside_program(), "in_order", (64,), (64,), arguments),
        EventSelection(watched=["y"]),
    )
    events = launch.events(record_on_device(launch, DEVICE, ALL), ALL)
    assert {events.memories[memory].name for memory in events.accesses.memory} == {"y"}
    with pytest.raises(ValueError, match="accesses no z; it accesses x, y"):
        DeviceLaunch(
            KernelLaunch(inside_program(), "in_order", (64,), (64,), arguments),
            EventSelection(watched=["z"]),
        )


def test_a_report_names_the_device(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(
        "__kernel void k(__global int *x) { x[get_global_id(0)] = 1; }\n"
    )
    sizes = ["--global-size", "64", "--local-size", "64"]
    words = ["kernel", "k.cl", *sizes, "--events", "k.events", "--format", "json"]
    done = run(*words, "--device", DEVICE)
    assert "executed on" in run(*words[:-2], "--device", DEVICE).stdout
    facts = json.loads(done.stdout)
    assert facts["facts"]["device"]
