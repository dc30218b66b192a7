"""Decisions of domain iterations on recorded machines, as the documentation states them."""

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Rows: TypeAlias = list[dict[str, Any]]

DATA = Path(__file__).parent.parent / "data"
FAR = 1.5


@pytest.fixture(params=["h200", "pocl", "pocl-two-cores"])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def rows(device: str) -> Rows:
    found: Rows = json.loads((DATA / f"{device}-domain.json").read_text())["rows"]
    return found


def host_ns(row: dict[str, Any]) -> float:
    return float(min(row["measured_ns"]["numpy"], row["measured_ns"].get("C", float("inf"))))


def test_predicted_times_lead_to_the_places_that_were_chosen(rows: Rows) -> None:
    for row in rows:
        predicted = row["predicted_ns"]
        assert row["place"] == min(predicted, key=predicted.__getitem__)


def test_decisions_are_right_where_it_matters(device: str, rows: Rows) -> None:
    far = [row for row in rows if not 1 / FAR < host_ns(row) / row["measured_ns"]["device"] < FAR]
    right = [
        (row["place"] != "device") == (host_ns(row) < row["measured_ns"]["device"]) for row in far
    ]
    count, share = {
        "h200": (380, 0.997),
        "pocl": (420, 0.971),
        "pocl-two-cores": (498, 0.990),
    }[device]
    assert len(far) == count
    assert sum(right) / len(far) == pytest.approx(share, abs=0.001)


def test_regret_is_small(device: str, rows: Rows) -> None:
    best = sum(min(host_ns(row), row["measured_ns"]["device"]) for row in rows)
    chosen = sum(row["measured_ns"][row["place"]] for row in rows)
    regret = {"h200": 0.015, "pocl": 0.005, "pocl-two-cores": 0.0003}[device]
    assert chosen / best - 1 == pytest.approx(regret, abs=0.001)
