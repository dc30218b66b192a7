"""Commands that follow a removed wait on a processor: prompt, and as short as the kernel's shortest."""

import numpy as np

from cltrace.timeline.advice.warm_cores import at_best
from cltrace.timeline.dependencies import find_dependencies
from cltrace.timeline.replay import Change, Replay, build_run_graph, find_host_events
from tests.activities import Call, Run, activity

US = 1000
STEPS = 20


def replay_of_waits(durations_us: list[int]) -> Replay:
    """Launches that are awaited one by one, 30 µs after the call each."""
    runs, calls, begin = [], [], 0
    for duration in durations_us:
        start = begin + 30
        runs.append(Run(begin * US, start * US, (start + duration) * US))
        calls.append(Call((begin + 2) * US, (start + duration + 5) * US, queue=1))
        begin = start + duration + 10
    made = activity(runs, calls)
    dependencies = find_dependencies(made)
    events = find_host_events(made, dependencies, np.empty(0, np.int64))
    return Replay(build_run_graph(made, dependencies, events))


def test_launches_after_freed_waits_are_as_short_as_the_shortest() -> None:
    replay = replay_of_waits([100, 60] * (STEPS // 2))
    change = at_best(replay.graph, Change(removed_calls=np.arange(STEPS - 1)))
    # The first launch follows no wait.
    assert change.scaled.tolist() == change.prompt.tolist() == list(range(1, STEPS))
    assert np.allclose(change.scales, [1.0, 0.6] * (STEPS // 2 - 1) + [1.0])


def test_launches_of_one_duration_stay_as_they_are() -> None:
    replay = replay_of_waits([80] * STEPS)
    change = at_best(replay.graph, Change(removed_calls=np.arange(STEPS)))
    assert (change.scales == 1.0).all()
    assert len(change.scaled) == STEPS - 1  # nothing follows the last wait


def test_no_freed_wait_changes_nothing() -> None:
    replay = replay_of_waits([100, 60] * (STEPS // 2))
    change = at_best(replay.graph, Change(removed=np.arange(3)))
    assert not len(change.scaled)
    assert not len(change.prompt)
