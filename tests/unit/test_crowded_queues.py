"""Kernels of several queues that are slower at the same time: found, and what turns save."""

import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cltrace.predict.kernel_advice import Counting, advise_on_kernels
from cltrace.timeline.advice.crowded_queues import crowded_queues
from cltrace.timeline.advice.model import (
    AloneShare,
    DeviceLaunch,
    ModelledNeighbours,
    Place,
    Proposal,
)
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.replay import Change, Replay, build_run_graph
from cltrace.trace.reader import Trace
from tests.activities import Call, Run
from tests.evidence import evidence_of

DATA = Path(__file__).parent.parent / "data"
US = 1000
ROUNDS = 10
SHARE = AloneShare(0.2, 0.1, 0.4)


def two_queues(duration_us: int = 100) -> list[Run]:
    """Launches of two queues that run beside each other."""
    return [
        Run(
            at * US,
            (50 + at // 2 * duration_us) * US,
            (50 + (at // 2 + 1) * duration_us) * US,
            launch=1 + at % 2,
            queue=1 + at % 2,
        )
        for at in range(2 * ROUNDS)
    ]


def advice_on(
    runs: list[Run], crowded: Mapping[int, AloneShare]
) -> tuple[list[Proposal], dict[str, float]]:
    """Return the proposals, and the gains of the first one's changes in µs."""
    end = max(run.end or 0 for run in runs)
    calls = [Call(40 * US, end + 5 * US, queue=1), Call(end + 5 * US, end + 6 * US, queue=2)]
    evidence = evidence_of(runs, calls, places={1: Place("app.py:1")})
    evidence = replace(
        evidence,
        neighbours=ModelledNeighbours(
            {}, {DeviceLaunch(1, launch): share for launch, share in crowded.items()}
        ),
    )
    proposals = crowded_queues(evidence)
    graph = build_run_graph(evidence.activity, evidence.dependencies, evidence.events)
    changes: dict[str, Change | None] = {}
    for each in proposals[:1]:
        changes = {"expected": each.change, "least": each.least, "most": each.most}
    gains = {
        name: Replay(graph).gain_ns(change) / US
        for name, change in changes.items()
        if change is not None
    }
    return proposals, gains


def test_turns_save_what_launches_lose() -> None:
    proposals, gains = advice_on(two_queues(), dict.fromkeys((1, 2), SHARE))
    assert [each.rule for each in proposals] == ["crowded-device"]
    assert proposals[0].times == 2 * ROUNDS
    # 20 launches of 20, 40 and 10 µs in turn, instead of 10 pairs of 100 µs.
    assert gains["expected"] == pytest.approx(600, abs=60)
    assert gains["least"] == pytest.approx(200, abs=60)
    assert gains["most"] == pytest.approx(800, abs=60)


def test_launches_that_gain_from_each_other_are_left() -> None:
    assert advice_on(two_queues(), {})[0] == []
    few = two_queues()[:6]
    assert advice_on(few, dict.fromkeys((1, 2), SHARE))[0] == []


def test_launches_in_turn_are_left() -> None:
    runs = [
        Run(at * US, (50 + at * 100) * US, (150 + at * 100) * US, launch=1 + at % 2)
        for at in range(2 * ROUNDS)
    ]
    assert advice_on(runs, dict.fromkeys((1, 2), SHARE))[0] == []


def test_one_queue_out_of_order_is_left() -> None:
    runs = [replace(run, queue=1) for run in two_queues()]
    assert advice_on(runs, dict.fromkeys((1, 2), SHARE))[0] == []


def test_launches_of_another_device_are_left() -> None:
    runs = [replace(run, device=2) for run in two_queues()]
    assert advice_on(runs, dict.fromkeys((1, 2), SHARE))[0] == []


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs in four queues and in one, recorded on an H200."""
    directory = tmp_path_factory.mktemp("pairs")
    with tarfile.open(DATA / "h200-queue-pairs.tar.xz") as archive:
        # Pythons before 3.11.4 have no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(directory)
    return directory


@pytest.mark.parametrize(
    ("name", "queues", "rule"),
    [
        ("gather32", 4, "crowded-device"),
        ("gather16", 4, "crowded-device"),
        ("gather256", 4, "crowded-device"),
        ("add32", 4, ""),
        ("add32", 1, ""),
        ("fractal24", 4, ""),
        ("fractal24", 1, "serial-queue"),
        ("gather24", 4, ""),
        ("gather24", 1, "serial-queue"),
        ("gather32", 1, ""),
    ],
)
def test_on_an_h200_the_measured_gain_lies_within_the_stated(
    recorded: Path, name: str, queues: int, rule: str
) -> None:
    """Both ways: four queues where one is faster, and one where four are."""
    with Trace(recorded / f"{name}-{queues}.cltrace") as trace:
        analysis = Analysis(trace)
        advice = analysis.findings_with(advise_on_kernels(analysis, Counting()))
        measured_ns = span_ns(analysis)
    found = {each.rule: each.gain for each in advice.findings}
    assert {"crowded-device", "serial-queue"} & set(found) == ({rule} if rule else set())
    with Trace(recorded / f"{name}-{5 - queues}.cltrace") as trace:
        saved_ns = measured_ns - span_ns(Analysis(trace))
    if rule:
        gain = found[rule]
        assert gain is not None
        assert gain.low_ns <= saved_ns <= gain.high_ns
    else:
        assert saved_ns < 0.03 * measured_ns


def span_ns(analysis: Analysis) -> int:
    """Return the time from the first kernel's start to the last one's end."""
    commands = analysis.activity.commands
    kernels = np.flatnonzero(commands.is_kind("kernel") & commands.is_placed)
    return int(commands.end_ns[kernels].max() - commands.start_ns[kernels].min())
