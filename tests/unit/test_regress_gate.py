"""What a comparison comes to: only what is beyond doubt fails, and doubt is said."""

from dataclasses import replace

import pytest

from cltrace.regress.across_devices import project_base
from cltrace.regress.comparison import ALL_KERNELS, compare_rounds
from cltrace.regress.floors import Floors
from cltrace.regress.gate import Basis, OnAmbiguous, Outcome, judge
from cltrace.regress.rounds import Budget, resolution, split_rounds, take_rounds
from cltrace.regress.run_records import DeviceIdentity, KernelKey, KernelTime, PredictedTime, Round
from cltrace.regress.samples import WHOLE_RUN
from tests.run_samples import DEVICE, HEAVY, LIGHT, MS, round_of, run_of

OTHER = DeviceIdentity("other board", "platform", "1.0", "OpenCL 3.0")


def test_the_same_passes_and_slower_twice_fails() -> None:
    assert judge(compare_rounds([round_of(1, {})]), Basis.INTERLEAVED).outcome is Outcome.PASSED
    rounds = [round_of(2, {LIGHT: 1.3}), round_of(3, {LIGHT: 1.3})]
    assert judge(compare_rounds(rounds), Basis.INTERLEAVED).outcome is Outcome.REGRESSION
    once = judge(compare_rounds(rounds[:1]), Basis.INTERLEAVED)
    assert (once.outcome, "second round" in once.why) == (Outcome.UNDECIDED, True)


def test_a_counter_fails_on_any_basis_of_the_same_device() -> None:
    more = round_of(8, {}, pairs=2, launches=11)
    for basis in Basis:
        assert judge(compare_rounds([more]), basis).outcome is Outcome.REGRESSION
    moved = Round(more.base, tuple(replace(one, devices=(OTHER,)) for one in more.head))
    for basis in Basis:
        assert judge(compare_rounds([moved]), basis).outcome is Outcome.UNDECIDED


def test_single_runs_say_nothing_of_time() -> None:
    one = round_of(2, {LIGHT: 5.0}, pairs=1)
    assert judge(compare_rounds([one]), Basis.SINGLE_TRACES).outcome is Outcome.PASSED
    few = judge(compare_rounds([one]), Basis.INTERLEAVED)
    assert (few.outcome, few.why) == (
        Outcome.UNDECIDED, "1 runs of each side are too few: 6 at least",
    )  # fmt: skip


def test_another_device_is_refused() -> None:
    rounds = [round_of(2, {LIGHT: 1.3}), round_of(3, {LIGHT: 1.3})]
    moved = [
        Round(one.base, tuple(replace(run, devices=(OTHER,)) for run in one.head)) for one in rounds
    ]
    found = judge(compare_rounds(moved), Basis.INTERLEAVED)
    assert found.outcome is Outcome.UNDECIDED
    assert "different devices" in found.why


def test_what_may_be_slower_passes_unless_asked() -> None:
    found = compare_rounds([round_of(2, {LIGHT: 1.09})])
    assert found.is_open
    assert judge(found, Basis.INTERLEAVED).outcome is Outcome.PASSED
    strict = OnAmbiguous.FAIL
    assert judge(found, Basis.INTERLEAVED, strict).outcome is Outcome.UNDECIDED


def test_energy_informs_and_with_a_floor_fails() -> None:
    def powered(one: Round, factor: float) -> Round:
        return Round(
            tuple(replace(run, energy_j={WHOLE_RUN: 10.0}) for run in one.base),
            tuple(replace(run, energy_j={WHOLE_RUN: 10.0 * factor}) for run in one.head),
        )

    rounds = [powered(round_of(1, {}), 1.08), powered(round_of(13, {}), 1.08)]
    informing = compare_rounds(rounds, Floors(0.05))
    assert informing.energy[WHOLE_RUN].is_higher
    assert judge(informing, Basis.INTERLEAVED).outcome is Outcome.PASSED
    gated = compare_rounds(rounds, Floors(energy=0.05))
    assert gated.energy[WHOLE_RUN].finding.ratio == pytest.approx(1.08)
    assert judge(gated, Basis.INTERLEAVED).outcome is Outcome.REGRESSION
    once = compare_rounds(rounds[:1], Floors(energy=0.05))
    assert judge(once, Basis.INTERLEAVED).outcome is Outcome.UNDECIDED
    within = compare_rounds(rounds, Floors(energy=0.2))
    assert judge(within, Basis.INTERLEAVED).outcome is Outcome.PASSED


def test_a_kernel_that_a_second_round_does_not_have_is_not_confirmed() -> None:
    rounds = [round_of(2, {LIGHT: 1.3}), round_of(3, {LIGHT: 1.3}, pairs=5)]
    assert judge(compare_rounds(rounds), Basis.INTERLEAVED).outcome is Outcome.UNDECIDED


