"""Stores of the members of structures: those of small ones are merged, and partial ones are fetched."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import member_stores
from cltrace.kernels import BufferArgument, count, parse
from cltrace.kernels.counts.workloads import machine_of
from cltrace.kernels.demand import demand_of
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access
from cltrace.predict import predict_launch
from cltrace.profile import load_profile

ROOT = Path(__file__).parents[2]
MEASURED = json.loads((ROOT / "tests/data/h200-member-stores.json").read_text())
ROWS = json.loads((ROOT / "tests/data/h200-row-stores.json").read_text())
PROFILE = load_profile("nvidia-h200")
ITEMS = 1 << 19
ARGUMENTS = (BufferArgument(1 << 30), BufferArgument(1 << 30), 0.5)


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    return member_stores.sources()


def written(source: str) -> Traffic:
    machine = machine_of(PROFILE.device)
    counts = count(parse(source), "f", (ITEMS,), (256,), ARGUMENTS, machine=machine)
    (region,) = (r for r in demand_of(counts, frozenset()).traffic if r.access is Access.WRITE)
    return region


def test_members_of_a_small_structure_are_written_together(sources: dict[str, str]) -> None:
    single, three = (written(sources[f"alone 6 {members}"]) for members in (1, 3))
    assert three.sectors == pytest.approx(single.sectors, rel=0.01)
    assert three.partial_sectors == pytest.approx(single.partial_sectors, rel=0.01)
    whole = written(sources["alone 4 4"])
    assert whole.partial_sectors == 0.0
    assert whole.sectors == pytest.approx(ITEMS / 2, rel=0.01)


@pytest.mark.parametrize("numbers", [8, 12, 16])
def test_members_of_a_large_structure_are_written_one_by_one(
    sources: dict[str, str], numbers: int
) -> None:
    """A store touches a line per four lanes or fewer; the share that is merged falls with the lines."""
    single, three = (written(sources[f"alone {numbers} {members}"]) for members in (1, 3))
    separate = 1 + 2 * (1 - (6.5 / numbers) ** 4)
    assert three.sectors == pytest.approx(separate * single.sectors, rel=1e-3)
    assert three.partial_sectors == pytest.approx(separate * single.partial_sectors, rel=1e-3)


@pytest.mark.parametrize("count", member_stores.OPERATIONS)
def test_operations_between_stores_do_not_merge_them(sources: dict[str, str], count: int) -> None:
    name = f"row 8 {count}"
    predicted = predict_launch(sources[name], "f", (ITEMS,), (256,), ARGUMENTS, PROFILE)
    assert predicted.duration_ns == pytest.approx(ROWS["ns"][name][0], rel=0.15)


@pytest.mark.parametrize(
    ("name", "sectors"),
    [("alone 8 1", 1.0), ("updated 8 1", 0.0), ("beside 8 1", 1.0), ("alone 4 4", 0.0)],
)
def test_memory_reads_what_only_writes_touch_in_part(
    sources: dict[str, str], name: str, sectors: float
) -> None:
    assert written(sources[name]).fetched_bytes == pytest.approx(32 * sectors * ITEMS, rel=0.01)


def test_a_distance_is_of_the_structures_and_not_of_the_array(sources: dict[str, str]) -> None:
    """The array is far larger than what is touched, which costs nothing."""
    assert written(sources["alone 12 1"]).granule_bytes == pytest.approx(48 * ITEMS, rel=0.01)


def test_structures_take_as_long_as_measured(sources: dict[str, str]) -> None:
    quotients = []
    for name in list(MEASURED["ns"])[::3]:
        for items, duration_ns in zip(MEASURED["sizes"], MEASURED["ns"][name], strict=True):
            predicted = predict_launch(sources[name], "f", (items,), (256,), ARGUMENTS, PROFILE)
            quotients.append(predicted.duration_ns / duration_ns)
    assert np.mean(np.abs(np.array(quotients) - 1.0)) < 0.15
    assert np.mean(np.maximum(quotients, 1.0 / np.array(quotients)) < 1.5) > 0.9
