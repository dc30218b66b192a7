"""The critical path goes over both devices, also where the driver waits in the calls that enqueue."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import cltrace
from cltrace.timeline.activity import Activity
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.critical_path import StepKind, find_critical_path
from cltrace.timeline.dependencies import find_dependencies
from tests.activities import Call, Run, activity
from tests.recorded_pairs import unpack_pair

MS = 1_000_000


def queued_at(made: Activity, **queued_ns: int) -> Activity:
    """The activity with commands that were queued late in their calls, by position."""
    commands = made.commands
    queued, returned = commands.queued_ns.copy(), commands.return_ns.copy()
    for name, time_ns in queued_ns.items():
        at = int(name.removeprefix("at"))
        queued[at], returned[at] = time_ns, time_ns + 10
    return replace(made, commands=replace(commands, queued_ns=queued, return_ns=returned))


def path_of(made: Activity) -> list[tuple[StepKind, int, int]]:
    steps = find_critical_path(made, find_dependencies(made))
    return [(step.kind, step.command, step.duration_ns) for step in steps]


def test_a_call_that_waits_before_it_queues_continues_the_path() -> None:
    # The second call waits for the first command until 10 ms, and moves memory for 3 ms.
    made = activity(
        [
            Run(0, 1 * MS, 10 * MS),
            Run(2 * MS, 13 * MS + 5, 20 * MS, queue=2, device=2, waits_for=(0,)),
        ],
        [Call(14 * MS, 20 * MS, queue=2)],
    )
    late = queued_at(made, at1=13 * MS)
    device = [step for step in path_of(late) if step[0] is StepKind.DEVICE]
    assert device == [(StepKind.DEVICE, 0, 9 * MS), (StepKind.DEVICE, 1, 7 * MS - 5)]
    host = [duration for kind, _, duration in path_of(late) if kind is StepKind.HOST]
    assert host == [3 * MS]


def test_a_call_that_is_long_for_itself_does_not() -> None:
    # The first command had ended before the second call began.
    made = activity(
        [Run(0, 1 * MS, 2 * MS), Run(3 * MS, 13 * MS, 20 * MS, queue=2, device=2, waits_for=(0,))],
        [Call(14 * MS, 20 * MS, queue=2)],
    )
    steps = path_of(queued_at(made, at1=13 * MS))
    assert [command for kind, command, _ in steps if kind is StepKind.DEVICE] == [1]


def test_the_path_of_a_recorded_pipeline_has_the_kernels_of_both_boards(tmp_path: Path) -> None:
    with cltrace.load(unpack_pair("copies", tmp_path)) as trace:
        analysis = Analysis(trace)
        commands = analysis.activity.commands
        on_path = np.array(
            [step.command for step in analysis.critical_path if step.kind is StepKind.DEVICE]
        )
        names = np.array(analysis.activity.names.kernels)[commands.kernel]
        is_chain = (names == "chain")[on_path]
        devices = commands.device[on_path][is_chain]
    # 30 rounds of a kernel on the first board, a copy, and a kernel on the second one.
    assert (devices == 2).sum() == 30
    assert (devices == 1).sum() >= 30
