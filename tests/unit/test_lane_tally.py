"""Tallies of events per set of lanes: what is added, and when."""

import numpy as np

from cltrace.kernels.counts.lane_tally import LaneTally
from cltrace.kernels.execute.lanes import Grid, Lanes
from cltrace.kernels.launch_results import nd_range

GRID = Grid(nd_range((128,), (64,)), range(2), 32)
HALF = Lanes(GRID, np.arange(0, 128, 2, dtype=np.int64))


def test_events_are_added_once_with_their_numbers_per_set_of_lanes() -> None:
    added: list[tuple[Lanes, dict[int, int]]] = []
    tally = LaneTally(lambda lanes, numbers: added.append((lanes, dict(numbers))))
    for event, lanes in ((3, GRID.all), (3, HALF), (3, GRID.all), (7, GRID.all)):
        tally.count(event, lanes)
    assert not added
    tally.flush()
    tally.flush()
    assert added == [(GRID.all, {3: 2, 7: 1}), (HALF, {3: 1})]


def test_sets_of_lanes_are_not_kept_without_limit() -> None:
    added: list[int] = []
    tally = LaneTally(lambda lanes, _: added.append(lanes.count), max_waiting_lanes=256)
    for _ in range(5):
        tally.count(0, Lanes(GRID, np.arange(64, dtype=np.int64)))
    assert added == [64] * 4
