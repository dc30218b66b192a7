"""Two boards of one name in a recording: clocks, energy, predictions and memory go to the right one."""

import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cltrace
from cltrace.errors import ProfileError
from cltrace.power.channels import _distinct_labels, read_channels, read_stored_channels
from cltrace.power.energy import TraceEnergy, energy_of
from cltrace.predict.trace_profile import (
    TraceDevice,
    choose_profiles,
    devices_of_trace,
    predict_devices,
)
from cltrace.profile import load_profile
from cltrace.report.energy import balance_table, energy_facts, energy_notes, energy_table
from cltrace.report.prediction import missing_notes, prediction_report
from cltrace.report.summary import SummaryOptions, summary
from cltrace.timeline.reading import read_activity
from cltrace.trace.device_memory import NO_DEVICE, DeviceMemory, device_memory
from cltrace.trace.merge import merge
from cltrace.trace.reader import Trace
from tests.channels import power_channel

RECORDED = Path(__file__).parents[1] / "data" / "h200-mixture.cltrace"
LABELS = ("NVIDIA H200 00:06.0, rank 0", "NVIDIA H200 07:00.0, rank 1")
MORE = 1.5
"""Readings of the second board relative to the first's."""
SECONDS = 8


def part_of_recording(path: Path) -> sqlite3.Connection:
    """A copy of the first seconds of a recording on one board."""
    shutil.copy(RECORDED, path)
    database = sqlite3.connect(path)
    (begin,) = database.execute("SELECT min(enter_host_ns) FROM command").fetchone()
    until = begin + SECONDS * 10**9
    database.execute("DELETE FROM command WHERE enter_host_ns > ?", (until,))
    database.execute("DELETE FROM api_call WHERE enter_host_ns > ?", (until,))
    database.execute("DELETE FROM power_sample WHERE host_ns > ?", (until,))
    return database


def add_unused_board(database: sqlite3.Connection) -> None:
    """Let the reader of the first board read a third one, too."""
    channel = {"id": "id + 10", "key": "key || '-third'", "device": "'0000:08:00.0'"}
    sample = {"id": "id + 1000000", "power_channel_id": "power_channel_id + 10"}
    for table, changes in (("power_channel", channel), ("power_sample", sample)):
        names = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        assert changes.keys() <= set(names)
        chosen = ", ".join(changes.get(name, name) for name in names)
        database.execute(f"INSERT INTO {table} SELECT {chosen} FROM {table}")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    """A recording of two ranks on a board each; the second draws more. A third board is not used."""
    directory = tmp_path_factory.mktemp("boards")
    paths = [directory / "one.cltrace", directory / "other.cltrace"]
    with part_of_recording(paths[0]) as database:
        database.execute("UPDATE process SET rank = 0")
        add_unused_board(database)
    with part_of_recording(paths[1]) as database:
        database.execute("UPDATE process SET rank = 1, pid = pid + 1")
        database.execute("UPDATE device SET bus = '0000:07:00.0'")
        database.execute("UPDATE power_channel SET key = key || '-2', device = '0000:07:00.0'")
        database.execute("UPDATE power_sample SET raw = CAST(raw * ? AS INTEGER)", (MORE,))
    merge(paths, directory / "two.cltrace")
    with cltrace.load(directory / "two.cltrace") as trace:
        yield trace


@pytest.fixture(scope="module")
def energy(two: Trace) -> TraceEnergy:
    return energy_of(two)


def counter_j(trace: Trace, bus: str) -> float:
    """What a board's own counter says of the whole recording."""
    (channel,) = (
        each
        for each in read_stored_channels(trace)
        if each.device == bus and each.quantity == "energy"
    )
    raw = [
        value
        for part in trace.column_parts("power_sample", {"of": "power_channel_id", "raw": "raw"})
        for of, value in zip(part["of"].tolist(), part["raw"].tolist(), strict=True)
        if of == channel.id
    ]
    return float(raw[-1] - raw[0]) * channel.unit_per_step


