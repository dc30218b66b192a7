"""Sampling: deadlines without drift, readers that fail, and a recording that nothing is missing of."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cltrace
from cltrace.errors import PowerError
from cltrace.events.power import ProbeState, Quantity, Scope
from cltrace.power.energy import energy_of
from cltrace.power.protocol import API, Channel, Probe, Sample
from cltrace.power.sampler import ChosenReader, NoLock, ReadSchedule, Sampler
from cltrace.timeline.timekeeping import finalise
from tests.patience import HANG_S, wait_until, watched_lateness
from tests.synthetic import write_recording

CHANNEL = Channel(
    key="fake:a", label="a", quantity=Quantity.POWER, scope=Scope.GPU, unit_per_step=1e-3
)


class Fake:
    """A reader that counts up. `fail` is called before each read."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["live"]] = "live"
    period_s: ClassVar[float] = 0.01
    longest_interval_s = 1.0

    def __init__(self, _: str = "", *, fail: Callable[[int], None] = lambda _: None) -> None:
        self.channels: Sequence[Channel] = (CHANNEL,)
        self.reads = 0
        self.is_closed = False
        self._fail = fail

    def probe(self) -> Probe:
        return Probe(ProbeState.DENIED, "locked away", "unlock it")

    def open(self, _: float) -> "Fake":
        self._fail(0)
        return self

    def read(self) -> Iterable[Sample]:
        self.reads += 1
        self._fail(self.reads)
        return [Sample("fake:a", time.perf_counter_ns(), self.reads)]

    def close(self) -> None:
        self.is_closed = True


def raising(at: int, error: Exception) -> Callable[[int], None]:
    def fail(reads: int) -> None:
        if reads == at:
            raise error

    return fail


def sampled(
    tmp_path: Path, *readers: Fake, until: Callable[[], bool] | None = None, **options: Any
) -> tuple[Any, Path]:
    """What the sampler says of readers, and a trace with what they read."""
    parts = write_recording(tmp_path / "t.cltrace")
    for file in (parts / "power").iterdir():
        file.unlink()
    chosen = [ChosenReader(f"fake{number}", one) for number, one in enumerate(readers)]
    sampler = Sampler(parts, "node1", chosen, **options)
    sampler.start()
    last = readers[-1]
    wait_until(until or (lambda: last.reads > 8 or last.is_closed), "the last reader to read")
    said = sampler.stop()
    finalise(parts, tmp_path / "t.cltrace")
    return said, tmp_path / "t.cltrace"


def test_what_is_read_is_in_the_trace(tmp_path: Path) -> None:
    reader = Fake()
    with watched_lateness() as lateness:
        (said,), path = sampled(tmp_path, reader)
    assert said.ended == ""
    assert reader.is_closed
    with cltrace.load(path) as trace:
        raw = [step for (step,) in trace.rows("SELECT raw FROM v_power ORDER BY sample_id")]
        times_ns = [time_ns for (time_ns,) in trace.rows("SELECT host_ns FROM v_power ORDER BY 1")]
        assert raw == list(range(1, reader.reads + 1))
        ((state, reads, asked, median),) = trace.rows(
            "SELECT state, reads, asked_period_s, period_p50_s FROM v_power_probe"
        )
    assert (state, reads) == ("ok", reader.reads)
    assert asked == pytest.approx(0.01)
    assert median == pytest.approx(float(np.median(np.diff(times_ns))) / 1e9, rel=0.5)
    assert median == pytest.approx(0.01, abs=0.005 + lateness.max_s)


@pytest.mark.parametrize("at", [0, 1, 5])
def test_a_reader_that_fails_is_dropped_alone(tmp_path: Path, at: int) -> None:
    bad, good = Fake(fail=raising(at, RuntimeError("the wire is off"))), Fake()
    said, path = sampled(tmp_path, bad, good)
    assert bad.reads <= at
    assert good.reads > 5
    assert said[1].ended == ""
    if at:
        assert said[0].ended == "RuntimeError: the wire is off"
        assert bad.is_closed
    else:
        # It could not be opened: its probe says why.
        assert (said[0].state, said[0].evidence) == ("denied", "locked away")
    with cltrace.load(path) as trace:
        assert trace.rows("SELECT count(*) FROM v_power WHERE raw > 5")[0][0] > 0


@pytest.mark.parametrize(
    "sample",
    [Sample("other", 1, 1), Sample("fake:a", 1.5, 1), Sample("fake:a", 1, 1 << 63)],  # type: ignore[arg-type]
)
def test_nonsense_of_a_reader_ends_it(tmp_path: Path, sample: Sample) -> None:
    reader = Fake()
    reader.read = lambda: [sample]  # type: ignore[method-assign]
    (said,), _ = sampled(tmp_path, reader)
    assert said.ended.startswith("ValueError")


