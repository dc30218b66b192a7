"""Files in the repository that hold records of devices: reading and writing keeps them unchanged."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cltrace.errors import ProfileError
from cltrace.power.points import read_points, write_points
from cltrace.power.stored_readings import read_readings, write_readings
from cltrace.predict.measurements import read_measurements, write_measurements
from cltrace.profile import DeviceFacts, Point, read_profile, stored_fields, write_profile
from cltrace.regress.score_files import read_score, write_score

ROOT = Path(__file__).parents[2]
COPY: dict[str, Callable[[Path, Path], None]] = {
    "cltrace_profile": lambda source, target: write_profile(read_profile(source), target),
    "cltrace_measurements": lambda source, target: write_measurements(
        read_measurements(source), target
    ),
    "cltrace_power_points": lambda source, target: write_points(read_points(source), target),
    "cltrace_score": lambda source, target: write_score(read_score(source), target),
    "cltrace_power_readings": lambda source, target: write_readings(*read_readings(source), target),
}
"""By the first key of a file: copies the file through its records."""


def raw_text(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def stored_files() -> Iterator[tuple[str, Path]]:
    for directory in ("cltrace/profiles", "cltrace/regress", "tests/data"):
        for path in sorted((ROOT / directory).glob("*.json*")):
            stored: Any = json.loads(raw_text(path))
            key = next(iter(stored)) if isinstance(stored, dict) else ""
            if key in COPY:
                yield key, path


FILES = list(stored_files())


def test_every_kind_of_file_is_here() -> None:
    assert {key for key, _ in FILES} == COPY.keys()


@pytest.mark.parametrize(("key", "path"), FILES, ids=[path.name for _, path in FILES])
def test_a_file_is_written_as_it_was_read(key: str, path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    COPY[key](path, copy)
    assert json.loads(raw_text(copy)) == json.loads(raw_text(path))
    assert raw_text(copy) == raw_text(path)


def test_stored_keys_do_not_follow_the_names_of_fields() -> None:
    assert stored_fields(DeviceFacts)["most_buffer_bytes"].name == "max_buffer_bytes"
    assert stored_fields(DeviceFacts)["most_group_items"].name == "max_group_items"
    assert stored_fields(Point)["least_ns"].name == "min_ns"


@pytest.mark.parametrize("stored", [None, 5, [], {}, {"max_buffer_bytes": 1}, {"no": "device"}])
def test_what_does_not_describe_a_device_is_refused(stored: Any) -> None:
    with pytest.raises(TypeError):
        DeviceFacts.from_json(stored)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("runs", value) for value in (0, 1 << 63, float("inf"), float("nan"))),
        *(("seconds", value) for value in (0, 5e-324, 1e10, float("nan"))),
    ],
)
def test_points_of_impossible_times_are_refused(name: str, value: float, tmp_path: Path) -> None:
    source = ROOT / "tests" / "data" / "h200-power-application.json"
    stored: dict[str, Any] = json.loads(source.read_text())
    stored["points"][0][stored["point"].index(name)] = value
    path = tmp_path / "points.json"
    path.write_text(json.dumps(stored))
    with pytest.raises(ProfileError, match="cannot have been measured"):
        read_points(path)
