"""The model of Pöppl 2014: its published results, and what must hold of its factors."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltrace.errors import ProfileError
from cltrace.events.workloads import Workload
from cltrace.kernels.demand.cost_types import CostType, TypeCount
from cltrace.predict.curves import (
    Decay,
    Line,
    Multiplicity,
    fit_decay,
    fit_group_curve,
    fit_multiplicity,
    utilisation,
)
from cltrace.predict.models.thesis import THESIS, Thesis
from cltrace.profile import (
    DeviceProfile,
    Parameter,
    load_profile,
    read_profile,
    write_profile,
)
from cltrace.suite.calibration import Effort, ProbeLimits
from cltrace.suite.calibration.launches import group_sizes

H200 = Path(__file__).parents[1] / "data" / "nvidia-h200-calibration.json"
PUBLISHED: Final = {
    CostType.BASE: Line(0.18988566, 5726.52, 0.0, 0.0),
    CostType.FLOAT_PLUS: Line(3.2679908306701e-3, 0.0, 0.0, 0.0),
    CostType.FLOAT_DIVIDE: Line(0.586512010350116, 2284.67688281392, 0.0, 0.0),
    CostType.INT_PLUS: Line(3.28593145810764e-3, 0.0, 0.0, 0.0),
    CostType.INT_TIMES: Line(4.83050202348605e-3, 0.0, 0.0, 0.0),
    CostType.INT_DIVIDE: Line(8.97819795983561e-2, 3025.32315741367, 0.0, 0.0),
    CostType.READ_CONSTANT: Line(0.0459504, 0.0, 0.0, 0.0),
}
"""Equations 5.5, 5.8 and figure 5.13, for a GT-650M, in ns."""
PUBLISHED_GROUP: Final = Decay(13.04, 12.21124, 26.10, 2.28329, 0.0)
"""Equation 5.7."""
SIZES: Final = [1, 2, 4, 8, 16, 17, 24, 32, 33, 48, 64, 65, 96, 128, 129, 192, 256, 257, 384, 512]
POWERS: Final = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]

saturations = st.floats(0.0, 1e3)
accesses = st.floats(0.0, 2.0)


def thesis(lines: dict[CostType, Line], saturation: float = 8.0, further: float = 0.17) -> Thesis:
    return Thesis(lines, PUBLISHED_GROUP, 1024, saturation, further)


def times_us(lines: dict[CostType, Line], rows: dict[CostType, int], items: int) -> list[float]:
    counts = [TypeCount(cost_type, number) for cost_type, number in rows.items()]
    return [row.time_ns / 1e3 for row in thesis(lines).type_times(counts, items, 1024)]


def test_figure_6_1_is_reproduced_to_all_its_digits() -> None:
    """The equations are printed to as many digits as doubles have: only roundings differ."""
    rows = {
        CostType.FLOAT_PLUS: 1,
        CostType.INT_PLUS: 2,
        CostType.INT_TIMES: 3,
        CostType.INT_DIVIDE: 4,
        CostType.PRIVATE: 1,
    }
    printed = [54.82778805217169, 55.128781833866825, 81.04237583646253, 1509.3169877866271, 0.0]
    assert times_us(PUBLISHED, rows, 4096 * 4096) == pytest.approx(printed, rel=1e-15, abs=0.0)


def test_the_base_of_figure_6_1_is_reproduced_as_far_as_its_equation_is_printed() -> None:
    """Equation 5.5 has eight digits: half a unit of the last, times the items, is the tolerance."""
    items = 4096 * 4096
    tolerance_us = (0.5e-8 * items + 0.5e-2) / 1e3
    [base] = times_us(PUBLISHED, {CostType.BASE: 1}, items)
    assert base == pytest.approx(3191.479259200592, abs=tolerance_us)


def test_the_total_of_figure_6_1_is_the_sum_of_its_rows() -> None:
    """No printed equation gives the row of the global read, so the row stands for its line."""
    items = 4096 * 4096
    read = {CostType.READ_CONTINUOUS: Line(4981575.2014161835 / items, 0.0, 0.0, 0.0)}
    rows = {
        CostType.FLOAT_PLUS: 1,
        CostType.INT_PLUS: 2,
        CostType.INT_TIMES: 3,
        CostType.INT_DIVIDE: 4,
        CostType.PRIVATE: 1,
        CostType.READ_CONTINUOUS: 1,
        CostType.BASE: 1,
    }
    total = sum(times_us(PUBLISHED | read, rows, items))
    assert total == pytest.approx(9873.370394125905, abs=1e-4)


@pytest.mark.parametrize(
    ("cost_type", "number", "printed_us"),
    [
        (CostType.FLOAT_PLUS, 1, 219.311),
        (CostType.FLOAT_DIVIDE, 1, 39362.439),
        (CostType.INT_PLUS, 8, 220.515),
        (CostType.INT_TIMES, 9, 324.170),
        (CostType.INT_DIVIDE, 4, 6028.192),
        (CostType.READ_CONSTANT, 1, 3083.679),
        (CostType.BASE, 1, 12748.737),
    ],
)
def test_rows_of_figure_7_3(cost_type: CostType, number: int, printed_us: float) -> None:
    """It is printed to three decimals: further operations on integers are free, one read is whole."""
    [time_us] = times_us(PUBLISHED, {cost_type: number}, 8192 * 8192)
    assert time_us == pytest.approx(printed_us, abs=1e-3)


@pytest.mark.parametrize("cost_type", CostType)
@given(saturations, accesses, st.floats(0.0, 1e4), st.floats(0.0, 1e4))
def test_more_of_a_cost_type_never_takes_less_time(
    cost_type: CostType, saturation: float, further: float, first: float, second: float
) -> None:
    """n M(n) never falls, and is at most n. Both numbers are tried around the saturation, too."""
    model = thesis({}, saturation, further)
    around = (max(saturation + step / 4, 0.0) for step in range(-8, 9))
    numbers = sorted((first, second, *around))
    times = [number * model.multiplier(TypeCount(cost_type, number)) for number in numbers]
    assert all(fewer <= more * (1 + 1e-12) for fewer, more in pairwise(times))
    assert all(0.0 <= time <= n * (1 + 1e-12) for n, time in zip(numbers, times, strict=True))


@given(st.sampled_from(list(CostType)), saturations, accesses)
def test_a_single_one_takes_the_time_of_its_line(
    cost_type: CostType, saturation: float, further: float
) -> None:
    assert thesis({}, saturation, further).multiplier(TypeCount(cost_type, 1.0)) == 1.0


def test_operations_on_floats_are_hidden_up_to_the_saturation_and_cost_more_above_it() -> None:
    model = thesis({}, saturation=10.0)
    times = [n * model.multiplier(TypeCount(CostType.FLOAT_TIMES, n)) for n in (1, 10, 11, 12, 64)]
    assert times == pytest.approx([1.0, 1.0, 1.0, 2.0, 54.0])


def test_utilisations_of_the_text() -> None:
    assert [utilisation(size, 16) for size in (1, 16, 17, 32, 33)] == pytest.approx(
        [1 / 16, 1.0, 17 / 32, 1.0, 33 / 48]
    )


@given(st.integers(1, 4096), st.integers(1, 1024))
def test_utilisation_is_a_share_and_full_groups_use_all(group: int, units: int) -> None:
    assert 0.0 < utilisation(group, units) <= 1.0
    assert (utilisation(group, units) == 1.0) == (group % units == 0)


@given(st.sampled_from([8, 16, 32, 64]), st.floats(1.0, 1e9))
def test_a_saw_tooth_is_found_again(units: int, full_ns: float) -> None:
    found = fit_multiplicity(SIZES, [full_ns / utilisation(size, units) for size in SIZES])
    assert found.units == units
    assert found.full_ns == pytest.approx(full_ns)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("units", [16, 64])
def test_a_saw_tooth_is_told_from_a_decay(units: int, seed: int) -> None:
    """As on an HD 4000 and an HD 5750 (7.2.1, 7.2.2), with a noise of 5 %."""
    noise = np.random.default_rng(seed).normal(1.0, 0.05, len(SIZES))
    times = [
        9e3 / utilisation(size, units) * factor for size, factor in zip(SIZES, noise, strict=True)
    ]
    curve = fit_group_curve(SIZES, times)
    assert isinstance(curve, Multiplicity)
    assert curve.units == units


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "decay", [Decay(9e2, 12.0, 3e3, 2.3, 30.0), Decay(0.0, 1.0, 0.0, 1.0, 5.0)]
)
def test_a_decay_and_a_constant_are_no_saw_tooth(decay: Decay, seed: int) -> None:
    noise = np.random.default_rng(seed).normal(1.0, 0.05, len(SIZES))
    times = [decay(size) * factor for size, factor in zip(SIZES, noise, strict=True)]
    assert isinstance(fit_group_curve(SIZES, times), Decay)


def test_powers_of_two_alone_are_no_evidence_of_a_saw_tooth() -> None:
    assert isinstance(fit_group_curve(POWERS, [9.0 / utilisation(x, 64) for x in POWERS]), Decay)


@pytest.fixture(scope="module")
def measured() -> DeviceProfile:
    return read_profile(H200)


def with_group_sizes(profile: DeviceProfile, units: int, sizes: Sequence[int]) -> DeviceProfile:
    """Return the profile with a saw-tooth of work-groups, fitted."""
    like = profile.points("group-size")[0]
    points = tuple(
        replace(like, x=float(size), mean_ns=8e3 / utilisation(size, units)) for size in sizes
    )
    changed = replace(profile, families={**profile.families, "group-size": points})
    return replace(changed, parameters={"thesis": THESIS.fit(changed).parameters})


def test_a_saw_tooth_is_stored_in_a_profile(measured: DeviceProfile, tmp_path: Path) -> None:
    profile = with_group_sizes(measured, 16, SIZES)
    write_profile(profile, tmp_path / "one.json")
    model = THESIS.for_device(read_profile(tmp_path / "one.json"))
    assert isinstance(model.group, Multiplicity)
    assert [model.group_factor(size) for size in (512, 16, 17, 33, 1)] == pytest.approx(
        [1.0, 1.0, 32 / 17, 48 / 33, 16.0]
    )
    fitted = THESIS.fit(profile).fitted_ns["group-size"]
    assert fitted == pytest.approx([point.mean_ns for point in profile.points("group-size")])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("group units", 0.0),
        ("group units", math.inf),
        ("group units", math.nan),
        ("group full", 0.0),
    ],
)
def test_a_damaged_saw_tooth_is_refused(measured: DeviceProfile, name: str, value: float) -> None:
    profile = with_group_sizes(measured, 16, SIZES)
    parameters = {**profile.parameters["thesis"], name: Parameter(value, "", 0.0, "group-size")}
    with pytest.raises(ProfileError, match="damaged"):
        THESIS.for_device(replace(profile, parameters={"thesis": parameters}))


@pytest.mark.parametrize("name", ["nvidia-h200", "pocl-cpu"])
def test_profiles_with_powers_of_two_alone_have_a_decay(name: str) -> None:
    profile = load_profile(name)
    points = [point for point in profile.points("group-size") if int(point.x) in POWERS]
    stored = profile.parameters["thesis"]
    before = replace(profile, families={**profile.families, "group-size": tuple(points)})
    fit = THESIS.fit(before)
    decay = fit_decay([point.x for point in points], [point.mean_ns for point in points])
    for parameter in ("b1", "t1", "b2", "t2", "y0"):
        assert f"group {parameter}" in stored
        assert fit.parameters[f"group {parameter}"].value == getattr(decay, parameter)
    assert isinstance(THESIS.for_device(before).group, Decay)


def test_the_factor_is_1_for_the_largest_power_of_two(measured: DeviceProfile) -> None:
    """A device of at most 600 work-items is measured with 513, too, which leave units idle."""
    profile = with_group_sizes(measured, 16, [1, 16, 17, 24, 32, 33, 256, 257, 512, 513])
    model = THESIS.for_device(profile)
    assert model.group_factor(512) == 1.0
    assert model.group_factor(513) == pytest.approx(528 / 513)


def test_group_sizes_between_powers_of_two_are_measured() -> None:
    room = ProbeLimits.of(load_profile("nvidia-h200").device, Effort.FULL)
    for max_items, largest in ((1024, 1024), (600, 513), (256, 256), (20, 17)):
        probes = list(group_sizes(replace(room, max_group_items=max_items)))
        sizes = [int(probe.x) for probe in probes]
        assert sizes == sorted(set(sizes))
        assert max(sizes) == largest
        assert {size for size in POWERS if size <= max_items} < set(sizes)
        for probe in probes:
            assert isinstance(probe.work, Workload)
            assert probe.work.local_size == (probe.x,)
            assert probe.work.work_items % probe.work.group_items == 0
            assert probe.work.work_items == pytest.approx(1 << 20, rel=1e-3)
