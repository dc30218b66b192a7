"""Every rule of advice, with a program that it is for and one, nearly the same, that it is not for."""

from dataclasses import replace

import pytest

from cltrace.timeline.advice import RULES, Finding, advise
from cltrace.timeline.advice.evidence import read_evidence
from cltrace.timeline.dependencies import find_dependencies
from cltrace.timeline.reading import read_activity
from tests.opencl.after import After

pytestmark = pytest.mark.opencl

SPIN = """
spin = cl.Program(context, '''
kernel void spin(global float *x, int rounds) {
    float value = x[get_global_id(0)];
    for (int i = 0; i < rounds; i++) value = value * 1.0001f + 0.5f;
    x[get_global_id(0)] = value;
}''').build().spin
work = buffer(1 << 16)
def run(rounds=20000, items=1024, local=None, on=None):
    return spin(on or queue, (items,), local, work, np.int32(rounds))
run(1).wait()
"""

_MORE_RUNS = 4
PROGRAMS = {
    "blocking-write": (
        """
host = np.zeros(2048, np.float32)
for _ in range(20):
    cl.enqueue_copy(queue, work, host); run()
queue.finish()
""",
        """
host = np.zeros(2048, np.float32)
for _ in range(20):
    cl.enqueue_copy(queue, work, host, is_blocking=False); run()
queue.finish()
""",
    ),
    "redundant-wait": (
        "for _ in range(20):\n    run().wait(); queue.finish()\n",
        "for _ in range(20):\n    run(); queue.finish()\n",
    ),
    "unneeded-wait": (
        "for _ in range(20):\n    run(); queue.finish()\n",
        """
host = np.zeros(1024, np.float32)
for _ in range(20):
    run(); cl.enqueue_copy(queue, host, work, is_blocking=False); queue.finish()
""",
    ),
    "launch-bound": (
        "for _ in range(200):\n    run(1); sum(range(3000))\nqueue.finish()\n",
        "for _ in range(200):\n    run(20000)\nqueue.finish()\n",
    ),
    "host-gap": (
        "import time\nfor _ in range(20):\n    run(100); time.sleep(0.01)\nqueue.finish()\n",
        "for _ in range(20):\n    run(20000)\nqueue.finish()\n",
    ),
    "serial-queue": (
        """
other = buffer(1 << 16)
for _ in range(10):
    run(20000, 64, (64,)); spin(queue, (64,), (64,), other, np.int32(20000))
queue.finish()
""",
        "for _ in range(20):\n    run(20000, 64, (64,))\nqueue.finish()\n",
    ),
    "unoverlapped-transfers": (
        """
large = np.zeros(1 << 24, np.float32); there = buffer(large.nbytes)
timed = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
def took(call):
    event = call(); event.wait(); return event.profile.end - event.profile.start
rounds, copy = 100, min(took(lambda: cl.enqueue_copy(timed, there, large)) for _ in range(3))
while min(took(lambda: run(rounds, 16384, None, timed)) for _ in range(3)) < copy: rounds *= 2
for _ in range(30):
    cl.enqueue_copy(queue, there, large, is_blocking=False); run(rounds, 16384)
queue.finish()
""",
        """
for _ in range(12):
    run(200)
queue.finish()
""",
    ),
    "redundant-transfer": (
        """
host = np.zeros(1 << 12, np.float32); there = buffer(host.nbytes)
for _ in range(20):
    cl.enqueue_copy(queue, host, there)
""",
        """
host = np.zeros(1 << 12, np.float32)
for _ in range(20):
    run(10); cl.enqueue_copy(queue, host, work)
""",
    ),
    "dropped-event": (
        """
large = np.zeros(1 << 22, np.float32); there = buffer(large.nbytes)
for _ in range(12):
    cl.enqueue_copy(queue, there, large, is_blocking=False); sum(range(50000))
    spin(queue, (1024,), None, there, np.int32(10))
queue.finish()
""",
        """
large = np.zeros(1 << 22, np.float32); there = buffer(large.nbytes); events = []
for _ in range(12):
    events.append(cl.enqueue_copy(queue, there, large, is_blocking=False)); sum(range(50000))
queue.finish()
""",
    ),
    "frequent-reads": (
        """
error = np.zeros(1, np.float32)
for _ in range(48):
    run(2000); cl.enqueue_copy(queue, error, work)
""",
        """
error = np.zeros(1, np.float32)
for step in range(48):
    run(2000)
    if step % 8 == 0: cl.enqueue_copy(queue, error, work)
queue.finish()
""",
    ),
    "tiny-transfers": (
        """
host = np.zeros(4, np.float32)
for at in range(64):
    cl.enqueue_copy(queue, work, host, dst_offset=16 * at, is_blocking=False)
queue.finish()
""",
        """
host = np.zeros(1 << 12, np.float32)
for _ in range(64):
    cl.enqueue_copy(queue, work, host, is_blocking=False); run(10)
queue.finish()
""",
    ),
    "pageable-copy": (
        """
host = np.zeros(1 << 20, np.float32); there = [buffer(host.nbytes) for _ in range(10)]
for one in there:
    cl.enqueue_copy(queue, one, host)
""",
        """
host = np.zeros(1 << 20, np.float32)
there = cl.Buffer(context, flags.READ_WRITE | flags.ALLOC_HOST_PTR, host.nbytes)
for _ in range(10):
    mapped, _ = cl.enqueue_map_buffer(queue, there, cl.map_flags.WRITE, 0, host.shape, host.dtype)
    mapped[:] = host
    mapped.base.release()
queue.finish()
""",
    ),
    "rebuilt-program": (
        "for _ in range(3):\n    cl.Program(context, source).build()\n",
        "for n in range(3):\n    cl.Program(context, source).build(options=[f'-DN={n}'])\n",
    ),
    "wasted-lanes": (
        "for _ in range(4):\n    run(100, 1000, (5,))\nqueue.finish()\n",
        "for _ in range(4):\n    run(100, 16384, (64,))\nqueue.finish()\n",
    ),
    "leak": (
        """
import ctypes
kept = [buffer(1 << 20) for _ in range(3)]
for one in kept: ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
del one, kept
""",
        "kept = [buffer(1 << 20) for _ in range(3)]\ndel kept\n",
    ),
    "deprecated-call": (
        "run(); cl._cl._enqueue_marker(queue)\nqueue.finish()\n",
        "cl.enqueue_marker(queue, wait_for=[run()])\nqueue.finish()\n",
    ),
}


