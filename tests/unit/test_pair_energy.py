"""Joules of two recorded boards: each by its UUID, equal to its own counter, also over recordings."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import cltrace
from cltrace.power.energy import TraceEnergy, energy_of
from cltrace.trace.merge import merge
from tests.recorded_pairs import UUIDS, unpack_pair


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TraceEnergy]:
    """Two ranks on a board each, merged."""
    with cltrace.load(unpack_pair("ranks", tmp_path_factory.mktemp("ranks"))) as trace:
        yield energy_of(trace)


def plain(key: str) -> str:
    return key.lower().replace("-", "")


def test_each_board_is_measured_under_its_uuid(ranks: TraceEnergy) -> None:
    assert [source.devices[0].ids for source in ranks.sources] == [(1,), (2,)]
    for source, uuid in zip(ranks.sources, UUIDS, strict=True):
        assert uuid in plain(source.channel.key)
        assert [uuid in plain(check.other.key) for check in source.checks] == [True]


def test_sums_of_each_board_are_those_of_its_counter(ranks: TraceEnergy) -> None:
    for source in ranks.sources:
        assert source.checks[0].ratio == pytest.approx(1, abs=0.02)
        assert source.attribution is not None
        balance = source.attribution.balance
        parts = (balance.kernels_j, balance.transfers_j, balance.unresolved_j, balance.tail_j)
        rest = balance.idle_j + balance.unattributed_j
        assert sum(parts) + rest == pytest.approx(balance.measured_j, rel=1e-3)


def test_joules_of_kernels_are_those_of_their_board(ranks: TraceEnergy) -> None:
    watts = {
        (line.load.names[0], line.load.device): line.power_w
        for line in ranks.lines
        if line.energy_j is not None
    }
    # The same kernels on both boards draw the same power within the spread of boards.
    assert set(watts) == {(name, device) for name in ("chain", "whole") for device in (1, 2)}
    for name, usual_w in (("chain", 310), ("whole", 455)):
        for device in (1, 2):
            assert watts[name, device] == pytest.approx(usual_w, rel=0.06)


def test_time_between_recordings_is_in_no_comparison_with_the_counter(tmp_path: Path) -> None:
    paths = [unpack_pair(name, tmp_path) for name in ("one-context", "ranks")]
    merge(paths, tmp_path / "both.cltrace")
    with cltrace.load(tmp_path / "both.cltrace") as trace:
        checks = [check for source in energy_of(trace).sources for check in source.checks]
    assert [check.ratio for check in checks] == pytest.approx([1, 1], abs=0.02)