def test_a_kernel_with_another_name_is_seen_in_the_time_of_all() -> None:
    def renamed(one: Round, factor: float) -> Round:
        new = replace(HEAVY, kernel="renamed")
        return Round(
            one.base,
            tuple(
                replace(run, kernels={new: scaled(run.kernels[HEAVY], factor)}) for run in one.head
            ),
        )

    def scaled(time: KernelTime, factor: float) -> KernelTime:
        return replace(time, median_ns=time.median_ns * factor, total_ns=time.total_ns * factor)

    slow = compare_rounds([renamed(round_of(n, {}), 3.0) for n in (1, 2)])
    assert slow.kernels[ALL_KERNELS].is_slower
    assert judge(slow, Basis.INTERLEAVED).outcome is Outcome.REGRESSION
    same = compare_rounds([renamed(round_of(n, {}), 1.2) for n in (1, 2)])  # without the light one
    assert not same.is_slower


def test_rounds_go_on_while_open_and_confirm_what_is_slower() -> None:
    asked: list[int] = []

    def source(change: float) -> object:
        asked.clear()

        def take(count: int) -> Round:
            asked.append(count)
            return round_of(20 + len(asked), {LIGHT: change}, pairs=count)

        return take

    budget = Budget(8, 32)
    assert len(take_rounds(source(1.0), budget)) == 1  # type: ignore[arg-type]
    assert asked == [8]
    assert len(take_rounds(source(1.5), budget)) == 2  # type: ignore[arg-type]
    assert asked == [8, 8]
    edge = take_rounds(source(1.10), budget)  # type: ignore[arg-type]
    assert asked[:3] == [8, 8, 16]
    assert edge[0].num_pairs == 32
    assert edge[0].head[:8] != edge[0].head[8:16]


def test_runs_apart_become_two_rounds_where_there_are_enough() -> None:
    one = round_of(1, {}, pairs=20)
    first, second = split_rounds(one.base, one.head)
    assert (first.base, second.head) == (one.base[:10], one.head[10:])
    # Among two kernels that count, a change needs seven pairs to be told.
    assert [each.num_pairs for each in split_rounds(one.base[:13], one.head)] == [7, 6]
    assert [each.num_pairs for each in split_rounds(one.base[:12], one.head)] == [12]
    assert [each.num_pairs for each in split_rounds((), one.head)] == [0]


def test_the_resolution_is_what_the_widest_interval_leaves() -> None:
    fine, coarse = (resolution(compare_rounds([round_of(1, {}, pairs=n)])) for n in (40, 7))
    assert fine is not None
    assert coarse is not None
    assert 0 < fine < coarse < 0.2
    assert resolution(compare_rounds([round_of(1, {}, pairs=3)])) is None


def modelled_round(seed: int, change: float, predicted: dict[KernelKey, float]) -> Round:
    """Head on another device that is twice as fast, as the model says of the kernels it knows."""
    one = round_of(seed, dict.fromkeys(MS, 0.5 * change))

    def on(key: KernelKey) -> KernelKey:
        return replace(key, device=OTHER.name)

    before = {key: PredictedTime(ns, 0.9 * ns, 1.1 * ns) for key, ns in predicted.items()}
    after = {on(key): PredictedTime(ns / 2, 0.45 * ns, 0.55 * ns) for key, ns in predicted.items()}
    return Round(
        tuple(replace(run, modelled=before) for run in one.base),
        tuple(
            replace(
                run,
                devices=(OTHER,),
                kernels={on(key): time for key, time in run.kernels.items()},
                modelled=after,
            )
            for run in one.head
        ),
    )


def test_through_the_model_another_device_is_compared() -> None:
    known = {HEAVY: 4e6, LIGHT: 2e6}
    rounds, doubts = project_base([modelled_round(1, 1.0, known), modelled_round(2, 1.0, known)])
    assert doubts == {
        "heavy": pytest.approx(1.1 / 0.9, rel=0.02),
        "light": pytest.approx(1.23, 0.01),
    }
    found = compare_rounds(rounds, Floors(doubts=doubts))
    assert found.other_devices == ()
    assert {key.kernel for key in found.kernels} == {"heavy", "light"}
    assert judge(found, Basis.SEPARATE).outcome is Outcome.PASSED
    slow = [modelled_round(3, 1.2, known), modelled_round(4, 1.2, known)]
    rounds, doubts = project_base(slow)
    # +20 % is within what the model leaves open, and a double is not.
    assert (
        judge(compare_rounds(rounds, Floors(doubts=doubts)), Basis.SEPARATE).outcome
        is Outcome.PASSED
    )
    rounds, doubts = project_base([modelled_round(n, 2.0, known) for n in (5, 6)])
    found = compare_rounds(rounds, Floors(doubts=doubts))
    assert judge(found, Basis.SEPARATE).outcome is Outcome.REGRESSION


def test_without_a_model_nothing_is_compared() -> None:
    rounds, doubts = project_base([modelled_round(1, 1.0, {})])
    assert doubts == {}
    assert compare_rounds(rounds).kernels == {}


def test_floors_are_by_name_and_what_is_not_known_widens_them() -> None:
    floors = Floors(0.1, (("l*", 0.05), ("light", 0.2)), doubts={"light": 1.5})
    assert floors.of("heavy") == pytest.approx(0.1)
    assert floors.of("long") == pytest.approx(0.05)
    assert floors.of("light") == pytest.approx(1.2 * 1.5 - 1)


def test_records_that_the_tests_rely_on() -> None:
    assert run_of({HEAVY: 1.0}).devices == (DEVICE,)
