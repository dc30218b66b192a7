"""Large copies of pageable memory: remedies by the kind of device and the direction."""

import pytest

from cltrace.timeline.advice import Evidence
from cltrace.timeline.advice.copied_memory import copied_host_memory
from cltrace.timeline.advice.model import DeviceSummary, Place
from tests.activities import Run
from tests.evidence import evidence_of

LARGE_BYTES = 4 << 20
COPIES = 10


def copies(device: str, *kinds: str) -> Evidence:
    runs = [
        Run(
            at * 1000,
            at * 1000 + 10,
            at * 1000 + 500,
            kind=kinds[at % len(kinds)],
            size=LARGE_BYTES,
            site=1 + at % len(kinds),
        )
        for at in range(COPIES * len(kinds))
    ]
    return evidence_of(
        runs,
        devices={1: DeviceSummary("a device", device, 8)},
        places={1: Place("app.py:1"), 2: Place("app.py:2")},
    )


@pytest.mark.parametrize(
    ("kind", "copied", "access"), [("write", "x, a", "WRITE"), ("read", "a, x", "READ")]
)
def test_a_map_replaces_a_copy_of_its_own_direction(kind: str, copied: str, access: str) -> None:
    (proposal,) = copied_host_memory(copies("CPU", kind))
    assert proposal.remedy.before == f"cl.enqueue_copy(queue, {copied})"
    assert f"cl.map_flags.{access}," in proposal.remedy.after


def test_the_directions_have_causes_of_their_own_on_a_processor() -> None:
    written, read = copied_host_memory(copies("CPU", "write", "read"))
    assert written.times == read.times == COPIES
    assert written.cause != read.cause
    assert written.remedy.after != read.remedy.after


def test_a_pinned_array_serves_both_directions() -> None:
    written, read = copied_host_memory(copies("GPU", "write", "read"))
    assert written.cause == read.cause
    assert "READ" in written.remedy.after
    assert "WRITE" in written.remedy.after
