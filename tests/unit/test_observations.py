"""What a channel tells: counters are unwrapped exactly, and what is not known is left out."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cltrace.events.power import SampleFlag
from cltrace.power.mean_power import NO_OBSERVATIONS, Observations, compute_observations, unwrap
from tests.channels import power_channel


def test_a_meter_out_of_order_is_not_believed() -> None:
    channel = power_channel(scope="psu")
    times = np.arange(6, dtype=np.int64) * 10**8
    raw = np.array([50, 51, -20, 10**11, 52, 50], np.int64)
    zeros = np.zeros(6, np.int64)
    seen = compute_observations(channel, times, raw, zeros, zeros)
    assert seen.power_w.tolist() == [50, 51, 52, 50]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 999), min_size=1, max_size=50),
    st.integers(0, 999),
    st.integers(1000, 5000),
)
def test_unwrapping_is_exact(steps: list[int], begin: int, modulus: int) -> None:
    raw = (begin + np.concatenate([[0], np.cumsum(steps)])) % modulus
    found, unknown = unwrap(raw, modulus, np.zeros(len(raw), np.bool_))
    assert found.tolist() == steps
    assert not unknown.any()


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=20))
def test_a_counter_that_goes_back_without_a_modulus_is_a_gap(raw: list[int]) -> None:
    found, unknown = unwrap(np.array(raw, np.int64), None, np.zeros(len(raw), np.bool_))
    assert (found >= 0).all()
    assert unknown.tolist() == [later < earlier for earlier, later in itertools.pairwise(raw)]


def test_energy_of_a_counter_has_no_gaps_filled() -> None:
    """A counter that was restarted tells nothing of the time around that."""
    channel = power_channel(quantity="energy", scope="cpu")
    times = np.arange(10) * 10**9
    raw = np.array([0, 10, 20, 30, 40, 5, 15, 25, 35, 45])
    zeros = np.zeros(10, np.int64)
    seen = compute_observations(channel, times, raw, zeros, zeros)
    assert (seen.power_w == 10).all()
    assert seen.span_s.sum() == pytest.approx(7.0)
    flags = zeros.copy()
    flags[3] = int(SampleFlag.RESTARTED)
    assert compute_observations(channel, times, raw, zeros, flags).span_s.sum() == pytest.approx(
        6.0
    )


def test_a_counter_that_was_reset_did_not_turn_round() -> None:
    """A package at 40 W, whose counter of 65.5 kJ is set to 0: no 65 kJ were drawn."""
    channel = power_channel(
        quantity="energy",
        scope="cpu",
        unit_per_step=1e-6,
        modulus_steps=65_532_610_987,
        quantum=1e-6,
        period_s=0.001,
    )
    times = np.arange(40) * 50_000_000
    raw = 1_000_000_000 + np.arange(40) * 2_000_000
    raw[20:] -= raw[20]
    zeros = np.zeros(40, np.int64)
    seen = compute_observations(channel, times, raw, zeros, zeros)
    assert seen.power_w == pytest.approx(40.0)
    assert len(seen) == 37
    wrapped = (65_532_610_987 - 40_000_000 + np.arange(40) * 2_000_000) % 65_532_610_987
    assert len(compute_observations(channel, times, wrapped, zeros, zeros)) == 38


def test_energy_of_a_time_is_what_was_observed_in_it() -> None:
    """Ten watts for a second, nothing known for one, thirty for two."""
    seen = Observations(
        begin_s=np.array([0.0, 2.0]), end_s=np.array([1.0, 4.0]), power_w=np.array([10.0, 30.0]),
        sigma_w=np.zeros(2), span_s=np.array([1.0, 2.0]),
    )  # fmt: skip
    assert seen.energy_between_j(-9.0, 9.0) == seen.energy_j == 70.0
    assert seen.energy_between_j(0.5, 2.5) == pytest.approx(5.0 + 15.0)
    assert seen.energy_between_j(1.0, 2.0) == 0.0
    assert seen.energy_between_j(3.0, 2.0) == 0.0
    assert NO_OBSERVATIONS.energy_between_j(0.0, 1.0) == 0.0
