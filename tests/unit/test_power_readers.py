"""Readers on made-up machines: what each state of a sensor looks like, and what is read of it."""

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cltrace.errors import PowerError
from cltrace.events.power import ProbeState, Scope
from cltrace.power.host_lock import HostLock
from cltrace.power.protocol import Probe
from cltrace.power.readers.exec import ExecReader
from cltrace.power.readers.hwmon import HwmonReader
from cltrace.power.readers.lines import LineReader
from cltrace.power.readers.rapl import RaplReader
from cltrace.power.registry import find_readers, load_live_reader, load_log_reader, probe_reader
from tests.conftest import Runner

ROOT = Path(__file__).parents[2]
RANGE_UJ = 262_143_328_850


def no_sleep(_: float) -> None:
    """Time stands still."""


def zone(
    root: Path, name: str, label: str, energy: str = "1000", modulus: int | None = RANGE_UJ
) -> Path:
    """A domain of a made-up powercap tree."""
    directory = root / name
    directory.mkdir(parents=True)
    (directory / "name").write_text(f"{label}\n")
    (directory / "energy_uj").write_text(f"{energy}\n")
    if modulus is not None:
        (directory / "max_energy_range_uj").write_text(f"{modulus}\n")
    return directory


def server(root: Path) -> None:
    """Two packages with memory, a platform, parts of a package, and the tree that repeats a domain."""
    zone(root, "intel-rapl:0", "package-0", modulus=65_532_610_987)
    zone(root, "intel-rapl:0:0", "dram")
    zone(root, "intel-rapl:0:1", "core")
    zone(root, "intel-rapl:1", "psys")
    zone(root, "intel-rapl:a", "package-1")
    zone(root, "intel-rapl:a:0", "dram")
    zone(root, "intel-rapl-mmio:0", "package-0")
    (root / "intel-rapl").mkdir()


def moving(root: Path) -> Callable[[float], None]:
    """A sleep in which every counter goes on."""

    def sleep(_: float) -> None:
        for file in root.glob("*/energy_uj"):
            file.write_text(f"{int(file.read_text()) + 5000}\n")

    return sleep


def test_rapl_knows_domains_by_name_and_counts_nothing_twice(tmp_path: Path) -> None:
    server(tmp_path)
    found = RaplReader(str(tmp_path), sleep=moving(tmp_path)).probe()
    assert found.state is ProbeState.OK
    channels = {one.key: one for one in found.channels}
    assert list(channels) == [
        "rapl:package-0", "rapl:package-0-dram", "rapl:package-0-core", "rapl:psys",
        "rapl:package-1", "rapl:package-1-dram",
    ]  # fmt: skip
    assert {one.scope for one in found.channels} == {
        Scope.CPU,
        Scope.DRAM,
        Scope.CORES,
        Scope.PLATFORM,
    }
    assert channels["rapl:package-0-core"].inside == "rapl:package-0"
    assert channels["rapl:package-0"].inside == "rapl:psys"
    # Memory is no part of its package, though its directory is below it.
    assert channels["rapl:package-0-dram"].inside == "rapl:psys"
    assert channels["rapl:psys"].inside == ""
    assert channels["rapl:package-0"].modulus_steps == 65_532_610_987
    assert channels["rapl:package-1"].modulus_steps == RANGE_UJ


def test_rapl_reads_every_counter_and_knows_how_often_it_must(tmp_path: Path) -> None:
    server(tmp_path)
    opened = RaplReader(str(tmp_path)).open(0.05)
    assert opened.longest_interval_s == pytest.approx(65_532.6 / 2000 / 4, rel=1e-3)
    assert [one.raw for one in opened.read()] == [1000] * 6
    moving(tmp_path)(0)
    again = list(opened.read())
    assert [one.raw for one in again] == [6000] * 6
    assert all(one.within_ns >= 0 and one.key.startswith("rapl:") for one in again)
    opened.close()


