"""Rows that a work-item reads each, and windows over images, against an H200.

No cost is fitted on the measured times.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from benchmarks.row_walks import BYTES, SOURCES, launches
from cltrace.events.workloads import BufferInput, Workload, WorkloadInput
from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.records import SharedSectors
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile

H200 = load_profile("nvidia-h200")
MEASURED_NS: Mapping[str, float] = json.loads(
    (Path(__file__).parents[1] / "data" / "h200-row-walks.json").read_text(encoding="utf-8")
)["ns"]
LAUNCHES = {launch[0]: launch[1:] for launch in launches()}


def counts_of(name: str) -> KernelCounts:
    key, global_size, local_size, numbers = LAUNCHES[name]
    inputs: list[WorkloadInput] = [*[BufferInput(BYTES)] * 3, *map(np.int32, numbers)]
    return WorkloadCounter(H200.device).count(
        Workload(SOURCES[key], "f", global_size, local_size, inputs)
    )


def region_of(counts: KernelCounts, memory: str) -> SharedSectors:
    (region,) = (region for region in counts.regions if region.memory == memory)
    return region


def predicted_ns(name: str) -> float:
    return OVERLAP.for_device(H200).predict(counts_of(name)).duration_ns


@pytest.mark.parametrize("name", sorted(MEASURED_NS))
def test_a_launch_takes_as_long_as_measured(name: str) -> None:
    assert predicted_ns(name) == pytest.approx(MEASURED_NS[name], rel=0.3)


def test_lanes_that_come_to_sectors_one_by_one_wait_more_often() -> None:
    """With 4 reads in flight, rows that begin at the same place of a sector wait in every other round."""
    apart, together = (f"rows uint 2500 of {pitch}, 128" for pitch in (2500, 2504))
    measured = MEASURED_NS[apart] / MEASURED_NS[together]
    assert measured > 1.25
    assert predicted_ns(apart) / predicted_ns(together) == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(("guard", "share"), [("", 0.125), ("if ((k & 1) == (i >> 7 & 1))", 0.25)])
def test_a_walk_comes_to_a_sector_every_eight_numbers(guard: str, share: float) -> None:
    """Also where other warps have accesses in between: each is compared with its own before."""
    source = SOURCES["rows uint"].replace("s +=", f"{guard} s +=")
    inputs: list[WorkloadInput] = [BufferInput(BYTES)] * 3
    work = Workload(source, "f", (8192,), (128,), [*inputs, np.int32(2048), np.int32(2501)])
    sites = WorkloadCounter(H200.device).count(work).sites
    (site,) = (site for site in sites if site.memory == "a")
    assert site.arriving_share == pytest.approx(share, rel=0.2)


def test_a_row_is_no_set_of_single_sectors() -> None:
    """The rows fill the shared cache by their bytes, however large the buffer is."""
    (region,) = (
        region
        for region in counts_of("rows int 2500 of 2500, 2560").regions
        if region.memory == "a"
    )
    assert region.footprint.paired_share > 0.5


@pytest.mark.parametrize(("kernel", "returns"), [("window x", 21), ("window y", 15)])
def test_a_window_comes_back_to_what_others_have_read(kernel: str, returns: float) -> None:
    image = region_of(counts_of(f"{kernel} 4000x3000"), "a")
    assert image.returns == pytest.approx(returns, rel=0.15)


def test_rows_that_work_groups_read_side_by_side_are_new_to_all() -> None:
    """All groups read each row of a matrix at the same access, so each is new to them."""
    source = """
    kernel void f(global const float *restrict a, global float *restrict y, int n) {
        float s = 0;
        for (int k = 0; k < n; k++) s += a[k * 128 + get_local_id(0)];
        y[get_global_id(0)] = s;
    }
    """
    inputs = (BufferInput(BYTES), BufferInput(BYTES), np.int32(1000))
    work = Workload(source, "f", (1 << 16,), (128,), inputs)
    matrix = region_of(WorkloadCounter(H200.device).count(work), "a")
    assert matrix.returns == pytest.approx(1.0, rel=0.05)
