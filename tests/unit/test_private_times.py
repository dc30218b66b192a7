"""Private arrays in memory, stores of parts of vectors, and tiles of a matrix, against an H200.

No cost is fitted on the measured times.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.private_memory import BYTES, launches
from cltrace.events.workloads import BufferInput, Workload
from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.kernels.demand.launch import Demand, demand_of
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile

H200 = load_profile("nvidia-h200")
MEASURED_NS: Mapping[str, float] = json.loads(
    (Path(__file__).parents[1] / "data" / "h200-private-memory.json").read_text(encoding="utf-8")
)["ns"]
LAUNCHES = {launch[0]: launch[1:] for launch in launches()}
PARTS = [name for name in LAUNCHES if name.startswith(("vectors", "means"))]


@cache
def counts_of(name: str) -> KernelCounts:
    source, global_size, local_size, (first, second) = LAUNCHES[name]
    inputs = (BufferInput(BYTES), BufferInput(BYTES), np.uint32(first), np.int32(second))
    return WorkloadCounter(H200.device).count(
        Workload(source, "f", global_size, local_size, inputs)
    )


def quotient(name: str) -> float:
    """Return the predicted duration of a launch by the measured one."""
    return OVERLAP.for_device(H200).predict(counts_of(name)).duration_ns / MEASURED_NS[name]


def demand(name: str) -> Demand:
    return demand_of(counts_of(name), OVERLAP.for_device(H200).costs.operations)


def traffic(name: str, memory: str, access: Access) -> list[Traffic]:
    return [
        region
        for region in demand(name).traffic
        if region.memory == memory and region.access is access
    ]


def test_launches_take_about_as_long_as_measured() -> None:
    """Furthest off is an array that the near cache just holds, of which each change goes to memory."""
    distances = sorted(np.exp(abs(np.log(quotient(name)))) for name in LAUNCHES)
    assert len(distances) == len(MEASURED_NS) == 30
    assert np.median(distances) < 1.2
    assert distances[-3] < 1.45
    assert distances[-1] < 2.1


@pytest.mark.parametrize("kind", ["float2", "float4"])
def test_changes_at_different_places_go_to_memory(kind: str) -> None:
    """Those of all resident work-items are larger than the shared cache, and sectors lie alone."""
    apart, alike = (f"32 {kind} changed {how}" for how in ("apart", "alike"))
    measured = MEASURED_NS[apart] / MEASURED_NS[alike]
    assert measured > 30
    assert quotient(apart) / quotient(alike) == pytest.approx(1.0, abs=0.35)


@pytest.mark.parametrize("name", [name for name in PARTS if "means" not in name])
def test_parts_of_a_vector_fill_sectors_together(name: str) -> None:
    written = traffic(name, "out", Access.WRITE)
    assert written
    assert sum(region.sectors for region in written) <= 1.3 * sum(
        region.group_sectors for region in written
    )
    assert not any(region.fetched_bytes for region in written)


@pytest.mark.parametrize("name", [name for name in PARTS if "means" in name])
def test_tiles_are_in_order_and_in_registers(name: str) -> None:
    (read,) = traffic(name, "a", Access.READ)
    assert read.scattered_sectors == 0
    assert not any(
        site.space == "private" and not site.is_register for site in counts_of(name).sites
    )
