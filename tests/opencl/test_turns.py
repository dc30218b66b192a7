"""Advice that devices take turns: where nothing orders them, and not where something does."""

import os

import pytest

from cltrace.timeline.analysis import Analysis
from tests.opencl.after import After

pytestmark = [
    pytest.mark.opencl,
    pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="sub-devices need two cores"),
]

TWO_DEVICES = """
kinds = cl.device_partition_property
counts = [kinds.BY_COUNTS, 1, 1, kinds.BY_COUNTS_LIST_END]
parts = context.devices[0].create_sub_devices(counts)
context = cl.Context(parts)
queues = [cl.CommandQueue(context, part) for part in parts]
program = cl.Program(context, '''
kernel void spin(global float *x, global const float *table, int rounds) {
    float value = x[get_global_id(0)];
    for (int i = 0; i < rounds; i++) value = value * 1.0001f + table[0];
    x[get_global_id(0)] = value;
}''').build()
spins = [cl.Kernel(program, "spin") for _ in parts]
own = [buffer(4096) for _ in parts]
tables = [cl.Buffer(context, flags.READ_ONLY, 4096) for _ in parts]
host = [np.zeros(1024, np.float32) for _ in parts]
def run(n, memory=None, table=None, wait_for=None):
    arguments = memory or own[n], table or tables[n], np.int32(20000)
    return spins[n](queues[n], (1024,), None, *arguments, wait_for=wait_for)
"""

UNORDERED = {
    "waits for each queue": """
for _ in range(12):
    run(0); queues[0].finish()
    run(1); queues[1].finish()
""",
    "waits for each event": """
for _ in range(12):
    run(0).wait()
    run(1).wait()
""",
    "reads results of each": """
for _ in range(12):
    run(0); cl.enqueue_copy(queues[0], host[0], own[0])
    run(1); cl.enqueue_copy(queues[1], host[1], own[1])
""",
    "shares a table that kernels only read": """
for _ in range(12):
    run(0, table=tables[0]).wait()
    run(1, table=tables[0]).wait()
""",
}

ORDERED = {
    "the same memory": """
for _ in range(12):
    run(0, own[0]).wait()
    run(1, own[0]).wait()
""",
    "events": """
last = []
for _ in range(12):
    last = [run(0, wait_for=last)]; queues[0].flush(); last = [run(1, wait_for=last)]; queues[1].flush()
    last[0].wait()
""",
    "results through the host": """
for _ in range(12):
    run(0); cl.enqueue_copy(queues[0], host[0], own[0])
    cl.enqueue_copy(queues[1], own[1], host[0]); run(1)
    cl.enqueue_copy(queues[1], host[0], own[1]); cl.enqueue_copy(queues[0], own[0], host[0])
""",
    "steps of both": """
for _ in range(12):
    run(0); run(1)
    for each in queues: each.flush()
    for each in queues: each.finish()
""",
    "an array of the host": """
for _ in range(12):
    cl.enqueue_copy(queues[0], host[0], own[0]); cl.enqueue_copy(queues[1], own[1], host[0])
""",
}


def count_turns(after: After, code: str) -> int:
    with after(TWO_DEVICES + code) as trace:
        return sum(
            advice.times for advice in Analysis(trace).advice if advice.rule == "devices-in-turns"
        )


@pytest.mark.parametrize("what", UNORDERED)
def test_devices_that_nothing_orders_are_reported(what: str, after: After) -> None:
    assert count_turns(after, UNORDERED[what]) >= 20


@pytest.mark.parametrize("what", ORDERED)
def test_devices_that_something_orders_are_not(what: str, after: After) -> None:
    assert count_turns(after, ORDERED[what]) == 0
