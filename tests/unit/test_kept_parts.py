"""Parts of a launch's time that are kept from one set of costs to the next."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltrace.kernels.demand.launch import Demand, demand_of
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.models.overlap.joint_costs import NORMS, joint_costs
from cltrace.predict.models.overlap.kept_parts import Constants, KeptParts
from cltrace.predict.models.overlap.times import times_again, times_of
from cltrace.predict.models.prediction import Cache
from cltrace.profile import load_profile
from tests.part_kernels import KERNELS, counts_of

COSTS = OVERLAP.for_device(load_profile("nvidia-h200")).costs
NAMES = [cost.name for cost in joint_costs(is_cpu=False)]
CHANGES = st.lists(
    st.tuples(st.sampled_from(NAMES), st.floats(0.5, 2.0, allow_subnormal=False)), max_size=6
)


@pytest.fixture(scope="module")
def demands() -> Sequence[Demand]:
    return [demand_of(counts_of(name, 1 << 16), COSTS.operations) for name in KERNELS]


@given(changes=CHANGES)
def test_kept_parts_are_those_of_a_launch_that_is_new(
    demands: Sequence[Demand], changes: Sequence[tuple[str, float]]
) -> None:
    for demand in demands:
        kept, costs = KeptParts(demand), COSTS
        for name, factor in changes:
            value = costs[name] * factor
            costs = costs.with_constants({name: max(value, 1.0) if name in NORMS else value})
            assert times_again(kept, costs) == times_of(demand, costs)
            slower = costs.with_slower_operations(factor)
            assert times_again(kept, slower) == times_of(demand, slower)


@pytest.mark.parametrize("cache", Cache)
def test_they_are_of_one_state_of_the_caches(demands: Sequence[Demand], cache: Cache) -> None:
    for demand in demands:
        assert times_again(KeptParts(demand, cache), COSTS) == times_of(demand, COSTS, cache)


def test_a_part_is_computed_again_if_a_cost_changes_that_it_or_its_parts_read(
    demands: Sequence[Demand],
) -> None:
    computed: list[str] = []

    def inner(_: KeptParts, costs: Constants) -> float:
        computed.append("inner")
        return costs["a"]

    def outer(kept: KeptParts, costs: Constants) -> float:
        computed.append("outer")
        return kept.part(inner, costs) + (costs["c"] if costs["b"] else 0.0)

    kept = KeptParts(demands[0])
    costs = {"a": 1.0, "b": 0.0, "c": 5.0, "d": 7.0}
    assert kept.part(outer, costs) == 1.0
    computed.clear()
    for other in ({**costs, "c": 6.0}, {**costs, "d": 0.0}):
        assert kept.part(outer, other) == 1.0
    assert computed == []
    assert kept.part(outer, {**costs, "b": 1.0, "c": 6.0}) == 7.0
    assert computed == ["outer"]
    assert kept.part(outer, {**costs, "a": 2.0, "b": 1.0, "c": 6.0}) == 8.0
    assert computed == ["outer", "outer", "inner"]


def test_a_part_that_reads_no_cost_is_computed_once(demands: Sequence[Demand]) -> None:
    computed: list[int] = []

    def groups(kept: KeptParts, _: Constants) -> int:
        computed.append(1)
        return kept.demand.groups

    kept = KeptParts(demands[0])
    assert kept.part(groups, {}) == kept.part(groups, {"a": 1.0}) == demands[0].groups
    assert computed == [1]
