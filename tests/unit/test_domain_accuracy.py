"""Decisions of domain iterations on a recorded machine, as the documentation states them."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

ROWS: Final[list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent.parent / "data" / "h200-domain.json").read_text()
)["rows"]
FAR = 1.5


def host_ns(row: dict[str, Any]) -> float:
    return float(min(row["measured_ns"]["numpy"], row["measured_ns"].get("C", float("inf"))))


def test_predicted_times_lead_to_the_places_that_were_chosen() -> None:
    for row in ROWS:
        predicted = row["predicted_ns"]
        assert row["place"] == min(predicted, key=predicted.__getitem__)


def test_decisions_are_right_where_it_matters() -> None:
    far = [row for row in ROWS if not 1 / FAR < host_ns(row) / row["measured_ns"]["device"] < FAR]
    right = [
        (row["place"] != "device") == (host_ns(row) < row["measured_ns"]["device"]) for row in far
    ]
    assert len(far) == 380
    assert sum(right) / len(far) == pytest.approx(0.997, abs=0.001)


def test_regret_is_small() -> None:
    best = sum(min(host_ns(row), row["measured_ns"]["device"]) for row in ROWS)
    chosen = sum(row["measured_ns"][row["place"]] for row in ROWS)
    assert chosen / best - 1 == pytest.approx(0.015, abs=0.001)
