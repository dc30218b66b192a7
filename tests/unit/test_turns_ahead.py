"""Devices that both work while the host waits for each in turn do not take turns."""

from cltrace.timeline.advice.model import Proposal
from cltrace.timeline.advice.turns import devices_in_turns
from tests.activities import Call, Run
from tests.evidence import evidence_of

US = 1000
USED = {1: frozenset({1}), 2: frozenset({2})}


def advice_on(runs: list[Run], calls: list[Call]) -> list[Proposal]:
    return devices_in_turns(evidence_of(runs, calls, used_buffers=USED))


def launch(device: int, enter: int, start: int, end: int) -> Run:
    return Run(enter * US, start * US, end * US, queue=device, device=device, launch=device)


def test_devices_with_work_ahead_do_not_take_turns() -> None:
    runs: list[Run] = []
    calls: list[Call] = []
    for begin in range(200, 2200, 100):
        number = len(runs)
        # Each wait is for the last but one launch; 2 µs of it no other device works.
        runs.append(launch(1, begin - 43, begin + 10, begin + 105))
        runs.append(launch(2, begin + 7, begin + 60, begin + 155))
        calls.append(Call((begin + 58) * US, (begin + 106) * US, waits_for=(number,)))
        calls.append(Call((begin + 108) * US, (begin + 156) * US, waits_for=(number + 1,)))
    assert not advice_on(runs, calls)


def test_devices_that_work_alone_take_turns() -> None:
    runs: list[Run] = []
    calls: list[Call] = []
    for begin in range(200, 2200, 100):
        number = len(runs)
        runs.append(launch(1, begin, begin + 2, begin + 40))
        calls.append(Call((begin + 3) * US, (begin + 41) * US, waits_for=(number,)))
        runs.append(launch(2, begin + 45, begin + 47, begin + 90))
        calls.append(Call((begin + 48) * US, (begin + 91) * US, waits_for=(number + 1,)))
    (advice,) = advice_on(runs, calls)
    assert advice.times == 39
    assert advice.metrics[1].value > 39 * 36 * US
    assert advice.change is not None
    assert len(advice.change.removed_calls) == 39


def test_waits_for_commands_that_had_ended_are_no_turns() -> None:
    runs: list[Run] = []
    calls: list[Call] = []
    for begin in range(200, 2200, 100):
        for device, since in ((1, begin), (2, begin + 50)):
            number = len(runs)
            # The call waits for the first launch, which has ended; the second one is still pending.
            runs.append(launch(device, since, since + 2, since + 10))
            runs.append(launch(device, since + 1, since + 11, since + 40))
            calls.append(Call((since + 20) * US, (since + 21) * US, waits_for=(number,)))
    assert not advice_on(runs, calls)
