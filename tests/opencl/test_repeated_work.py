"""Advice on data that is uploaded again, programs that are built again, and what looks like it."""

import pytest

from cltrace.timeline.advice.evidence import read_evidence
from cltrace.timeline.advice.redundant_transfers import redundant_transfers
from cltrace.timeline.dependencies import find_dependencies
from cltrace.timeline.reading import read_activity
from tests.opencl.after import After
from tests.opencl.test_advice import SPIN, findings_of, rules_of

pytestmark = pytest.mark.opencl

BLEND = """
blend = cl.Program(context, '''
kernel void blend(global const float *a, global float *b) { b[get_global_id(0)] += a[get_global_id(0)]; }
''').build().blend
table = np.linspace(0, 1, 1 << 16, dtype=np.float32); there = buffer(table.nbytes)
"""
UPLOADS = {
    "unchanged": (
        "cl.enqueue_copy(queue, there, table); blend(queue, (1024,), None, there, work)",
        True,
    ),
    "another array with the same data": (
        "cl.enqueue_copy(queue, there, table.copy()); blend(queue, (1024,), None, there, work)",
        True,
    ),
    "changed by the host": (
        "table += 1; cl.enqueue_copy(queue, there, table); blend(queue, (1024,), None, there, work)",
        False,
    ),
    "changed by the host at one place": (
        "table[777] += 1; cl.enqueue_copy(queue, there, table); blend(queue, (1024,), None, there, work)",
        False,
    ),
    "changed by a kernel": (
        "cl.enqueue_copy(queue, there, table); blend(queue, (1024,), None, work, there)",
        False,
    ),
    "replaced in between": (
        "cl.enqueue_copy(queue, there, table); blend(queue, (1024,), None, there, work); "
        "cl.enqueue_copy(queue, there, table[::-1].copy()); blend(queue, (1024,), None, there, work)",
        False,
    ),
    "replaced in part": (
        "cl.enqueue_copy(queue, there, table); blend(queue, (1024,), None, there, work); "
        "cl.enqueue_copy(queue, there, table[:9] + 1); blend(queue, (1024,), None, there, work)",
        False,
    ),
}


@pytest.mark.parametrize("what", UPLOADS)
def test_data_that_are_there_are_uploaded_again(what: str, after: After) -> None:
    step, is_again = UPLOADS[what]
    code = BLEND + f"for _ in range(12):\n    {step}\nqueue.finish()\n"
    with after(SPIN + code) as trace:
        activity = read_activity(trace)
        evidence = read_evidence(trace, activity, find_dependencies(activity))
    # Whether the uploads hold a run up is another question.
    assert bool(redundant_transfers(evidence)) == is_again


REBUILDS = {
    "a number in the source": (
        "for n in range(9):\n"
        "    text = source.replace('2', f'{n}.5f')\n"
        "    cl.Program(context, text).build().twice(queue, (1,), None, work)\n",
        1,
    ),
    "a number in the options": (
        "for n in range(9):\n"
        "    cl.Program(context, source).build(options=[f'-DN={n}']).twice(queue, (1,), None, work)\n",
        1,
    ),
    "variants of a tuner": (
        "for n in range(9):\n"
        "    kernel = cl.Program(context, source).build(options=[f'-DN={n}']).twice\n"
        "    for _ in range(5): kernel(queue, (1,), None, work)\n",
        0,
    ),
    "several programs at one place": (
        "for n in range(9):\n    cl.Program(context, source).build(options=[f'-DN={n % 3}'])\n",
        1,
    ),
}
TWICE = """
source = 'kernel void twice(global float *x) { x[0] *= 2; }'
"""


@pytest.mark.parametrize("what", REBUILDS)
def test_one_place_that_builds_again_is_one_finding(what: str, after: After) -> None:
    code, count = REBUILDS[what]
    found = [one for one in findings_of(after, TWICE + code) if one.rule == "rebuilt-program"]
    assert len(found) == count


def test_results_of_kernels_that_are_built_again_leave_no_host_gap(after: After) -> None:
    code = """
host = np.zeros(1, np.float32)
for _ in range(12):
    kernel = cl.Program(context, source).build().twice
    time.sleep(0.001); kernel(queue, (1,), None, work); cl.enqueue_copy(queue, host, work)
"""
    rules = rules_of(after, TWICE + code)
    assert "rebuilt-program" in rules
    assert "host-gap" not in rules


def test_a_measurement_waits_for_its_command(after: After) -> None:
    code = """
timed = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
for _ in range(20):
    event = run(20000, on=timed); event.wait(); event.profile.end - event.profile.start
timed.finish()
"""
    assert "unneeded-wait" not in rules_of(after, code)
    plain = code.replace("properties=cl.command_queue_properties.PROFILING_ENABLE", "")
    assert "unneeded-wait" in rules_of(
        after, plain.replace("event.profile.end - ", "").replace("event.profile.start", "")
    )
