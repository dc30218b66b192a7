"""The part of the model at fault: every cost belongs to one, and the changed one is found."""

from dataclasses import replace

import numpy as np
import pytest

from cltrace.events.workloads import Arrival
from cltrace.predict.models.defaults import LATER_COSTS, LATER_PROCESSOR_COSTS
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.models.overlap.arrivals import ARRIVAL_COSTS
from cltrace.predict.models.overlap.diagnosis import MAX_FACTOR, diagnose
from cltrace.predict.models.overlap.joint_costs import required_constants
from cltrace.predict.models.overlap.part_costs import (
    OPERATIONS,
    PART_CONSTANTS,
    SHAPE_CONSTANTS,
    scale_part,
)
from cltrace.profile import load_profile
from tests.part_kernels import KERNELS, counts_of

H200 = load_profile("nvidia-h200")


def test_every_cost_is_of_one_part_or_of_none() -> None:
    """A cost that is new to the model has to be said here, so that errors are put down to its part."""
    in_parts = [name for names in PART_CONSTANTS.values() for name in names]
    assert len(in_parts) == len(set(in_parts))
    assert not SHAPE_CONSTANTS & set(in_parts)
    required = required_constants(is_cpu=True) | required_constants(is_cpu=False)
    later = {*ARRIVAL_COSTS, *LATER_COSTS, *LATER_PROCESSOR_COSTS}
    assert SHAPE_CONSTANTS | set(in_parts) == required | later


@pytest.mark.parametrize("part", PART_CONSTANTS)
def test_scaling_a_part_scales_it_alone(part: str) -> None:
    model = OVERLAP.for_device(H200)
    model = replace(model, costs=model.costs.with_constants({"first launch": 1_500.0}))
    scaled = replace(model, costs=scale_part(model.costs, part, 2.0))
    late = Arrival(idle_ns=1e8, first_share=1.0, changed_images=2.0)
    seen = False
    for name in KERNELS:
        counts = counts_of(name, 1 << 20)
        before, after = (
            {each.name: each.time_ns for each in one.predict(counts, arrivals=[late]).parts}
            for one in (model, scaled)
        )
        for other, time_ns in before.items():
            is_scaled = (other if other in PART_CONSTANTS else OPERATIONS) == part
            seen |= is_scaled
            if other == "atomics" and part == "L2":
                continue  # the writes of atomic operations take the time of other writes, too
            assert after[other] == pytest.approx(time_ns * (2.0 if is_scaled else 1.0)), other
    assert seen, f"no kernel here needs {part}"


@pytest.mark.parametrize("factor", [0.4, 1.3, 4.0])
def test_the_part_that_was_changed_explains_the_error(factor: float) -> None:
    model = OVERLAP.for_device(H200)
    counts = counts_of("stream", 1 << 26)
    changed = replace(model, costs=scale_part(model.costs, "memory", factor))
    causes = diagnose(model, counts, changed.predict(counts).duration_ns)
    found = {each.part: each.factor for each in causes}
    assert found["memory"] == pytest.approx(factor, rel=0.01)
    assert "atomics" not in found, "the launch has none"
    changes = [abs(np.log(each.factor)) for each in causes]
    assert changes == sorted(changes)


def test_the_smallest_change_is_named_first() -> None:
    model = OVERLAP.for_device(H200)
    for name, part in (("wide stream", "memory"), ("tally", "atomics")):
        counts = counts_of(name, 1 << 26)
        assert diagnose(model, counts, 1.3 * model.predict(counts).duration_ns)[0].part == part


def test_an_error_that_no_part_explains_has_no_cause() -> None:
    model, counts = OVERLAP.for_device(H200), counts_of("stream", 1 << 16)
    assert diagnose(model, counts, 2 * MAX_FACTOR * model.predict(counts).duration_ns) == ()