def test_rapl_leaves_out_a_counter_that_opens_and_cannot_be_read(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0")
    broken = zone(tmp_path, "intel-rapl:1", "package-1") / "energy_uj"
    broken.unlink()
    broken.mkdir()
    opened = RaplReader(str(tmp_path)).open(0.05)
    assert [one.key for one in opened.read()] == ["rapl:package-0"]
    opened.close()


def denied(path: str, flags: int) -> int:
    """Opens nothing, as for a user who is not root."""
    if path.endswith("energy_uj"):
        raise PermissionError(13, "Permission denied", path)
    return os.open(path, flags)


def rapl_states(root: Path) -> dict[str, Callable[[], Probe]]:
    """What has to be there, by the state that is found then."""

    def masked() -> Probe:
        (root / "intel-rapl:0").symlink_to(root / "nowhere")
        return RaplReader(str(root)).probe()

    def empty() -> Probe:
        return RaplReader(str(root)).probe()

    def missing() -> Probe:
        return RaplReader(str(root / "nothing")).probe()

    def frozen() -> Probe:
        zone(root, "intel-rapl:0", "package-0")
        return RaplReader(str(root), sleep=no_sleep).probe()

    def refused() -> Probe:
        zone(root, "intel-rapl:0", "package-0")
        return RaplReader(str(root), opener=denied).probe()

    def garbage() -> Probe:
        zone(root, "intel-rapl:0", "package-0", energy="many")
        return RaplReader(str(root)).probe()

    return {
        "masked": masked, "absent": empty, "absent ": missing, "frozen": frozen, "denied": refused,
        "unsupported": garbage,
    }  # fmt: skip


@pytest.mark.parametrize(
    "state", ["masked", "absent", "absent ", "frozen", "denied", "unsupported"]
)
def test_rapl_tells_six_states(state: str, tmp_path: Path) -> None:
    found = rapl_states(tmp_path)[state]()
    assert found.state == state.strip()
    assert found.evidence
    assert found.state is not ProbeState.DENIED or (found.remedy and found.security)


def test_hwmon_names_channels_after_chips(tmp_path: Path) -> None:
    chip = tmp_path / "hwmon3"
    chip.mkdir()
    (chip / "name").write_text("corsairpsu\n")
    (chip / "device").mkdir()
    for number, label, value in ((1, "power total", 140), (2, "power +12v", 124)):
        (chip / f"power{number}_input").write_text(f"{value}000000\n")
        (chip / f"power{number}_label").write_text(f"{label}\n")
    other = tmp_path / "hwmon0"
    other.mkdir()
    (other / "name").write_text("coretemp\n")
    found = HwmonReader(str(tmp_path)).probe()
    assert found.state is ProbeState.OK
    total, rail = found.channels
    assert (total.scope, rail.scope) == (Scope.PSU, Scope.RAIL)
    assert rail.inside == total.key == "hwmon:corsairpsu@device:power1"
    opened = HwmonReader(str(tmp_path)).open(0.1)
    assert [one.raw for one in opened.read()] == [140_000_000, 124_000_000]
    opened.close()


def test_hwmon_tells_power_and_its_energy_once(tmp_path: Path) -> None:
    chip = tmp_path / "hwmon1"
    chip.mkdir()
    (chip / "name").write_text("ina226\n")
    (chip / "power1_input").write_text("5000000\n")
    (chip / "energy1_input").write_text("9000000\n")
    (chip / "energy2_input").write_text("7000000\n")
    inside = {one.key: one.inside for one in HwmonReader(str(tmp_path)).probe().channels}
    assert inside == {
        "hwmon:ina226:power1": "", "hwmon:ina226:energy1": "hwmon:ina226:power1",
        "hwmon:ina226:energy2": "",
    }  # fmt: skip


def test_hwmon_without_power_says_what_there_is(tmp_path: Path) -> None:
    chip = tmp_path / "hwmon0"
    chip.mkdir()
    (chip / "name").write_text("coretemp\n")
    found = HwmonReader(str(tmp_path)).probe()
    assert found.state is ProbeState.ABSENT
    assert "coretemp" in found.evidence
    (chip / "power1_input").write_text("5\n")

    def closed(path: str, _: int) -> int:
        raise PermissionError(13, "Permission denied", path)

    assert HwmonReader(str(tmp_path), opener=closed).probe().state is ProbeState.DENIED
    assert HwmonReader(str(tmp_path / "no")).probe().state is ProbeState.ABSENT


def program(path: Path, body: str) -> str:
    """A program of `sh`."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_exec_states(tmp_path: Path) -> None:
    well = program(tmp_path / "well", "exit 0")
    bad = program(tmp_path / "bad", "echo no meter at port 1 >&2; exit 3")
    locked = tmp_path / "locked"
    locked.write_text("#!/bin/sh\n")
    assert ExecReader(well).probe().state is ProbeState.OK
    found = ExecReader(bad).probe()
    assert found.state is ProbeState.UNSUPPORTED
    assert "no meter at port 1" in found.evidence
    assert ExecReader(str(tmp_path / "missing")).probe().state is ProbeState.ABSENT
    assert ExecReader("").probe().state is ProbeState.ABSENT
    assert ExecReader("'").probe().state is ProbeState.ABSENT
    assert ExecReader(str(locked)).probe().state is ProbeState.DENIED


def test_exec_reads_what_is_printed_and_says_why_it_ended(tmp_path: Path) -> None:
    body = 'echo "# channel a unit=mW scope=psu"; echo "$(date +%s%6N) 129500 a"; echo gone >&2; exit 4'
    opened = ExecReader(program(tmp_path / "meter", body)).open(0.1)
    with pytest.raises(PowerError, match="ended with 4: gone"):
        list(itertools.chain.from_iterable(opened.read() for _ in itertools.count()))
    opened.close()
    assert opened.channels[0].scope is Scope.PSU
    assert opened.channels[0].unit_per_step * 129_500_000 == pytest.approx(129.5)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('echo "$(($(date +%s%6N) + 3600000000)) 50"', "is [+]3[56].* s from now"),
        ('echo "1795270024 50"', "s from now: times are µs since 1970"),
        ('now=$(date +%s%6N); echo "$now 50"; echo "$((now - 2000000)) 50"', "go back"),
    ],
)
def test_exec_refuses_readings_of_another_time(tmp_path: Path, body: str, why: str) -> None:
    opened = ExecReader(program(tmp_path / "meter", f"{body}; sleep 5")).open(0.1)
    try:
        with pytest.raises(PowerError, match=why):
            list(itertools.chain.from_iterable(opened.read() for _ in itertools.count()))
    finally:
        opened.close()


def test_a_channel_stays_what_it_was_declared() -> None:
    reader = LineReader("x")
    declared = "# channel a unit=W scope=psu"
    assert len(list(reader.samples([declared, "1000000 5 a", declared, "2000000 5 a"]))) == 2
    with pytest.raises(PowerError, match="a was another channel before"):
        list(reader.samples(["# channel a unit=mW scope=psu"]))


def test_rapl_leaves_out_a_zone_of_garbage(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0")
    (zone(tmp_path, "intel-rapl:1", "package-1") / "energy_uj").write_text("garbage\n")
    opened = RaplReader(str(tmp_path)).open(0.05)
    assert [one.key for one in opened.read()] == ["rapl:package-0"]
    opened.close()


@pytest.mark.parametrize(
    "line",
    [
        "x 1", "1 x", "1 2 3 4", "1", "-5 3", "1 nan", "1 1e400", "# channel a unit=hp",
        "# channel a scope=moon", "# channel a colour=red", "# channel 'a", "# channel a period_s=-1",
        "# channel a quantity=energy unit=W",
    ],
)  # fmt: skip
def test_a_wrong_line_is_said(line: str) -> None:
    with pytest.raises(PowerError):
        list(LineReader("x").samples([line]))


def test_lines_keep_decimals_exactly() -> None:
    reader = LineReader("x")
    lines = [
        "# channel e quantity=energy unit=mJ modulus=65536",
        "1000000 0.001 e",
        "",
        "# said",
        "2000000 7 e",
    ]
    samples = list(reader.samples(lines))
    assert [one.raw for one in samples] == [1, 7000]
    assert reader.channels[0].modulus_steps == 65_536_000


def test_all_readers_are_found_in_the_group() -> None:
    assert {"rapl", "hwmon", "nvml", "exec", "corsair-csv", "replay", "sim"} <= set(find_readers())
    with pytest.raises(PowerError, match="there is no power reader 'wall'"):
        load_live_reader("wall")
    with pytest.raises(PowerError, match="reads logs"):
        load_live_reader("replay")
    with pytest.raises(PowerError, match="reads while"):
        load_log_reader("rapl")


class Broken:
    """A reader of another distribution that fails, and one for another cltrace."""

    name = "broken"
    value = "tests:Broken"

    def load(self) -> Any:
        return lambda _: SimpleNamespace(api=99, kind="live")


class Raising(Broken):
    """A reader whose probe raises."""

    def load(self) -> Any:
        def probe() -> None:
            raise RuntimeError("wires are crossed")

        return lambda _: SimpleNamespace(api=1, kind="live", probe=probe)


def test_a_reader_that_fails_fails_alone() -> None:
    _, found = probe_reader("broken", Broken())  # type: ignore[arg-type]
    assert found.state is ProbeState.UNSUPPORTED
    assert "another cltrace" in found.evidence
    _, found = probe_reader("raising", Raising())  # type: ignore[arg-type]
    assert found.state is ProbeState.UNSUPPORTED
    assert "wires are crossed" in found.evidence


def test_list_prints_every_reader_with_its_state(run: Runner) -> None:
    done = run("power", "list", "--format", "csv")
    assert done.status == 0
    for name in find_readers():
        assert f"\n{name}," in done.stdout
    assert run("power", "list", env={"COLUMNS": "60"}).status == 0


def test_a_single_process_holds_the_lock_and_another_takes_it(tmp_path: Path) -> None:
    first, second = (HostLock("job 1", "nvml", tmp_path) for _ in range(2))
    other_job = HostLock("job 2", "nvml", tmp_path)
    assert first.acquire()
    assert first.acquire()
    assert not second.acquire()
    assert other_job.acquire()
    first.release()
    assert second.acquire()
    second.release()
    other_job.release()
    assert not list(tmp_path.iterdir())
    assert HostLock("job", "nvml", tmp_path / "missing").acquire()


def test_the_example_is_a_reader_of_another_distribution(tmp_path: Path) -> None:
    """Installed beside cltrace, it is found, listed and read."""
    site = tmp_path / "site"
    build = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    example = tmp_path / "cltrace-battery"
    subprocess.run(
        ["cp", "-r", str(ROOT / "examples" / "cltrace-battery"), str(example)], check=True
    )
    done = subprocess.run(
        [*build, "--target", str(site), str(example)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    battery = tmp_path / "supplies" / "BAT0"
    battery.mkdir(parents=True)
    (battery / "power_now").write_text("7500000\n")
    code = (
        "from cltrace.power.registry import load_live_reader\n"
        f"name, reader = load_live_reader('battery:{battery.parent}')\n"
        "print(name, reader.probe().state, [one.raw for one in reader.open(1.0).read()])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "battery ok [7500000]\n", done.stderr