def test_each_board_has_the_energy_of_its_own_counter(two: Trace, energy: TraceEnergy) -> None:
    boards = {source.channel.device: source for source in energy.sources}
    assert sorted(boards) == ["0000:00:06.0", "0000:07:00.0"]
    for bus, source in boards.items():
        # The ring begins before the counter: they are compared in the time that both cover.
        (check,) = source.checks
        assert check.other.device == bus
        assert check.main_j == pytest.approx(counter_j(two, bus), rel=0.02)
        assert source.attribution is not None
        balance = source.attribution.balance
        parts = (balance.kernels_j, balance.transfers_j, balance.unresolved_j, balance.tail_j)
        rest = balance.idle_j + balance.unattributed_j
        assert sum(parts) + rest == pytest.approx(source.energy_j)
    first, second = (boards[bus].energy_j for bus in sorted(boards))
    assert second == pytest.approx(MORE * first, rel=0.01)
    assert energy.total_j == pytest.approx(first + second)


def test_joules_of_a_kernel_go_to_its_board(energy: TraceEnergy) -> None:
    lines = {(line.load.names, line.load.kind, line.load.device): line for line in energy.lines}
    assert {device for *_, device in lines} == {1, 2}
    resolved = 0
    for (names, kind, device), line in lines.items():
        other = lines.get((names, kind, 3 - device))
        if device == 1 and other is not None and line.energy_j and other.energy_j:
            assert other.energy_j == pytest.approx(MORE * line.energy_j, rel=0.02)
            resolved += 1
    assert resolved >= 2


def test_a_board_that_the_program_did_not_use_is_in_no_sum(energy: TraceEnergy) -> None:
    assert {source.channel.device for source in energy.unused} == {"0000:08:00.0"}
    assert any("in no sum" in note and "08:00.0" in note for note in energy_notes(energy))


def test_reports_of_energy_name_the_boards(energy: TraceEnergy) -> None:
    table = energy_table(energy, None)
    assert table.columns[0].key == "device"
    assert {row[0] for row in table.rows} == set(LABELS)
    sensors = [str(row[0]) for row in balance_table(energy).rows]
    assert len(set(sensors)) == len(sensors) == 2
    texts = [fact.text for fact in energy_facts(energy) if fact.key == "board_energy_j"]
    assert len(texts) == 2
    assert "00:06.0" in texts[0]
    assert "07:00.0" in texts[1]


def test_labels_of_channels_are_distinct(two: Trace) -> None:
    labels = [each.channel.label for each in read_channels(two, read_activity(two).axis)]
    assert len(set(labels)) == len(labels) == 6


def test_channels_of_one_board_with_equal_names_are_told_apart_by_key() -> None:
    channels = [
        power_channel(key=key, label=label, device=device, host=host)
        for key, label, device, host in (
            ("nvml:0", "power", "0000:06:00.0", "a"),
            ("hwmon:3", "power", "0000:06:00.0", "a"),
            ("nvml:1", "power", "0000:07:00.0", "a"),
            ("nvml:0", "package", "", "a"),
            ("nvml:0", "package", "", "b"),
            ("psu", "wall", "", "a"),
            ("ups", "wall", "", "a"),
            ("rail", "rail", "", "a"),
        )
    ]
    assert _distinct_labels(channels) == [
        "power 06:00.0 (nvml:0)",
        "power 06:00.0 (hwmon:3)",
        "power 07:00.0",
        "package on a",
        "package on b",
        "wall (psu)",
        "wall (ups)",
        "rail",
    ]


def test_summary_tells_the_boards_apart(two: Trace) -> None:
    document = summary(two, replace(SummaryOptions(), by="device"))
    (table,) = document.tables
    assert {row[0] for row in table.rows} == set(LABELS)
    busy = [fact.text for fact in document.facts if fact.key == "busy_ns"]
    clocks = [fact.text for fact in document.facts if fact.key == "clock"]
    for texts in (busy, clocks):
        assert [text.startswith(label) for text, label in zip(texts, LABELS, strict=True)] == [
            True,
            True,
        ]


def test_each_board_is_predicted(two: Trace) -> None:
    devices = devices_of_trace(two)
    assert [device.label for device in devices] == list(LABELS)
    predictions = predict_devices(two, choose_profiles(devices, ()))
    calls = two.rows(
        "SELECT device_id, count(*) FROM v_command WHERE kind = 'kernel' GROUP BY device_id"
    )
    assert [
        sum(launch.launch.calls for launch in each.launches) + sum(row[1] for row in each.refused)
        for each in predictions
    ] == [count for _, count in calls]
    document = prediction_report(predictions)
    kernels = next(table for table in document.tables if table.key == "predicted_launches")
    assert kernels.columns[0].key == "device"
    assert {row[0] for row in kernels.rows} == set(LABELS)


