"""Devices of one name are told apart."""

import pytest

from cltrace.trace.device_labels import device_labels


class Rows:
    """A trace that has these devices."""

    def __init__(self, rows: list[tuple[int, int, str, str, str]]) -> None:
        self._rows = rows

    def rows(self, _sql: str) -> list[tuple[int, int, str, str, str]]:
        return self._rows


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        ([(1, 1, "H200", "0000:06:00.0", "")], {1: "H200"}),
        (
            [(1, 1, "H200", "0000:06:00.0", "aa"), (2, 1, "H200", "0000:07:00.0", "bb")],
            {1: "H200 0000:06:00.0", 2: "H200 0000:07:00.0"},
        ),
        (
            [(1, 1, "G", "", "0123456789abcdef"), (2, 1, "G", "", "fedcba9876543210")],
            {1: "G 01234567", 2: "G fedcba98"},
        ),
        (
            [(1, 1, "CPU", "", ""), (2, 1, "CPU", "", ""), (3, 2, "CPU", "", "")],
            {1: "CPU #1", 2: "CPU #2", 3: "CPU"},
        ),
        (
            [(1, 1, "G", "0:1", ""), (2, 1, "G", "0:1", ""), (3, 1, "I", "", "")],
            {1: "G #1", 2: "G #2", 3: "I"},
        ),
    ],
)
def test_devices_of_one_name_are_told_apart(
    rows: list[tuple[int, int, str, str, str]], labels: dict[int, str]
) -> None:
    assert device_labels(Rows(rows)) == labels  # type: ignore[arg-type]
