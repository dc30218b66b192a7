"""Limits of events that a device records: whole work-groups, and parts of too large ones."""

import numpy as np
import pytest

from cltrace.kernels import Argument, BufferArgument, parse
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.device_launch import DeviceLaunch
from cltrace.runs.device_events import record_on_device
from tests.kernels.device_launches import memory_events
from tests.kernels.inside import inside_program

pytestmark = pytest.mark.opencl

DEVICE = "Portable"


def test_whole_work_groups_are_recorded_within_the_limit() -> None:
    contents = np.zeros(1 << 16, np.float32)
    arguments = [BufferArgument(contents.nbytes, contents), BufferArgument(contents.nbytes)]
    launch = DeviceLaunch(inside_program(), "in_order", (1 << 16,), (256,), arguments)
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
    device = DeviceLaunch(*launch)
    whole = record_events(*launch)
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