def test_a_reader_that_hangs_does_not_hold_up_the_end(tmp_path: Path) -> None:
    gate = threading.Event()

    def hang(reads: int) -> None:
        if reads == 2:
            gate.wait(HANG_S)

    reader = Fake(fail=hang)
    begin = time.perf_counter()
    (said,), _ = sampled(tmp_path, reader, until=lambda: reader.reads == 2)
    assert time.perf_counter() - begin < HANG_S / 2
    assert said.ended == "it did not answer at the end"
    gate.set()


def test_a_reader_without_the_lock_reads_nothing_until_it_has_it(tmp_path: Path) -> None:
    class Later(NoLock):
        asked = 0

        def acquire(self) -> bool:
            Later.asked += 1
            return False

    reader = Fake()
    (said,), _ = sampled(
        tmp_path, reader, until=lambda: Later.asked > 1, make_lock=lambda _: Later()
    )
    assert reader.reads == 0
    assert "another rank" in said.evidence


def test_a_disk_that_fills_up_ends_all_readers_and_shifts_no_row(tmp_path: Path) -> None:
    """After a write that may have been cut short nothing more is written."""
    parts = tmp_path / "t.cltrace.parts"
    (parts / "power").mkdir(parents=True)
    (parts / "power" / "power_samples.rows").symlink_to("/dev/full")
    readers = [Fake(), Fake()]
    chosen = [ChosenReader(f"fake{number}", one) for number, one in enumerate(readers)]
    sampler = Sampler(parts, "node1", chosen)
    sampler.start()
    wait_until(lambda: all(reader.is_closed for reader in readers), "both readers to be ended")
    said = sampler.stop()
    assert any("No space left" in one.ended for one in said)
    assert all(one.is_closed and one.reads <= 2 for one in readers)


def test_statistics_are_those_of_their_reader_whoever_opens_first(tmp_path: Path) -> None:
    def slow(reads: int) -> None:
        if not reads:
            time.sleep(0.1)

    readers = [Fake(fail=slow), Fake()]
    readers[0].period_s = 0.05  # type: ignore[misc]
    _, path = sampled(tmp_path, *readers, until=lambda: readers[1].reads > 40)
    with cltrace.load(path) as trace:
        found = dict(trace.rows("SELECT reader, reads FROM v_power_probe"))
    assert found == {"fake0": readers[0].reads, "fake1": readers[1].reads}
    assert readers[0].reads < readers[1].reads


@pytest.mark.parametrize(
    "wrong",
    [{"modulus_steps": 0}, {"modulus_steps": 1 << 64}, {"quantum": -1.0}, {"period_s": 1e300}],
)
def test_what_a_channel_cannot_have_is_not_known(tmp_path: Path, wrong: dict[str, Any]) -> None:
    reader = Fake()
    reader.channels = (replace(CHANNEL, **wrong),)
    (said,), path = sampled(tmp_path, reader)
    assert said.ended == ""
    with cltrace.load(path) as trace:
        assert energy_of(trace).sources[0].sample_count == reader.reads
        assert trace.rows(f"SELECT {next(iter(wrong))} FROM v_power_channel") == [(None,)]


@pytest.mark.parametrize("unit", [0.0, -1.0, float("inf"), float("nan"), 1e300])
def test_an_impossible_unit_drops_the_reader(tmp_path: Path, unit: float) -> None:
    reader = Fake()
    reader.channels = (replace(CHANNEL, unit_per_step=unit),)
    (said,), path = sampled(tmp_path, reader)
    assert said.ended.startswith("ValueError")
    with cltrace.load(path) as trace:
        assert not energy_of(trace).sources


def test_no_directory_ends_the_reader_and_nothing_else(tmp_path: Path) -> None:
    parts = tmp_path / "t.cltrace.parts"
    parts.write_text("no directory")
    sampler = Sampler(parts, "node1", [ChosenReader("fake", Fake())])
    sampler.start()
    assert [one.ended for one in sampler.stop()] == [""]


@given(st.integers(1, 10**9), st.lists(st.integers(0, 5 * 10**9), min_size=1, max_size=30))
def test_deadlines_are_whole_periods_and_lie_ahead(period_ns: int, takes_ns: list[int]) -> None:
    pacing = ReadSchedule(1000, period_ns)
    now = 1000
    for taken in takes_ns:
        now = max(now, pacing.due_ns) + taken
        before = pacing.due_ns
        pacing.advance(now)
        assert (pacing.due_ns - 1000) % period_ns == 0
        assert pacing.due_ns > before
        assert pacing.due_ns >= now
        assert pacing.due_ns - max(now, before + period_ns) <= period_ns


def test_a_reader_of_a_block_is_named_or_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(PowerError, match="no power reader"),
        cltrace.trace(tmp_path / "x.cltrace", power=("wall",)),
    ):
        pass
    assert not list(tmp_path.iterdir())
