"""What a run's trace says as a sample: medians of kernels, the machine, and counters without noise."""

import contextlib
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

import cltrace
from cltrace.events.kinds import FAULT_SHIFT, StampFault
from cltrace.power.energy import energy_of
from cltrace.regress.counters import (
    CounterDirection,
    CounterKey,
    CounterKind,
    FailureKind,
    compare_counters,
    count_events,
    parse_counter,
    select_steady,
)
from cltrace.regress.run_records import DeviceIdentity, KernelKey
from cltrace.regress.samples import WHOLE_RUN, kernel_energies, read_sample
from cltrace.regress.work import SizedKernel

DATA = Path(__file__).parents[1] / "data"
GOLDEN = Path(__file__).parents[1] / "golden"
LAUNCHES = CounterKey(CounterKind.LAUNCHES, SizedKernel("chain", "[4194304]"))


def test_a_real_run_as_a_sample() -> None:
    with cltrace.load(DATA / "h200-mixture.cltrace") as trace:
        found = read_sample(trace)
        durations = [
            ns
            for (ns,) in trace.rows(
                "SELECT duration_ns FROM v_command WHERE kernel = 'chain' ORDER BY enter_host_ns"
            )
        ]
    assert found.devices == (
        DeviceIdentity("NVIDIA H200", "NVIDIA CUDA", "580.159.04", "OpenCL 3.0 CUDA 13.0.98"),
    )
    chain = found.kernels[KernelKey("chain", "[4194304]", "NVIDIA H200")]
    assert (chain.launches, chain.counted) == (1031, 1026)
    assert chain.median_ns == sorted(durations[5:])[513] or chain.median_ns == pytest.approx(
        (sorted(durations[5:])[512] + sorted(durations[5:])[513]) / 2
    )
    assert chain.total_ns == sum(durations)
    assert len(found.kernels) == 5


def test_a_kernel_that_is_launched_seldom_keeps_half_of_its_launches() -> None:
    with cltrace.load(GOLDEN / "schema-3.cltrace") as trace:
        for one in read_sample(trace, drop=1000).kernels.values():
            assert one.counted == one.launches - one.launches // 2
        for one in read_sample(trace, drop=0).kernels.values():
            assert one.counted == one.launches


def test_counters_of_a_real_run() -> None:
    with cltrace.load(DATA / "h200-mixture.cltrace") as trace:
        found = count_events(trace)
    assert found[LAUNCHES] == 1031
    assert found[CounterKey(CounterKind.BUILDS)] == 1
    assert found[CounterKey(CounterKind.TRANSFERS, CounterDirection.TO_DEVICE)] == 1150
    assert found[CounterKey(CounterKind.BYTES, CounterDirection.TO_DEVICE)] == 1150 * (64 << 20)
    assert CounterKey(CounterKind.FAILURES, FailureKind.CALLS) not in found


def test_a_command_that_nobody_saw_end_is_counted_and_one_with_wrong_stamps_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.cltrace"
    shutil.copyfile(GOLDEN / "schema-3.cltrace", path)
    untimed = CounterKey(CounterKind.UNTIMED)

    def found() -> int:
        with cltrace.load(path) as trace:
            return count_events(trace).get(untimed, 0)

    before = found()
    changes = {
        f"flags = flags | {StampFault.FOREIGN << FAULT_SHIFT}": 0,
        "end_device_ns = NULL, start_device_ns = NULL, flags = 0": 1,
    }
    for change, more in changes.items():
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            assert database.execute(f"UPDATE command SET {change} WHERE id = 4").rowcount == 1
        with cltrace.load(path) as trace:
            ((duration,),) = trace.rows("SELECT duration_ns FROM v_command WHERE command_id = 4")
        assert (duration, found()) == (None, before + more)


BUILDS = CounterKey(CounterKind.BUILDS)