def findings_of(after: After, code: str) -> tuple[Finding, ...]:
    """The findings of a program."""
    with after(SPIN + code) as trace:
        activity = read_activity(trace)
        evidence = read_evidence(trace, activity, find_dependencies(activity))
    # On a CPU some things are as they should be.
    devices = {number: replace(one, kind="GPU") for number, one in evidence.devices.items()}
    found = advise(replace(evidence, devices=devices))
    for one in found.findings:
        assert one.times > 0
        assert one.proposal.remedy.text
        assert all(metric.value >= 0 for metric in one.proposal.metrics)
        if one.gain is not None:
            assert 0 <= one.gain.low_ns <= one.gain.expected_ns <= one.gain.high_ns
            assert one.gain.high_ns <= found.span_ns
    return found.findings


def rules_of(after: After, code: str) -> dict[str, str]:
    """The rules that speak about a program, each with the first place it names."""
    return {one.rule: one.site for one in reversed(findings_of(after, code))}


def test_pageable_memory_is_one_cause_at_all_places(after: After) -> None:
    code = """
host = np.zeros(1 << 20, np.float32); there = buffer(host.nbytes)
for _ in range(20):
    host += 1; cl.enqueue_copy(queue, there, host)
    spin(queue, (1024,), None, there, np.int32(10))
    cl.enqueue_copy(queue, host, there)
"""
    (copies,) = [one for one in findings_of(after, code) if one.rule == "pageable-copy"]
    assert copies.times == 40
    (other,) = copies.other_places
    assert {copies.site, other.site} == {"<string>:25", "<string>:27"}


@pytest.mark.parametrize("rule", PROGRAMS)
def test_a_rule_speaks_where_it_should(rule: str, after: After) -> None:
    sites = rules_of(after, PROGRAMS[rule][0])
    for _ in range(_MORE_RUNS):  # on a busy machine the host may be what a run waits for
        if rule not in sites:
            sites = rules_of(after, PROGRAMS[rule][0])
    assert rule in sites
    assert sites[rule].startswith("<string>:")


SOUND = {
    "waits for each of several reads": """
host = [np.zeros(1024, np.float32) for _ in range(10)]
for _ in range(4):
    run()
    reads = [cl.enqueue_copy(queue, one, work, src_offset=4096 * at, is_blocking=False)
             for at, one in enumerate(host)]
    for one in reads: one.wait(); host[0].sum()
run().wait()
""",
    "waits before it writes to an array again": """
host = np.zeros(2048, np.float32)
for n in range(20):
    host[:] = n; cl.enqueue_copy(queue, work, host, is_blocking=False).wait(); run(10)
queue.finish()
""",
    "waits for user events": """
for _ in range(12):
    gate = cl.UserEvent(context)
    timer = threading.Timer(0.01, gate.set_status, [cl.command_execution_status.COMPLETE])
    timer.start(); cl.wait_for_events([gate]); timer.join()
    run(10)
queue.finish()
""",
    "finishes in two threads": """
def finish():
    for _ in range(12): run(); queue.finish()
threads = [threading.Thread(target=finish) for _ in range(2)]
for one in threads: one.start()
for one in threads: one.join()
run().wait()
""",
    "reads the tiles of an image": """
form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
image = cl.Image(context, flags.READ_WRITE, form, shape=(64, 64))
tile = np.zeros((16, 16, 4), np.float32)
for n in range(16):
    cl.enqueue_copy(queue, tile, image, origin=(16 * (n % 4), 16 * (n // 4)), region=(16, 16))
""",
    "works on the host between frames": """
host = np.zeros(1024, np.float32)
for _ in range(80):
    run(10); cl.enqueue_copy(queue, host, work); time.sleep(0.005)
""",
}
MISLEADING = {"unneeded-wait", "redundant-wait", "redundant-transfer", "launch-bound"}


@pytest.mark.parametrize("what", SOUND)
def test_a_sound_program_is_not_misled(what: str, after: After) -> None:
    found = rules_of(after, SOUND[what])
    if what == "finishes in two threads":
        found.pop("unneeded-wait", None)
    assert not MISLEADING & set(found)


@pytest.mark.parametrize("rule", PROGRAMS)
def test_a_rule_is_silent_where_it_should_be(rule: str, after: After) -> None:
    assert rule not in rules_of(after, PROGRAMS[rule][1])


def test_every_rule_is_tried() -> None:
    # Others have tests of their own: `test_turns.py`, `test_memory_moves.py`, `test_crowded_queues.py`.
    assert len(RULES) == len(PROGRAMS) + 3, "programs of other rules"
