"""Vectors in several requests: counted as the driver's compiler splits them, and timed on an H200.

No cost is fitted on these times. The model is off for stores that a compute unit sends on in part.
"""

import json
from pathlib import Path

import pytest

from benchmarks.vector_accesses import GROUP, SIZE_BYTES, items_of, number_of, sources
from cltrace.events.workloads import BufferInput, Workload
from cltrace.kernels import BufferArgument, KernelCounts, Machine, count, parse
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile

MEASURED_NS = json.loads(
    (Path(__file__).parents[1] / "data" / "h200-vector-accesses.json").read_text(encoding="utf-8")
)["ns"]
H200 = load_profile("nvidia-h200")
SENT_IN_PART = frozenset(
    f"fill unaligned {vector}" for vector in ("float 4", "short 4", "double 2")
)
ITEMS = 1024


def counted(body: str, machine: Machine | None = None) -> KernelCounts:
    source = f"""#pragma OPENCL EXTENSION cl_khr_fp64 : enable
    kernel void f(global float *to, global const float *from) {{ int i = get_global_id(0); {body} }}
    """
    buffers = [BufferArgument(64 * ITEMS)] * 2
    return count(parse(source), "f", (ITEMS,), (GROUP,), buffers, machine=machine or Machine())


def cast(kind: str) -> str:
    return f"((global {kind} *)to)[i] = ((global const {kind} *)from)[i];"


@pytest.mark.parametrize(
    ("body", "requests"),
    [
        ("to[i] = from[i];", 1),
        (cast("float4"), 1),
        (cast("uchar16"), 1),
        (cast("float8"), 2),
        (cast("double4"), 2),
        (cast("short16"), 4),
        (cast("float16"), 4),
        ("vstore2(vload2(i, from), i, to);", 2),
        ("vstore4(vload4(i, from), i, to);", 4),
        ("vstore16(vload16(i, from), i, to);", 16),
        ("vstore_half4(vload_half4(i, (global half *)from), i, (global half *)to);", 4),
        ("vstorea_half4(vloada_half4(i, (global half *)from), i, (global half *)to);", 1),
    ],
)
def test_a_vector_takes_as_many_requests_as_instructions(body: str, requests: int) -> None:
    """As NVIDIA's assembler has them: at most four elements and 16 bytes, or one unaligned element."""
    counts = counted(body)
    assert [site.requests.value / counts.warps for site in counts.sites] == [requests] * 2
    by_lane = counted(body, Machine.of_cpu(8))
    assert [site.accesses.value for site in by_lane.sites] == [ITEMS] * 2


def test_arrays_in_local_memory_are_aligned() -> None:
    body = "local float t[1024]; vstore4(i, get_local_id(0), t); to[i] = vload4(0, t).x;"
    counts = counted(body)
    local = [site for site in counts.sites if site.space == "local"]
    assert [site.requests.value / counts.warps for site in local] == [1, 1]


def test_an_unaligned_vector_counts_as_its_elements() -> None:
    """As four scalar accesses by hand, in all transactions."""
    elements = "".join(f"to[4 * i + {k}] = from[4 * i + {k}];" for k in range(4))
    by_hand, vector = counted(elements), counted("vstore4(vload4(i, from), i, to);")
    for access in ("read", "write"):
        ours = [site for site in vector.sites if site.access.value == access]
        theirs = [site for site in by_hand.sites if site.access.value == access]
        assert len(ours) == 1
        for name in ("requests", "sectors", "lines", "bank_cycles"):
            total = sum(getattr(site, name).value for site in theirs)
            assert getattr(ours[0], name).value == total, (access, name)
        assert ours[0].partial_sectors == sum(site.partial_sectors for site in theirs)


def test_a_sector_touched_again_is_no_other_sector() -> None:
    wide, narrow = (counted(cast(kind)) for kind in ("float8", "float4"))
    for region, other in zip(wide.regions, narrow.regions, strict=True):
        assert region.sectors == 4 * other.sectors
        assert region.footprint.launch_sectors == 2 * other.footprint.launch_sectors


@pytest.mark.parametrize("name", sorted(MEASURED_NS))
def test_vectors_take_as_long_as_measured(name: str) -> None:
    buffers = (BufferInput(SIZE_BYTES), BufferInput(SIZE_BYTES))
    launch = Workload(
        sources()[name], "f", (items_of(name),), (GROUP,), (*buffers, number_of(name))
    )
    counts = WorkloadCounter(H200.device).count(launch)
    quotient = OVERLAP.for_device(H200).predict(counts).duration_ns / MEASURED_NS[name]
    low = 0.55 if name in SENT_IN_PART else 0.75
    assert low < quotient < 1.25
