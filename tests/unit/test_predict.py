"""Predictions of launches and transfers: what the models say, and what must hold of it."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cltrace.errors import ProfileError
from cltrace.events.workloads import Workload
from cltrace.kernels import Argument, BufferArgument, KernelCounts, count, parse
from cltrace.kernels.costs.operation import SUM
from cltrace.kernels.counts.workloads import WorkloadCounter, machine_of
from cltrace.kernels.demand.launch import demand_of
from cltrace.predict import MODELS, Cache, load_profile, predict_launch
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.models.overlap.ablation import ablation_stages
from cltrace.predict.models.overlap.bounds import lower_bound, upper_bound
from cltrace.predict.models.overlap.parts import overlap
from cltrace.predict.models.overlap.times import times_of
from cltrace.predict.whatif import find_break_even
from cltrace.profile import DeviceProfile
from cltrace.suite.calibration import FAMILIES, Effort, ProbeLimits

H200 = load_profile("nvidia-h200")
CPU = load_profile("pocl-cpu")
SCALE = "__kernel void scale(__global float *a, float f) { a[get_global_id(0)] *= f; }"
GATHER = """
__kernel void gather(__global const int *at, __global const float *from, __global float *to) {
    size_t i = get_global_id(0);
    to[i] = from[at[i]];
}
"""


def scaled(items: int, cache: Cache = Cache.WARM, model: str = "overlap") -> float:
    return predict_launch(
        SCALE,
        "scale",
        (items,),
        (256,),
        [BufferArgument(4 * items), 2.0],
        H200,
        cache=cache,
        model=model,
    ).duration_ns


def test_a_launch_is_predicted_from_its_source() -> None:
    found = predict_launch(SCALE, "scale", (1 << 24,), (256,), [BufferArgument(4 << 24), 2.0], H200)
    assert found.interval_ns is not None
    low, high = found.interval_ns
    assert low < found.duration_ns < high
    assert 40_000 < found.duration_ns < 80_000, "an H200 takes 53 us for a copy of this size"
    assert found.parts[found.limiter] == max(found.parts.values())
    assert found.assumptions == ()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("profile", [H200, CPU], ids=["gpu", "cpu"])
def test_more_work_takes_longer_by_every_model(model: str, profile: object) -> None:
    times = [
        predict_launch(
            SCALE, "scale", (1 << k,), (64,), [BufferArgument(4 << k), 2.0],
            profile,  # type: ignore[arg-type]
            model=model,
        ).duration_ns
        for k in (10, 14, 18, 22)
    ]  # fmt: skip
    falls = 0.05 if model == "thesis" else 0.0  # its lines are fitted one by one
    assert all(more >= (1.0 - falls) * less for less, more in pairwise(times))
    assert times[-1] > 1.5 * times[0]


def test_cold_caches_cost_what_fits_into_them() -> None:
    assert scaled(1 << 21, Cache.COLD) > 1.1 * scaled(1 << 21)
    assert scaled(1 << 27, Cache.COLD) == pytest.approx(scaled(1 << 27), rel=0.05)
    assert scaled(1 << 21, Cache.COLD, "roofline") == scaled(1 << 21, model="roofline")


def test_what_is_assumed_widens_the_interval() -> None:
    n = 1 << 22
    sizes = [BufferArgument(4 * n)] * 3
    known = np.random.default_rng(1).permutation(n).astype(np.int32)
    unknown = predict_launch(GATHER, "gather", (n,), (256,), sizes, H200)
    told = predict_launch(
        GATHER, "gather", (n,), (256,), [BufferArgument(4 * n, known), *sizes[1:]], H200
    )
    assert unknown.assumptions
    assert not told.assumptions
    assert unknown.interval_ns is not None
    assert told.interval_ns is not None
    widths = [high / low for low, high in (unknown.interval_ns, told.interval_ns)]
    assert widths[0] > 1.2 * widths[1]
    assert unknown.interval_ns[0] <= told.duration_ns <= unknown.interval_ns[1]


def test_bounds_are_around_what_is_counted() -> None:
    n = 1 << 20
    counts = count(parse(GATHER), "gather", (n,), (256,), [BufferArgument(4 * n)] * 3)
    sectors = [
        sum(site.sectors.value for site in one.sites)
        for one in (lower_bound(counts), counts, upper_bound(counts))
    ]
    assert sectors[0] < sectors[1] < sectors[2]


def test_unknown_models_and_profiles_that_are_not_fitted_are_said() -> None:
    with pytest.raises(ValueError, match="overlap, thesis, roofline"):
        scaled(1024, model="magic")
    bare = replace(H200, parameters={})
    for model in MODELS.values():
        with pytest.raises(ProfileError, match="not fitted"):
            model.for_device(bare)


@given(st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=6), st.floats(1.0, 200.0))
def test_overlapping_is_between_the_longest_and_the_sum(times: list[float], p: float) -> None:
    found = overlap(times, p)
    assert max(times) * (1 - 1e-9) <= found <= sum(times) * (1 + 1e-9)
    assert overlap(times, 1.0) == pytest.approx(sum(times))


def counts_of(items: int) -> KernelCounts:
    machine = machine_of(H200.device)
    arguments: list[Argument] = [BufferArgument(4 * items), 2.0]
    return count(parse(SCALE), "scale", (items,), (256,), arguments, machine=machine)


@settings(max_examples=15, deadline=None)
@given(st.integers(-4, 5))
def test_a_launch_of_other_sizes_is_what_that_launch_is(exponent: int) -> None:
    """Scaling what a launch asks for is like counting a launch that is as many times as large."""
    model = OVERLAP.for_device(H200)
    guessed = model.scaled_ns(counts_of(1 << 20), 2.0**exponent)
    assert guessed == pytest.approx(
        model.predict(counts_of(1 << (20 + exponent))).duration_ns, rel=0.02
    )


def test_each_stage_of_the_ablation_adds_time() -> None:
    counts = counts_of(1 << 22)
    times = [
        one.predict(counts).duration_ns
        for one in ablation_stages(OVERLAP.for_device(H200)).values()
    ]
    assert times == sorted(times)
    assert times[-1] == OVERLAP.for_device(H200).predict(counts).duration_ns


@pytest.mark.parametrize(
    "body",
    [
        "if (x[i]) y[i] = 1;",
        "while (x[i] > 0) y[i] = 1;",
        "for (int j = 0; j < x[i]; ++j) y[j] = 1;",
        "if (x[i]) atomic_inc(y);",
    ],
)
def test_what_may_not_happen_at_all_is_predicted(body: str) -> None:
    source = f"kernel void k(global int *x, global int *y) {{ int i = get_global_id(0); {body} }}"
    found = predict_launch(source, "k", (1 << 16,), (64,), [BufferArgument(1 << 18)] * 2, H200)
    assert found.interval_ns is not None
    assert found.interval_ns[0] <= found.duration_ns <= found.interval_ns[1]
    assert found.assumptions


def test_chains_are_a_part_that_can_limit() -> None:
    source = """
    kernel void k(global float *x, int n) {
        float a = x[get_global_id(0)];
        for (int j = 0; j < n; ++j) a = sin(a);
        x[get_global_id(0)] = a;
    }
    """
    arguments: list[Argument] = [BufferArgument(1024), np.int32(1000)]
    found = predict_launch(source, "k", (256,), (256,), arguments, H200)
    assert found.limiter == "chains of operations"
    assert sum(found.parts.values()) >= found.duration_ns


def test_few_large_groups_compute_and_then_move() -> None:
    """Work-groups that begin together do not compute while others of them move data; many do."""
    source = """
    kernel void k(global float *x) {
        float a = get_global_id(0);
        STEPS
        x[get_global_id(0)] = a;
    }
    """
    n = 1 << 24
    found = [
        predict_launch(
            source.replace("STEPS", "a = fma(a, 1.5f, 2.5f);" * steps),
            "k", (n,), (1024,), [BufferArgument(4 * n)], H200,
        )
        for steps in (0, 24)
    ]  # fmt: skip
    more = found[1].parts["issue"] - found[0].parts["issue"]
    assert found[1].duration_ns - found[0].duration_ns > 0.6 * more
    demand = demand_of(counts_of(n), frozenset())
    alone = replace(demand, wave_groups=int(demand.units) * 2)
    together = replace(demand, wave_groups=int(demand.units) * 32)
    costs = OVERLAP.for_device(H200).costs.with_constants({"turnover": 0.0})
    assert times_of(alone, costs).total_ns > times_of(together, costs).total_ns


def test_lines_that_the_near_cache_has_not_take_longer() -> None:
    """An H200 takes 76 us for these reads from 64 KiB, 390 us from 1 MiB."""
    source = """
    kernel void k(global const float *in, global float *out, uint mask) {
        uint size = get_local_size(0), sum = 0, block = get_group_id(0) * 16u;
        float found = 0;
        for (uint t = 0; t < 16; ++t)
            found += in[(((block + t) * 2654435761u >> 12) * size + get_local_id(0)) * 33u & mask];
        out[get_global_id(0)] = found;
    }
    """
    n = 1 << 22
    times = [
        predict_launch(
            source, "k", (n,), (256,),
            [BufferArgument(size), BufferArgument(4 * n), np.uint32(size // 4 - 1)], H200,
        ).duration_ns
        for size in (1 << 16, 1 << 20)
    ]  # fmt: skip
    assert times[1] > 4 * times[0]


@pytest.mark.parametrize("profile", [H200, CPU], ids=["gpu", "cpu"])
def test_empty_launches_take_what_they_took(profile: DeviceProfile) -> None:
    """On a CPU longer with the logarithm of the work-groups, on a GPU in proportion to them.

    The costs are from these launches: this says that the form holds, not how well others are predicted.
    """
    room = ProbeLimits.of(profile.device, Effort.FULL)
    taken = {(one.series, one.x): one.median_ns for one in profile.points("groups")}
    model, counting = OVERLAP.for_device(profile), WorkloadCounter(profile.device)
    quotients = [
        model.predict(counting.count(probe.work)).duration_ns / taken[probe.series, probe.x]
        for probe in FAMILIES["groups"].probes(room)
        if (probe.series, probe.x) in taken and isinstance(probe.work, Workload)
    ]
    assert len(quotients) >= 10
    assert np.median(np.abs(np.log(quotients))) < 0.1
    assert 0.6 < min(quotients) < max(quotients) < 1.6


@pytest.mark.parametrize("profile", [H200, CPU], ids=["gpu", "cpu"])
def test_profiles_that_come_along_have_what_is_calibrated_now(profile: DeviceProfile) -> None:
    room = ProbeLimits.of(profile.device, Effort[profile.provenance.effort.upper()])
    for name, family in FAMILIES.items():
        asked = {(probe.series, float(f"{float(probe.x):.9g}")) for probe in family.probes(room)}
        measured = {(point.series, point.x) for point in profile.points(name)}
        left_out = sum(
            each.unmeasured for each in profile.provenance.left_out if each.family == name
        )
        assert measured <= asked, name
        assert len(asked - measured) == left_out, name


def test_costs_of_other_devices_are_nothing() -> None:
    gpu, cpu = (OVERLAP.for_device(profile).costs for profile in (H200, CPU))
    of_cpus = ("first", "window", "doubling", "jump l3")
    assert not {"line", "steps", "warp"} & cpu.constants.keys()
    assert not any(gpu.constants.get(name) for name in of_cpus)
    assert min(cpu[name] for name in of_cpus) > 0.0


def test_sums_that_are_waited_for_are_assumed_with_their_products() -> None:
    source = """
    kernel void k(global float *x, global const int *n, float f) {
        float a = 0;
        for (int j = 0; j < n[0]; ++j) a = fma((float)j, f, a);
        x[get_global_id(0)] = a + f;
    }
    """
    arguments: list[Argument] = [BufferArgument(4096), BufferArgument(4), 1.5]
    machine = machine_of(CPU.device)
    counts = count(parse(source), "k", (1024,), (64,), arguments, machine=machine)
    assert counts.assumptions
    waits = [
        sum(row.waits for row in one.folded if row.function == SUM)
        for one in (lower_bound(counts), counts, upper_bound(counts))
    ]
    assert waits[0] < waits[1] < waits[2]


def test_the_state_of_caches_may_be_a_word_and_no_other() -> None:
    arguments: list[Argument] = [BufferArgument(4 << 20), 2.0]

    def time_ns(cache: str) -> float:
        return predict_launch(
            SCALE, "scale", (1 << 20,), (256,), arguments, H200,
            cache=cache,  # type: ignore[arg-type]
        ).duration_ns  # fmt: skip

    assert time_ns("warm") == scaled(1 << 20)
    with pytest.raises(ValueError, match="lukewarm"):
        time_ns("lukewarm")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slot", None),
        ("interval low", None),
        ("p body", 0.0),
        ("l2 size", 0.0),
        ("launch", -1.0),
        ("launch", 1e308),
    ],
)
def test_damaged_costs_are_said(name: str, value: float | None) -> None:
    costs = dict(H200.parameters["overlap"])
    if value is None:
        del costs[name]
    else:
        costs[name] = replace(costs[name], value=value)
    with pytest.raises(ProfileError, match=name):
        OVERLAP.for_device(replace(H200, parameters={**H200.parameters, "overlap": costs}))


@pytest.mark.parametrize(
    ("other", "low", "high"),
    [
        (lambda f: 10 + 0.1 * f, 10.0, None),
        (lambda f: 0.5 + 1.2 * f, None, 2.5),
        (lambda f: 0.5 * f, None, None),
        (lambda f: 3 + 2 * f, None, None),
    ],
)
def test_where_the_other_device_wins(
    other: Callable[[float], float], low: float | None, high: float | None
) -> None:
    found = find_break_even("k", 1000, lambda f: 1 + f, other)
    for said, true in ((found.from_factor, low), (found.to_factor, high)):
        assert (said is None) == (true is None)
        assert said is None or true is None or said == pytest.approx(true, rel=0.01)
    assert found.other_wins == (other(1.0) < 2.0)
