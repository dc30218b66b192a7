"""Times of reads at random places, against an H200."""

from functools import cache

import numpy as np
import pytest

from benchmarks.random_places import (
    GROUP_ITEMS,
    ITEMS,
    MEMORY_BYTES,
    READS,
    SIZES_MIB,
    elements,
    source,
)
from cltrace.events.workloads import BufferInput, Workload
from cltrace.kernels import KernelCounts
from tests.h200_times import counts_on_h200, distance, measured_ns, predicted_ns

MEASURED_NS = measured_ns("random-places")


@cache
def counts_of(name: str, size_mib: int) -> KernelCounts:
    memory, number = BufferInput(MEMORY_BYTES), np.uint32(elements(name, size_mib))
    inputs = (memory, BufferInput(4 * ITEMS), number)
    work = Workload(source(name), "f", (ITEMS,), (GROUP_ITEMS,), inputs, "")
    return counts_on_h200(work)


@cache
def quotient(name: str, size_mib: int) -> float:
    """Return the predicted duration by the measured one."""
    return float(predicted_ns(counts_of(name, size_mib)) / MEASURED_NS[name][str(size_mib)])


def distances(name: str) -> list[float]:
    return [distance(quotient(name, size_mib)) for size_mib in SIZES_MIB]


@pytest.mark.parametrize("name", READS)
def test_reads_at_random_places_take_about_as_long_as_measured(name: str) -> None:
    assert np.median(distances(name)) < 1.2
    assert max(distances(name)) < 1.7


@pytest.mark.parametrize("size_mib", [36, 44, 60])
def test_random_places_miss_the_shared_cache_before_they_fill_it(size_mib: int) -> None:
    assert MEASURED_NS["numbers"][str(size_mib)] > 1.2 * MEASURED_NS["numbers"]["20"]
    assert quotient("numbers", size_mib) == pytest.approx(1.0, abs=0.2)


def test_members_of_structures_are_waited_for_together() -> None:
    # One sector each, and eight reads instead of one.
    assert counts_of("eight members", 8).regions[0].reads_together == pytest.approx(8.0, rel=0.02)
    assert counts_of("numbers", 8).regions[0].reads_together == 1.0
    assert MEASURED_NS["eight members"]["8"] > 2.0 * MEASURED_NS["numbers"]["8"]
    assert quotient("eight members", 8) == pytest.approx(1.0, abs=0.25)


def test_two_sectors_of_a_granule_take_less_than_two_granules() -> None:
    assert counts_of("two rows", 100).regions[0].paired_share == pytest.approx(10 / 14, abs=0.05)
    assert quotient("two rows", 100) == pytest.approx(1.0, abs=0.25)


def test_wide_elements_lie_at_random_places_as_numbers_do() -> None:
    measured = MEASURED_NS["vectors"]["300"] / MEASURED_NS["numbers"]["300"]
    predicted = quotient("vectors", 300) / quotient("numbers", 300) * measured
    assert predicted == pytest.approx(measured, rel=0.1)