def test_differences_are_told_both_ways() -> None:
    other = CounterKey(CounterKind.LAUNCHES, SizedKernel("other", "[1]"))
    base, head = {LAUNCHES: 10, BUILDS: 1}, {LAUNCHES: 11, other: 2}
    differences, unsteady = compare_counters([base], [head])
    found = {one.key: (one.base, one.head, one.is_worse) for one in differences}
    # Another name for a kernel is no regression; all launches together have a counter of their own.
    assert found == {LAUNCHES: (10, 11, True), BUILDS: (1, 0, False), other: (0, 2, False)}
    assert unsteady == ()
    assert compare_counters([base], [base]) == ((), ())


def test_what_differs_from_run_to_run_says_nothing() -> None:
    wavering = [{LAUNCHES: 10, BUILDS: 1}, {LAUNCHES: 10}, {LAUNCHES: 10, BUILDS: 1}]
    assert select_steady(wavering) == {LAUNCHES: 10}
    differences, unsteady = compare_counters(wavering, [{LAUNCHES: 10, BUILDS: 9}])
    assert differences == ()
    assert unsteady == (BUILDS,)


def test_one_run_of_many_that_is_not_like_the_others_is_passed_over() -> None:
    cold = [{BUILDS: 9}] + [{BUILDS: 1}] * 5
    (found,), unsteady = compare_counters(cold, [{BUILDS: 2}] * 6)
    assert found.base == 1
    assert found.head == 2
    assert found.is_worse
    assert unsteady == ()
    assert compare_counters(cold[:5], [{BUILDS: 2}] * 6) == ((), (BUILDS,))
    # What wavers tells nothing, however far apart the sides are.
    wavering = [{BUILDS: 10 + n % 3} for n in range(12)]
    more = [{BUILDS: 20 + n % 3} for n in range(12)]
    assert compare_counters(wavering, more) == ((), (BUILDS,))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_traces_of_every_schema_are_samples(version: int) -> None:
    with cltrace.load(GOLDEN / f"schema-{version}.cltrace") as trace:
        found = read_sample(trace)
    assert found.kernels
    assert found.counters


def test_energy_of_a_run_is_that_of_its_time_and_of_kernels_told_apart() -> None:
    """Meters tell of seconds before and after a run, too: its energy is not how long they were read."""
    with cltrace.load(DATA / "h200-mixture.cltrace") as trace:
        whole = energy_of(trace)
        energy = read_sample(trace).energy_j
        assert energy[WHOLE_RUN] == pytest.approx(
            whole.energy_between_j(0.0, 31.794944257), abs=1e-6
        )
        assert energy[WHOLE_RUN] < 0.95 * whole.total_j
        assert whole.energy_between_j(-1e3, 1e3) == pytest.approx(whole.total_j)
        assert SizedKernel("chain", "[4194304]") in energy
        together = [
            replace(line, load=replace(line.load, names=(*line.load.names, "other")))
            for line in whole.lines
        ]
        assert kernel_energies(whole.lines)
        assert not kernel_energies(together)


@pytest.mark.parametrize(
    "key",
    [
        CounterKey(CounterKind.LAUNCHES),
        CounterKey(CounterKind.LAUNCHES, SizedKernel("k", "[64, 2]")),
        CounterKey(CounterKind.LAUNCHES, SizedKernel("k", "")),
        CounterKey(CounterKind.LAUNCHES, SizedKernel("", "[64]")),
        CounterKey(CounterKind.BYTES, CounterDirection.WITHIN_DEVICE),
        CounterKey(CounterKind.FAILURES, FailureKind.COMMANDS),
    ],
)
def test_counters_are_parsed_as_they_are_stored(key: CounterKey) -> None:
    assert parse_counter(*key.to_stored()) == key


@pytest.mark.parametrize("stored", [("launched", ""), ("bytes", "sideways"), ("builds", "k [64]")])
def test_a_counter_that_no_cltrace_stores_is_refused(stored: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match=r"launched|sideways|k \[64\]"):
        parse_counter(*stored)
