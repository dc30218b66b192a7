"""Example of a power reader in its own distribution: the power of a laptop on battery.

pip install ./examples/cltrace-battery
cltrace run --power battery python app.py
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

from cltrace.power import API, Channel, Probe, ProbeState, Quantity, Sample, Scope

ROOT = Path("/sys/class/power_supply")


class BatteryReader:
    """Reader of batteries that report their power. Its argument is the root of the tree, for tests."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["live"]] = "live"
    period_s: ClassVar[float] = 0.5

    def __init__(self, argument: str = "") -> None:
        self._root = Path(argument) if argument else ROOT

    def probe(self) -> Probe:
        """Look for batteries, and check that one is discharging."""
        batteries = sorted(self._root.glob("BAT*")) if self._root.is_dir() else []
        if not batteries:
            return Probe(ProbeState.ABSENT, f"{self._root} has no battery")
        files = [file for battery in batteries if (file := battery / "power_now").is_file()]
        if not files:
            return Probe(ProbeState.UNSUPPORTED, f"{batteries[0]} has no power_now")
        if not any(self._is_discharging(file) for file in files):
            return Probe(
                ProbeState.FROZEN, f"{batteries[0]} is not discharging", "unplug the mains"
            )
        channels = tuple(map(_channel, files))
        return Probe(ProbeState.OK, ", ".join(map(str, files)), channels=channels)

    def open(self, period_s: float) -> "OpenBattery":  # noqa: ARG002 - a file has no period
        """Open every battery that reports its power."""
        return OpenBattery(sorted(self._root.glob("BAT*/power_now")))

    def _is_discharging(self, file: Path) -> bool:
        state = file.with_name("status")
        return not state.is_file() or state.read_text().strip() == "Discharging"


class OpenBattery:
    """Open batteries."""

    longest_interval_s = 10.0

    def __init__(self, files: list[Path]) -> None:
        self._files = files
        self.channels = tuple(map(_channel, files))

    def read(self) -> Iterator[Sample]:
        """Yield the power of each battery, in µW as in the kernel's file."""
        for channel, file in zip(self.channels, self._files, strict=True):
            yield Sample.taken(channel.key, lambda file=file: int(file.read_text()))

    def close(self) -> None:
        """Do nothing: no file is kept open."""


def _channel(file: Path) -> Channel:
    return Channel(
        key=f"battery:{file.parent.name}",
        label=f"battery {file.parent.name}",
        quantity=Quantity.POWER,
        scope=Scope.PLATFORM,
        unit_per_step=1e-6,
        period_s=1.0,
        note="the battery's own gauge",
    )
