"""Verdicts of paired samples: as wrong as they say, and no more."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cltrace.regress.statistics import centre_interval, hodges_lehmann, holm, sign_flip_p
from cltrace.regress.verdicts import LEVEL, Finding, Verdict, compute_findings, confirm

# Their sums are exact in any order: a tie of two sums is one for the reference, too.
values = st.lists(
    st.integers(-(1 << 20), 1 << 20).map(lambda n: n / (1 << 20)), min_size=6, max_size=12
)


@given(values)
def test_sign_flips_are_scipys(found: list[float]) -> None:
    d = np.array(found)
    reference = stats.permutation_test(
        (d,), lambda x, axis: x.sum(axis=axis), permutation_type="samples", alternative="greater",
        n_resamples=np.inf,
    )  # fmt: skip
    assert sign_flip_p(d) == pytest.approx(reference.pvalue, abs=1e-9)


def test_many_sign_flips_are_nearly_all_of_them() -> None:
    d = np.random.default_rng(1).normal(0.1, 0.4, 20)
    bits = np.arange(1 << 20)[:, None] >> np.arange(20) & 1
    exact = float((((1 - 2 * bits) * d).sum(axis=1) >= d.sum()).mean())
    assert sign_flip_p(d) == pytest.approx(exact, abs=0.01)
    assert sign_flip_p(np.full(20, 1.0)) == pytest.approx(1 / 20_001)


@given(values, st.floats(-2, 2))
def test_the_centre_moves_with_its_values(found: list[float], by: float) -> None:
    d = np.array(found)
    assert hodges_lehmann(d + by) == pytest.approx(hodges_lehmann(d) + by, abs=1e-9)
    assert hodges_lehmann(-d) == pytest.approx(-hodges_lehmann(d), abs=1e-9)
    interval = centre_interval(d)
    assert interval.low <= hodges_lehmann(d) <= interval.high
    wide = centre_interval(d, 0.5)
    assert interval.low <= wide.low
    assert wide.high <= interval.high


@pytest.mark.parametrize("pairs", [6, 8, 16, 32])
def test_intervals_hold_what_they_say(pairs: int) -> None:
    chooser = np.random.default_rng(pairs)
    held = 0
    for _ in range(600):
        interval = centre_interval(chooser.standard_t(3, pairs))
        held += interval.low <= 0 <= interval.high
    assert held / 600 > 0.93


def test_five_pairs_cannot_have_an_interval() -> None:
    assert math.isinf(centre_interval(np.arange(5.0)).low)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def pairs_of(
    chooser: np.random.Generator, kernels: int, pairs: int, change: float
) -> dict[str, np.ndarray]:
    """Log ratios with a drift that both of a pair have mostly; the first kernel is changed."""
    drift = np.cumsum(chooser.normal(0, 0.05, 2 * pairs))
    found = {}
    for number in range(kernels):
        runs = drift + chooser.normal(0, 0.08, 2 * pairs)
        signs = np.where(np.arange(pairs) % 2 == 0, 1, -1)
        found[f"k{number}"] = (runs[1::2] - runs[::2]) * signs + (change if not number else 0.0)
    return found


def test_no_change_is_hardly_ever_one() -> None:
    """One of 20 kernels is called slower in one check of 20 at most, and no round confirms it."""
    chooser = np.random.default_rng(5)
    floors = dict.fromkeys(map("k{}".format, range(20)), 0.1)
    alarms = kept = 0
    for _ in range(60):
        found = compute_findings(pairs_of(chooser, 20, 16, 0.0), floors)
        again = compute_findings(pairs_of(chooser, 20, 16, 0.0), floors)
        alarms += any(one.verdict is Verdict.SLOW for one in found.values())
        kept += any(confirm(found[k], again[k]).verdict is Verdict.SLOW for k in found)
    assert alarms <= 3
    assert kept == 0


def test_a_change_is_found_and_says_how_large() -> None:
    chooser = np.random.default_rng(6)
    seen = 0
    for _ in range(40):
        found = compute_findings(
            pairs_of(chooser, 20, 16, math.log(1.25)),
            dict.fromkeys(map("k{}".format, range(20)), 0.1),
        )
        first = found["k0"]
        seen += first.verdict is Verdict.SLOW
        assert first.interval.low <= first.ratio <= first.interval.high
        if first.verdict is Verdict.SLOW:
            assert first.p < LEVEL
            assert first.ratio > 1.1
            assert first.more_pairs is None
    assert seen >= 38


def test_what_is_not_known_is_said_with_what_would_tell() -> None:
    chooser = np.random.default_rng(7)
    noisy = {"k": chooser.normal(0.0, 0.5, 8)}
    found = compute_findings(noisy, {"k": 0.03})["k"]
    assert found.verdict is Verdict.AMBIGUOUS
    assert found.more_pairs is not None
    assert found.more_pairs > 20
    # So many more do decide, mostly.
    again = compute_findings(
        {"k": chooser.normal(0.0, 0.5, 8 + 4 * found.more_pairs)}, {"k": 0.03}
    )["k"]
    assert again.interval.high - again.interval.low < found.interval.high - found.interval.low


def test_the_same_and_the_faster() -> None:
    chooser = np.random.default_rng(8)
    found = compute_findings(
        {"same": chooser.normal(0, 0.02, 12), "fast": chooser.normal(-0.3, 0.02, 12)},
        {"same": 0.1, "fast": 0.1},
    )
    assert found["same"].verdict is Verdict.SAME
    assert found["fast"].verdict is Verdict.FAST
    assert found["fast"].ratio == pytest.approx(math.exp(-0.3), rel=0.03)


def test_a_change_that_does_not_come_again_is_ambiguous() -> None:
    d = {"k": np.full(10, 0.3) + np.linspace(-0.01, 0.01, 10)}
    slow = compute_findings(d, {"k": 0.1})["k"]
    same = compute_findings({"k": d["k"] - 0.3}, {"k": 0.1})["k"]
    assert slow.verdict is Verdict.SLOW
    assert confirm(slow, slow) == slow
    again = confirm(slow, same)
    assert again.verdict is Verdict.AMBIGUOUS
    assert again.more_pairs
    fast = compute_findings({"k": -d["k"]}, {"k": 0.1})["k"]
    assert confirm(fast, fast) == fast
    assert confirm(fast, slow).verdict is Verdict.AMBIGUOUS
    assert confirm(same, slow) == same


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="fewer than 6 pairs"):
        compute_findings({"k": np.zeros(5)}, {"k": 0.1})
    with pytest.raises(ValueError, match="no values to estimate the centre of"):
        hodges_lehmann(np.zeros(0))
    assert sign_flip_p(np.zeros(0)) == 1.0


def test_among_many_kernels_few_pairs_cannot_decide() -> None:
    """A change of one of 20 in 6 pairs is no proof, however clear: the smallest p is 1/32."""
    d = {f"k{n}": np.linspace(-0.01, 0.01, 6) + (0.5 if not n else 0.0) for n in range(20)}
    found: Finding = compute_findings(d, dict.fromkeys(d, 0.1))["k0"]
    assert found.verdict is Verdict.AMBIGUOUS
    assert found.more_pairs is not None
    more = {name: np.tile(one, 2) for name, one in d.items()}
    assert 6 + found.more_pairs <= 12
    assert compute_findings(more, dict.fromkeys(d, 0.1))["k0"].verdict is Verdict.SLOW