H200 = load_profile("nvidia-h200")
BOARDS = tuple(TraceDevice(n, f"NVIDIA H200 0{n}:00.0", "NVIDIA H200", H200) for n in (6, 7))
CPU = TraceDevice(1, "pthread-cpu", "pthread-cpu", None)


def chosen(*requests: str, devices: tuple[TraceDevice, ...]) -> dict[int, str]:
    choice = choose_profiles(devices, requests)
    return {device.device_id: profile.device.name for device, profile in choice.chosen}


def test_each_device_has_its_own_profile_unless_told() -> None:
    cpu = load_profile("pocl-cpu").device.name
    own = {6: "NVIDIA H200", 7: "NVIDIA H200"}
    assert chosen(devices=(*BOARDS, CPU)) == own
    assert chosen("nvidia-h200", devices=(*BOARDS, CPU)) == own
    assert chosen("pthread=pocl-cpu", devices=(*BOARDS, CPU)) == {**own, 1: cpu}
    assert chosen("07:00.0=pocl-cpu", devices=BOARDS) == {6: "NVIDIA H200", 7: cpu}
    assert chosen("pocl-cpu", devices=BOARDS) == {6: cpu, 7: cpu}
    named = replace(CPU, device_id=2, label="cpu", name="cpu")
    assert chosen("cpu=pocl-cpu", devices=(CPU, named)) == {2: cpu}


def test_a_device_without_a_profile_is_named() -> None:
    (note,) = missing_notes(choose_profiles((*BOARDS, CPU), ()))
    assert "no profile of pthread-cpu" in note


@pytest.mark.parametrize(
    ("requests", "words"),
    [
        (("pocl-cpu",), "write --profile 'DEVICE=pocl-cpu'"),
        (("Radeon=nvidia-h200",), "no device of the trace is like 'Radeon': it has NVIDIA H200"),
    ],
)
def test_a_profile_of_no_device_is_refused_by_name(requests: tuple[str, ...], words: str) -> None:
    with pytest.raises(ProfileError, match=words):
        choose_profiles((*BOARDS, CPU), requests)


class Rows:
    """A trace of three memory objects in a context with queues on two devices, and one object beside."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.executescript(
            """
            CREATE TABLE v_buffer (buffer_id, process_id, context_id, size_bytes, known_host_ns,
                released_before_host_ns, parent_buffer_id);
            INSERT INTO v_buffer VALUES (1, 1, 1, 100, 0, 50, NULL), (2, 1, 1, 10, 0, NULL, NULL),
                (3, 1, 1, 1000, 0, NULL, NULL), (4, 1, 2, 7, 0, NULL, NULL), (5, 1, 1, 4, 0, NULL, 2);
            CREATE TABLE v_context (context_id, device_id);
            INSERT INTO v_context VALUES (1, 9), (2, 8);
            CREATE TABLE v_queue (queue_id, context_id, device_id);
            INSERT INTO v_queue VALUES (1, 1, 1), (2, 1, 2);
            CREATE TABLE v_launch_arg (launch_id, buffer_id);
            INSERT INTO v_launch_arg VALUES (1, 1), (1, NULL);
            CREATE TABLE v_command (launch_id, queue_id, source_buffer_id, target_buffer_id,
                enter_host_ns);
            INSERT INTO v_command VALUES (1, 1, NULL, NULL, 10), (1, 2, NULL, NULL, 60),
                (NULL, 2, 5, NULL, 40), (NULL, 2, NULL, 2, 70);
            """
        )

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._database.execute(sql).fetchall()

    iterate = rows


def test_memory_counts_on_a_device_from_its_first_use_there() -> None:
    # Buffer 1 is used on device 1 from 10 on; on device 2 from 60 on, after its release at 50. A part of
    # buffer 2 is used on device 2. Buffer 3 is not used, and buffer 4's context has a single device.
    assert device_memory(Rows()) == [  # type: ignore[arg-type]
        DeviceMemory(1, 1, 100, 100),
        DeviceMemory(2, 2, 110, 10),
        DeviceMemory(8, 1, 7, 7),
        DeviceMemory(NO_DEVICE, 1, 1000, 1000),
    ]
