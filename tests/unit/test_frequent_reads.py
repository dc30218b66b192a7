"""Reads of a few bytes in each iteration: the line that reads may compute what it reads."""

from cltrace.timeline.advice.model import Place, Proposal
from cltrace.timeline.advice.small_transfers import frequent_reads
from tests.activities import Run
from tests.evidence import evidence_of

STEPS = 40
PLACES = {1: Place("app.py:1"), 2: Place("app.py:2"), 3: Place("app.py:3")}


def loop(site_of_launch: int) -> Proposal:
    """Return the proposal for a loop of two launches, the second at a site, and a read at 2."""
    runs = []
    for at in range(0, 100 * STEPS, 100):
        runs.append(Run(at, at + 5, at + 20, site=1))
        runs.append(Run(at + 10, at + 20, at + 50, site=site_of_launch))
        runs.append(Run(at + 15, at + 50, at + 60, "read", blocking_until=at + 65, size=4, site=2))
    (proposal,) = frequent_reads(evidence_of(runs, places=PLACES))
    return proposal


def test_at_most_all_that_the_line_does_is_saved() -> None:
    most = loop(site_of_launch=2).most
    assert most is not None
    assert most.removed.tolist() == [at for at in range(3 * STEPS) if at % 3]


def test_launches_of_other_lines_remain() -> None:
    most = loop(site_of_launch=3).most
    assert most is not None
    assert most.removed.tolist() == list(range(2, 3 * STEPS, 3))


def test_the_reads_alone_are_what_is_expected_to_go() -> None:
    change = loop(site_of_launch=2).change
    assert change is not None
    # No launch before the first read is known to be of the loop.
    reads = list(range(5, 3 * STEPS, 3))
    assert change.removed.tolist() == [read for at, read in enumerate(reads) if at % 8]
