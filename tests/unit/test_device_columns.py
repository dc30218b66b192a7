"""Screens of two boards: each row names its device at every width, and each board has its identity."""

from pathlib import Path

import pytest

from tests.conftest import Runner
from tests.recorded_pairs import UUIDS, unpack_pair


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_pair("ranks", tmp_path_factory.mktemp("ranks"))


@pytest.fixture(scope="module")
def launches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_pair("launches", tmp_path_factory.mktemp("launches"))


def section(text: str, title: str) -> list[str]:
    """The rows of a table on a screen."""
    lines = text.split(f"{title}\n", 1)[1].split("\n\n")[0].splitlines()
    return lines[2:]


@pytest.mark.parametrize("width", ["60", "80"])
def test_energies_name_their_board(width: str, ranks: Path, run: Runner) -> None:
    done = run("summary", ranks, "--table", "energy", env={"COLUMNS": width})
    rows = section(done.stdout, "Energy of kernels and transfers")
    assert sum("rank 0" in row for row in rows) >= 4
    assert sum("rank 1" in row for row in rows) >= 4


@pytest.mark.parametrize("width", ["60", "80"])
@pytest.mark.parametrize("title", ["By kernel", "Outliers"])
def test_scores_name_the_device_of_each_row(
    title: str, width: str, launches: Path, run: Runner
) -> None:
    done = run("accuracy", "--trace", launches, env={"COLUMNS": width})
    rows = section(done.stdout, title)
    assert [sum(bus in row for row in rows) for bus in (":06.0", "00:07.0")] == [
        len([row for row in rows if ":06.0" in row or ":07.0" in row]) / 2
    ] * 2
    assert any("00:06.0" in row for row in rows)


@pytest.mark.parametrize("width", ["60", "80"])
def test_predictions_name_the_device_of_each_row(width: str, launches: Path, run: Runner) -> None:
    done = run("predict", launches, env={"COLUMNS": width})
    rows = section(done.stdout, "Kernels")
    assert sum("00:06.0" in row for row in rows) == 10
    assert sum("00:07.0" in row for row in rows) == 10


@pytest.mark.parametrize("width", ["60", "80"])
def test_info_has_the_uuid_of_each_device(width: str, launches: Path, run: Runner) -> None:
    done = run("info", launches, env={"COLUMNS": width})
    rows = section(done.stdout, "UUIDs of devices")
    assert [row.split() for row in rows] == [["1", UUIDS[0]], ["2", UUIDS[1]]]


def test_the_energy_of_a_board_is_stated_relative_to_its_counter(ranks: Path, run: Runner) -> None:
    done = run("summary", ranks, env={"COLUMNS": "200"})
    lines = [line for line in done.stdout.splitlines() if line.startswith("board energy")]
    assert [line.rpartition("; ")[2] for line in lines] == [
        "its own counter shows 1.005 times that",
        "its own counter shows 0.997 times that",
    ]
