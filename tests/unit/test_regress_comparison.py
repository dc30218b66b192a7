"""Runs held against runs: what fails, what is open, and what is only told."""

from dataclasses import replace

import pytest

from cltrace.regress.comparison import Comparison, compare_rounds
from cltrace.regress.floors import Floors
from cltrace.regress.run_records import DeviceIdentity, Round
from cltrace.regress.verdicts import Verdict
from cltrace.regress.work import RunWork
from cltrace.report.comparison import regression_report
from tests.run_samples import DEVICE, HEAVY, LAUNCHES, LIGHT, MS, TINY, round_of, run_of


def is_worse(found: Comparison) -> bool:
    return found.has_more or found.is_slower


def test_the_same_is_the_same() -> None:
    found = compare_rounds([round_of(1, {})])
    assert not is_worse(found)
    assert not found.is_open
    assert found.counters == ()
    assert {one.finding.verdict for one in found.kernels.values() if one.finding} == {Verdict.SAME}


def test_a_slower_kernel_fails_when_a_second_round_shows_it_too() -> None:
    first = round_of(2, {LIGHT: 1.3})
    alone = compare_rounds([first])
    assert not is_worse(alone)
    assert alone.is_open
    again = compare_rounds([first, round_of(3, {LIGHT: 1.3})])
    assert is_worse(again)
    assert again.kernels[LIGHT].is_slower
    assert again.kernels[LIGHT].base_ns == pytest.approx(1e6, rel=0.05)
    assert again.kernels[LIGHT].head_ns == pytest.approx(1.3e6, rel=0.05)
    assert not again.kernels[HEAVY].is_slower
    vanished = compare_rounds([first, round_of(3, {})])
    assert not is_worse(vanished)
    assert vanished.is_open


def test_a_kernel_without_weight_is_told_and_fails_nothing() -> None:
    rounds = [round_of(4, {TINY: 3.0}), round_of(5, {TINY: 3.0})]
    found = compare_rounds(rounds)
    one = found.kernels[TINY]
    assert one.finding is not None
    assert one.finding.verdict is Verdict.SLOW
    assert not one.is_gated
    assert not is_worse(found)
    assert not found.is_open


def test_a_floor_is_each_kernels_own() -> None:
    rounds = [round_of(6, {LIGHT: 1.3}), round_of(7, {LIGHT: 1.3})]
    assert not is_worse(compare_rounds(rounds, Floors(0.5)))
    assert is_worse(compare_rounds(rounds, Floors(0.5, (("l*", 0.1),))))
    assert not is_worse(compare_rounds(rounds, Floors(limits=(("light", 0.5),))))


def test_a_launch_more_is_worse_however_noisy_the_time_is() -> None:
    found = compare_rounds([round_of(8, {}, pairs=2, launches=11)])
    (one,) = found.counters
    assert one.key == LAUNCHES
    assert one.base == 10
    assert one.head == 11
    assert one.is_worse
    assert is_worse(found)
    fewer = compare_rounds([round_of(8, {}, pairs=2, launches=9)])
    assert fewer.counters
    assert not is_worse(fewer)


def test_a_counter_that_wavers_says_nothing() -> None:
    plain = round_of(9, {})
    odd = run_of(dict.fromkeys(MS, 1.0), launches=12)
    wavering = Round(plain.base, (*plain.head[:-2], odd, odd))
    found = compare_rounds([wavering])
    assert found.unsteady == (LAUNCHES,)
    assert found.counters == ()
    assert not is_worse(found)


def test_few_pairs_are_open_and_none_is_a_mistake() -> None:
    found = compare_rounds([round_of(10, {HEAVY: 2.0}, pairs=5)])
    assert all(one.finding is None for one in found.kernels.values())
    assert found.is_open
    with pytest.raises(ValueError, match="no pair"):
        compare_rounds([Round((), ())])


def test_a_kernel_that_one_side_lacks_is_told() -> None:
    plain = round_of(11, {})
    without = tuple(run_of({HEAVY: 1.0}) for _ in plain.head)
    found = compare_rounds([Round(plain.base, without)])
    assert found.kernels[LIGHT].head_ns is None
    assert found.kernels[LIGHT].finding is None
    assert not found.is_open


def test_other_devices_are_named() -> None:
    other = DeviceIdentity("board", "platform", "2.0", "OpenCL 3.0")
    plain = round_of(12, {})
    moved = tuple(run_of(dict.fromkeys(MS, 1.0), device=other) for _ in plain.head)
    assert compare_rounds([plain]).other_devices == ()
    assert compare_rounds([Round(plain.base, moved)]).other_devices == (DEVICE, other)


def test_what_no_run_of_a_side_counted_is_told() -> None:
    plain = run_of({HEAVY: 1.0})
    counted = replace(plain, work=RunWork("clang", {}, {}))
    cases = (
        ((plain,), (plain,), "base and head"), ((counted, plain), (plain, plain), "head"),
        ((plain,), (counted,), "base"),
    )  # fmt: skip
    for base, head, sides in cases:
        found = compare_rounds([Round(base, head)])
        assert " and ".join(found.sides_not_counted) == sides
        notes = regression_report(found).notes
        assert any(f"there was no clang for {sides}:" in one for one in notes)
    found = compare_rounds([Round((counted, plain), (plain, counted))])
    assert found.sides_not_counted == ()
    assert not any("clang" in one for one in regression_report(found).notes)
