"""Limits of events that a device records: whole work-groups, and parts of too large ones."""

from pathlib import Path

import numpy as np
import pytest

from cltrace.kernels import Argument, BufferArgument, LocalArgument, Program, parse
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.device_launch import DeviceLaunch
from cltrace.kernels.events.files import read_events
from cltrace.kernels.events.recording_request import KernelLaunch
from cltrace.kernels.events.records import LaunchEvents
from cltrace.runs.device_events import record_on_device
from tests.conftest import Runner
from tests.kernels.device_launches import memory_events
from tests.kernels.inside import inside_program

pytestmark = pytest.mark.opencl

DEVICE = "Portable"
Launch = tuple[Program, str, tuple[int, ...], tuple[int, ...], list[Argument]]


def test_whole_work_groups_are_recorded_within_the_limit() -> None:
    contents = np.zeros(1 << 16, np.float32)
    arguments = [BufferArgument(contents.nbytes, contents), BufferArgument(contents.nbytes)]
    launch = DeviceLaunch(KernelLaunch(inside_program(), "in_order", (1 << 16,), (256,), arguments))
    events = launch.events(record_on_device(launch, DEVICE, 10_000), 10_000)
    assert events.recorded_groups == 10_000 // 512
    assert len(events.accesses.row) == 512 * events.recorded_groups
    assert not events.dropped.accesses
    assert events.device


@pytest.mark.parametrize("max_events", [64, 1000, 4000])
def test_of_a_work_group_with_too_many_events_the_first_ones_are_recorded(max_events: int) -> None:
    source = """__kernel void k(__global int *x, int n) { __local int t[64];
        int i = get_global_id(0), s = 0; t[get_local_id(0)] = i;
        while (s++ < n) if (s & i) x[i] += t[get_local_id(0)]; }"""
    arguments: list[Argument] = [BufferArgument(512, np.zeros(128, np.int32)), 30]
    launch = (parse(source), "k", (128,), (64,), arguments)
    device = DeviceLaunch(KernelLaunch(*launch))
    whole = record_events(KernelLaunch(*launch))
    streams = dict(
        zip(whole.items.item.tolist(), whole.streams.texts(whole.items.stream, 99), strict=True)
    )
    log = record_on_device(device, DEVICE, max_events)
    assert len(log.words) <= max(max_events, 64 * 2)
    events = device.events(log, max_events)
    assert events.recorded_groups == 1
    assert events.dropped.accesses > 0
    assert memory_events(events) <= memory_events(whole)
    texts = events.streams.texts(events.items.stream, 99)
    for item, text in zip(events.items.item.tolist(), texts, strict=True):
        assert streams[item].startswith(text)
    assert max_events < 4000 or len(events.accesses.row) > 64 * 10


ENDLESS = """__kernel void k(__global const int *x, __global int *y, __local int *t, int n) {
    const int i = get_global_id(0), l = get_local_id(0);
    int s = 0;
    for (int pass = 0; pass < 3; ++pass) {
        t[l] = x[i] + pass;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (pass == 1 && i == 20)
            while (x[0] < n) s += x[i];
        y[i] += t[(l + 1) % 16];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    LAST
    y[i] += s;
}"""


def endless_launch(limit: int, last: str = "") -> Launch:
    arguments: list[Argument] = [
        BufferArgument(256, np.arange(64, dtype=np.int32)),
        BufferArgument(256, np.zeros(64, np.int32)),
        LocalArgument(64),
        limit,
    ]
    return parse(ENDLESS.replace("LAST", last)), "k", (64,), (16,), arguments


def events_of_items(events: LaunchEvents, items: range) -> list[tuple[object, ...]]:
    return sorted(
        (event for event in memory_events(events).elements() if event[0] in items), key=str
    )


def test_a_work_group_with_an_endless_loop_is_stopped_at_its_next_barrier() -> None:
    device = DeviceLaunch(KernelLaunch(*endless_launch(1)))
    log = record_on_device(device, DEVICE, 1_000_000)
    assert np.flatnonzero(log.is_stopped).tolist() == list(range(16, 32))
    events = device.events(log, 1_000_000)
    assert events.dropped.stopped_items == 16
    whole = record_events(KernelLaunch(*endless_launch(0)))
    for others in (range(16), range(32, 64)):
        assert events_of_items(events, others) == events_of_items(whole, others)
    # The others of its work-group have come to the barrier in their second pass.
    for item in (16, 21, 31):
        passed = {event[1] for event in events_of_items(events, range(item, item + 1))}
        assert passed == {0, 1, 2, 3}


@pytest.mark.parametrize("loop", ["while (x[0] < n) s += x[i];", "if (n) for (;;) ;"])
def test_endless_loops_behind_all_barriers_are_stopped_alone(loop: str) -> None:
    device = DeviceLaunch(KernelLaunch(*endless_launch(1, f"if (i % 16 == 3 && i != 19) {loop}")))
    log = record_on_device(device, DEVICE, 1_000_000)
    assert np.flatnonzero(log.is_stopped).tolist() == [3, *range(16, 32), 35, 51]


def test_a_launch_of_many_endless_work_items_ends() -> None:
    source = """__kernel void k(__global int *x) {
        while (x[get_global_id(0)] < 5) if (x[get_global_id(0)] < 3) x[get_global_id(0)] &= 1; }"""
    launch = DeviceLaunch(
        KernelLaunch(parse(source), "k", (1 << 14,), (64,), [BufferArgument(1 << 16)])
    )
    log = record_on_device(launch, DEVICE, 1000)
    assert log.is_stopped.all()
    assert launch.events(log, 1000).dropped.stopped_items == 64


def test_stopped_work_items_are_told(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(
        "__kernel void k(__global int *x, int n) {\n"
        "    if (get_global_id(0) == 5) while (x[0] < n) ;\n"
        "    x[get_global_id(0)] = 1;\n"
        "}\n"
    )
    sizes = ["--global-size", "64", "--local-size", "16", "--arg", "n=2"]
    done = run("kernel", "k.cl", *sizes, "--events", "k.events", "--device", DEVICE)
    assert done.status == 0, done.stderr
    told = "1 work-items were stopped before their end"
    assert told in " ".join(done.stdout.split())
    assert read_events(tmp_path / "k.events").dropped.stopped_items == 1
    again = run("view", "k.events", "-o", "k.html")
    assert again.status == 0, again.stderr
    assert told in (tmp_path / "k.html").read_text(encoding="utf-8")
