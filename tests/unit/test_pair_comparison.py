"""The comparison of two devices' traces with records finds what is changed in either."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pair_comparison import compare_scenario
from benchmarks.pair_scenarios import Scenario
from tests.recorded_pairs import unpack_pair

RECORDS = Path(__file__).parents[1] / "data" / "h200-pair-records.json"

Records = list[dict[str, Any]]
Change = Callable[[Records], None]


def no_change(_: Records) -> None:
    """Leave the records as they are."""


@pytest.fixture
def differences(tmp_path: Path) -> Callable[[str, Change], list[str]]:
    """The checks of a recorded scenario that do not agree with changed records."""

    def compare(name: str, change: Change) -> list[str]:
        kept = json.loads(RECORDS.read_text())
        names = [key for key in kept if key in {name, f"{name}-0", f"{name}-1"}]
        records = [kept[key] for key in names]
        change(records)
        paths = [tmp_path / f"{key}.json" for key in names]
        for path, record in zip(paths, records, strict=True):
            path.write_text(json.dumps(record))
        trace = unpack_pair(name, tmp_path)
        scenario = Scenario(name=name, seconds=0, processes=[], trace=trace, records=paths)
        return [row["check"] for row in compare_scenario(scenario) if row["agrees"] is False]

    return compare


def swap_uuids(records: Records) -> None:
    first, second = records[0]["devices"]
    first["uuid"], second["uuid"] = second["uuid"], first["uuid"]


def add_launch(records: Records) -> None:
    records[0]["phases"][0]["commands"]["0"]["kernel chain"] += 1


def exchange_devices(records: Records) -> None:
    counts = records[0]["phases"][1]["commands"]
    counts["0"], counts["1"] = counts["1"], counts["0"]


def expect_overlap(records: Records) -> None:
    phase = next(each for each in records[0]["phases"] if each["name"] == "turns_by_finish")
    phase["overlap"] = "most"


def expect_no_turns(records: Records) -> None:
    phase = next(each for each in records[0]["phases"] if each["name"] == "turns_by_read")
    phase["advice"] = False


def expect_no_order(records: Records) -> None:
    phase = next(each for each in records[0]["phases"] if each["name"] == "ordered_by_events")
    phase["advice"] = True


CHANGES: dict[str, tuple[str, Change, list[str]]] = {
    "nothing": ("one-context", no_change, []),
    "uuids": ("one-context", swap_uuids, [f"device {n}: address and UUID" for n in (0, 1)]),
    "a launch": ("one-context", add_launch, ["first_alone: commands by device"]),
    "devices": ("one-context", exchange_devices, ["second_alone: commands by device"]),
    "overlap": ("one-context", expect_overlap, ["turns_by_finish: overlap"]),
    "turns": ("one-context", expect_no_turns, ["turns_by_read: advice on turns"]),
    "order": ("one-context", expect_no_order, ["ordered_by_events: advice on turns"]),
}


@pytest.mark.parametrize("changed", CHANGES)
def test_what_is_changed_differs(
    changed: str, differences: Callable[[str, Change], list[str]]
) -> None:
    name, change, expected = CHANGES[changed]
    assert differences(name, change) == expected


def add_energy(records: Records) -> None:
    """Let the counter of the second board show 5 % more."""
    (begin, end) = records[1]["phases"][0]["counters"]["1"]
    end[1] += (end[1] - begin[1]) // 20


def test_joules_that_are_not_the_counters_differ(
    differences: Callable[[str, Change], list[str]],
) -> None:
    assert differences("ranks", no_change) == []
    assert differences("ranks", add_energy) == ["device 1, mixture: energy"]


def test_a_pipeline_and_its_clocks_are_compared(
    differences: Callable[[str, Change], list[str]],
) -> None:
    def expect_more(records: Records) -> None:
        phase = next(each for each in records[0]["phases"] if each["name"] == "pipeline")
        phase["commands"]["1"]["kernel chain"] += 30

    # The stored clocks were judged before unstamped migrations counted as such.
    clocks = ["device 0: clock", "device 1: clock"]
    assert differences("copies", no_change) == clocks
    assert differences("copies", expect_more) == [
        "pipeline: commands by device",
        *clocks,
        "pipeline: kernels on the critical path by device",
    ]
