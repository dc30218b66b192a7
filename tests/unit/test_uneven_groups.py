"""Work-groups that do not divide among the compute units: whole ones on the busiest, as on an H200.

No cost is fitted on these times.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.uneven_groups import GROUP, ITEMS, contents, sources
from cltrace.kernels import BufferArgument, KernelCounts, LocalArgument, count, parse
from cltrace.kernels.counts.workloads import machine_of
from cltrace.kernels.demand.launch import demand_of
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile

H200 = load_profile("nvidia-h200")
MACHINE = machine_of(H200.device)
MEASURED = json.loads(
    (Path(__file__).parents[1] / "data" / "h200-uneven-groups.json").read_text(encoding="utf-8")
)
GROUPS: Sequence[int] = MEASURED["groups"]
MEASURED_NS: Mapping[str, Sequence[float]] = MEASURED["ns"]
LIMITS = {"pipes": 0.15, "near cache": 0.1, "local memory": 0.15}


def counted(name: str, groups: int, local_bytes: int) -> KernelCounts:
    arguments = (
        BufferArgument(4 * GROUP * groups),
        BufferArgument(4 * ITEMS, contents()),
        LocalArgument(local_bytes),
        np.float32(0.999),
    )
    program = parse(sources()[name])
    return count(program, "f", (groups * GROUP,), (GROUP,), arguments, machine=MACHINE)


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("local_bytes", [1024, 47 * 1024])
def test_the_unit_with_the_most_groups_decides(name: str, local_bytes: int) -> None:
    """From 132 groups to 140 a launch takes twice as long, and as long as with 264."""
    model = OVERLAP.for_device(H200)
    for groups, measured_ns in zip(GROUPS, MEASURED_NS[f"{name}, {local_bytes} B"], strict=True):
        if groups > 132:
            predicted = model.predict(counted(name, groups, local_bytes)).duration_ns
            assert predicted == pytest.approx(measured_ns, rel=LIMITS[name]), groups


@pytest.mark.parametrize(
    ("groups", "most"), [(66, 1), (132, 1), (133, 2), (264, 2), (265, 3), (1320, 10), (1321, 11)]
)
def test_groups_are_whole(groups: int, most: int) -> None:
    """A unit takes 8 groups of 256 at a time, so that 1,056 are a wave."""
    demand = demand_of(counted("pipes", groups, 1024), OVERLAP.for_device(H200).costs.operations)
    assert demand.busiest_share * max(groups / 132, 1.0) == pytest.approx(most)
    assert demand.serial_warps == math.ceil(groups / 1056)
