"""Batches of accesses: what a mark and a factor count, however the accesses are grouped."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from cltrace.kernels.counts.access_batch import AccessBatch, SiteColumn
from cltrace.kernels.execute.lanes import Grid, Lanes, NDRange
from cltrace.kernels.execute.state import Site
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.ir.source_places import NOWHERE
from cltrace.kernels.launch_results import nd_range
from cltrace.kernels.machine import NVIDIA, Machine

RANGE: NDRange = nd_range((128,), (64,))
GRID = Grid(RANGE, range(2), NVIDIA.warp_width)
ALL = GRID.all
HALF = Lanes(GRID, np.arange(0, 128, 2, dtype=np.int64))


def batch_of(*accesses: Access, machine: Machine = NVIDIA) -> AccessBatch:
    sites = [
        Site(
            number=number,
            place=NOWHERE,
            block=0,
            access=access,
            space=1,
            access_bytes=4,
            request_bytes=4,
            element="float",
            pointer=0,
            indices=(),
        )
        for number, access in enumerate(accesses)
    ]
    return AccessBatch(sites, machine, GRID.groups)


def addresses(lanes: Lanes, begin: int) -> NDArray[np.int64]:
    return (1 << 40) + begin + 4 * lanes.index


def run(batch: AccessBatch, settle: Callable[[], None]) -> AccessBatch:
    """A loop in a loop, both of which skip trips; `settle` is called after each access."""

    def add(site: int, lanes: Lanes, begin: int) -> None:
        batch.add(site, addresses(lanes, begin), lanes, represents_sectors=True)
        settle()

    add(0, ALL, 0)
    outer = batch.mark()
    for trip in range(3):
        add(0, ALL, 512 * trip)
        inner = batch.mark()
        add(1, HALF if trip else ALL, 64 * trip)
        add(0, HALF, 4096)
        batch.scale_since(inner, 7.0, 7.5)
        settle()
    batch.scale_since(outer, 3.0, 3.25)
    add(0, ALL, 0)
    batch.count()
    return batch


def by_trip(batch: AccessBatch) -> list[list[tuple[int, int, float]]]:
    return [
        [
            (int(sector), int(group), weight)
            for sectors, groups, weight in zip(
                touched.sectors, touched.groups, touched.weights, strict=True
            )
            for sector, group in zip(sectors, groups, strict=True)
        ]
        for touched in batch.records.by_site
    ]


@pytest.mark.parametrize("second", [Access.READ, Access.WRITE])
def test_accesses_are_scaled_whether_they_have_been_counted_or_wait(second: Access) -> None:
    waiting = run(batch_of(Access.READ, second), lambda: None)
    counted = batch_of(Access.READ, second)
    run(counted, counted.count)
    assert (waiting.counters == counted.counters).all()
    assert by_trip(waiting) == by_trip(counted)
    sectors = waiting.counters[SiteColumn.SECTORS]
    # 8 sectors for each of a group's 64 items: 1 access, 3 in the outer loop, 3 in the inner one, 1 more.
    assert sectors.tolist() == [8 + 3 * 4 * 8 + 3 * 4 * 8 * 8 + 8] * 2


def test_requests_move_from_one_access_to_the_next_of_any_lanes() -> None:
    batch = batch_of(Access.READ)
    # All lanes and every other lane of a warp touch the same sectors in turn.
    for lanes in (ALL, HALF, ALL, HALF):
        batch.add(0, addresses(lanes, 0), lanes, represents_sectors=True)
    batch.add(0, addresses(HALF, 4096), HALF, represents_sectors=True)
    batch.add(0, addresses(ALL, 0), ALL, represents_sectors=True)
    batch.count()
    assert batch.counters[SiteColumn.MOVING_REQUESTS].tolist() == [2 * 3] * 2


def test_a_mark_outlasts_a_full_batch() -> None:
    """2100 accesses of 128 lanes are more than wait, so the first ones are counted meanwhile."""
    batch = batch_of(Access.WRITE)
    batch.add(0, addresses(ALL, 0), ALL, represents_sectors=True)
    mark = batch.mark()
    for number in range(2100):
        batch.add(0, addresses(ALL, 512 * number), ALL, represents_sectors=True)
    batch.scale_since(mark, 9.0, 9.0)
    batch.count()
    assert batch.counters[SiteColumn.SECTORS].tolist() == [8 * (1 + 2100 * 10)] * 2
    weights = [weight for _, _, weight in by_trip(batch)[0]]
    assert weights == [1.0] * 16 + [10.0] * 16 * 2100


@pytest.mark.parametrize("machine", [NVIDIA, Machine.of_cpu(8)], ids=["GPU", "CPU"])
@pytest.mark.parametrize("access", list(Access))
@pytest.mark.parametrize("step", [1, 2])
def test_accesses_at_moved_addresses_count_as_much_together_as_one_by_one(
    access: Access, machine: Machine, step: int
) -> None:
    grid = Grid(RANGE, range(2), machine.warp_width)
    lanes = grid.all if step == 1 else Lanes(grid, np.arange(0, 128, step, dtype=np.int64))
    together, single = (batch_of(access, machine=machine) for _ in range(2))
    for begin in (4096, 0, 132, 260, 4, 4096, 388, 1 << 20):
        for batch in (together, single):
            batch.add(0, addresses(lanes, begin), lanes, represents_sectors=True)
        single.count()
    together.count()
    assert (together.counters == single.counters).all()
    assert by_trip(together) == by_trip(single)
    assert together.step_sectors(0).share == single.step_sectors(0).share
    assert together.jump_bytes(0) == single.jump_bytes(0)
