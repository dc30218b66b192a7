"""Devices of one name are told apart."""

import pytest

from cltrace.trace.device_labels import device_labels, used_device_ids

Row = tuple[int, int, str, str, str, str, int]


class Rows:
    """A trace that has these devices."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def rows(self, _sql: str) -> list[Row]:
        return self._rows


def device(
    number: int, name: str, bus: str = "", uuid: str = "", *, rank: int = 0, used: int = 1
) -> Row:
    return (number, rank + 1, f"rank {rank}", name, bus, uuid, used)


BUSES = ("0000:06:00.0", "0000:07:00.0")


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        ([device(1, "H200", BUSES[0])], {1: "H200"}),
        (
            [device(1, "H200", BUSES[0], "aa"), device(2, "H200", BUSES[1], "bb")],
            {1: "H200 06:00.0", 2: "H200 07:00.0"},
        ),
        (
            [device(1, "H200", BUSES[0]), device(2, "H200", "0001:06:00.0")],
            {1: "H200 0000:06:00.0", 2: "H200 0001:06:00.0"},
        ),
        (
            [device(1, "G", "", "0123456789abcdef"), device(2, "G", "", "fedcba9876543210")],
            {1: "G 01234567", 2: "G fedcba98"},
        ),
        (
            [device(1, "CPU"), device(2, "CPU"), device(3, "CPU", rank=1)],
            {1: "CPU #1, rank 0", 2: "CPU #2, rank 0", 3: "CPU #3, rank 1"},
        ),
        (
            [device(1, "G", "0:1"), device(2, "G", "0:1"), device(3, "I")],
            {1: "G #1", 2: "G #2", 3: "I"},
        ),
        # Ranks on a board each, and ranks that share a board.
        (
            [device(1, "H200", BUSES[0]), device(2, "H200", BUSES[1], rank=1)],
            {1: "H200 06:00.0, rank 0", 2: "H200 07:00.0, rank 1"},
        ),
        (
            [device(1, "H200", BUSES[0]), device(2, "H200", BUSES[0], rank=1)],
            {1: "H200, rank 0", 2: "H200, rank 1"},
        ),
        # A parent without a queue, and its parts.
        (
            [device(1, "CPU", used=0), device(2, "CPU"), device(3, "CPU")],
            {1: "CPU #1", 2: "CPU #2", 3: "CPU #3"},
        ),
        ([device(1, "CPU", used=0), device(2, "CPU")], {1: "CPU #1", 2: "CPU"}),
    ],
)
def test_devices_of_one_name_are_told_apart(rows: list[Row], labels: dict[int, str]) -> None:
    assert device_labels(Rows(rows)) == labels  # type: ignore[arg-type]


def test_used_devices_have_queues() -> None:
    rows = [device(1, "CPU", used=0), device(2, "CPU"), device(3, "CPU")]
    assert used_device_ids(Rows(rows)) == [2, 3]  # type: ignore[arg-type]
