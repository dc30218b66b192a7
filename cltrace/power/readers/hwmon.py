"""hwmon: power and energy from the kernel's monitoring drivers (`Documentation/hwmon`).

The numbers of directories change between boots, so channels are named after the chip and its device.
Power is in microwatts, energy in microjoules. Chips without either are ignored: the product of volts and
amperes would need knowledge of each chip.
"""

import errno
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Literal

from cltrace.errors import PowerError
from cltrace.events.power import ProbeState, Quantity, Scope
from cltrace.power.protocol import API, Channel, Probe, Sample
from cltrace.power.readers.sysfs import (
    NumberFile,
    Opener,
    read_number,
    read_optional_number,
    read_words,
)

_ROOT: Final = Path("/sys/class/hwmon")
_INPUT: Final = re.compile(r"(power|energy)(\d+)_(input|average)")
_MICRO: Final = 1e-6
_MAX_INTERVAL_S: Final = 60.0
_GPU_CHIPS: Final = frozenset({"amdgpu", "nouveau", "i915", "xe"})
_PSU_CHIPS: Final = frozenset({"corsairpsu"})
_DISABLED_ERRORS: Final = frozenset({errno.ENODATA, errno.EOPNOTSUPP, errno.EIO})


@dataclass(frozen=True, slots=True)
class _Input:
    """File of a chip that contains power or energy, and its channel."""

    path: Path
    channel: Channel


class HwmonReader:
    """Reader of monitoring chips. Its argument is the root of the tree, for tests."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["live"]] = "live"
    period_s: ClassVar[float] = 0.1

    def __init__(self, argument: str = "", *, opener: Opener = os.open) -> None:
        self._root = Path(argument) if argument else _ROOT
        self._opener = opener

    def probe(self) -> Probe:
        """Check that an input of some chip can be read."""
        if not self._root.is_dir():
            return Probe(
                ProbeState.ABSENT, f"{self._root} does not exist: no monitoring driver is loaded"
            )
        try:
            inputs = list(_inputs(self._root))
        except OSError as error:
            return Probe(ProbeState.UNSUPPORTED, f"{self._root}: {error.strerror}")
        if not inputs:
            return self._absent_probe()
        readable = [each for each in inputs if self._read_error(each) is None]
        first_error = self._read_error(inputs[0])
        if not readable and first_error is not None:
            return _unreadable_probe(inputs[0].path, first_error)
        channels = tuple(each.channel for each in readable)
        labels = ", ".join(channel.label for channel in channels)
        return Probe(ProbeState.OK, labels, channels=channels)

    def open(self, period_s: float) -> "OpenHwmon":  # noqa: ARG002 - inputs have no period
        """Open every input that can be read. Raises: `PowerError`."""
        inputs = [each for each in _inputs(self._root) if self._read_error(each) is None]
        if not inputs:
            raise PowerError(f"no power or energy below {self._root} can be read")
        files = [NumberFile(each.path, self._opener) for each in inputs]
        return OpenHwmon([each.channel for each in inputs], files)

    def _absent_probe(self) -> Probe:
        chips = [read_words(chip / "name") for chip in sorted(self._root.iterdir())]
        names = ", ".join(name for name in chips if name)
        chips_text = f"chips without power: {names}" if names else "no chip"
        return Probe(ProbeState.ABSENT, f"{self._root} has {chips_text}")

    def _read_error(self, file: _Input) -> OSError | PowerError | None:
        try:
            read_number(file.path, self._opener)
        except (OSError, PowerError) as error:
            return error
        return None


class OpenHwmon:
    """Open inputs."""

    longest_interval_s = _MAX_INTERVAL_S

    def __init__(self, channels: Sequence[Channel], files: Sequence[NumberFile]) -> None:
        self.channels: Sequence[Channel] = channels
        self._files = files

    def read(self) -> Iterator[Sample]:
        """Yield a sample of every input, except those that are disabled at the moment."""
        for channel, file in zip(self.channels, self._files, strict=True):
            try:
                sample = Sample.taken(channel.key, file.read)
            except OSError as error:
                if error.errno in _DISABLED_ERRORS:
                    continue
                raise
            yield sample

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def _inputs(root: Path) -> Iterator[_Input]:
    """Yield the inputs of all chips. Averages are left out where a chip also has the present value."""
    for chip in sorted(root.iterdir()):
        directory = chip if (chip / "name").exists() else chip / "device"
        name = read_words(chip / "name") or read_words(directory / "name")
        device = _device(chip)
        names = sorted(file.name for file in directory.iterdir()) if directory.is_dir() else []
        for file_name in names:
            match = _INPUT.fullmatch(file_name)
            if match is None or (match[3] == "average" and f"{match[1]}{match[2]}_input" in names):
                continue
            yield _Input(directory / file_name, _channel(directory, match, name, device))


def _channel(directory: Path, match: "re.Match[str]", chip: str, device: str) -> Channel:
    stem = f"{match[1]}{match[2]}"
    label = read_words(directory / f"{stem}_label") or stem
    is_average = match[3] == "average"
    interval_ms = read_optional_number(
        directory / (f"{stem}_average_interval" if is_average else "update_interval")
    )
    accuracy = read_words(directory / f"{stem}_accuracy").removesuffix("%")
    owner = f"{chip}@{device}" if device else chip
    return Channel(
        key=f"hwmon:{owner}:{stem}",
        label=f"{chip} {label}",
        quantity=Quantity.POWER if match[1] == "power" else Quantity.ENERGY,
        scope=_scope(chip, label),
        unit_per_step=_MICRO,
        inside=_inside(directory, owner, chip, match),
        device=device if chip in _GPU_CHIPS else "",
        quantum=_MICRO,
        period_s=interval_ms * 1e-3 if interval_ms else None,
        window_s=interval_ms * 1e-3 if interval_ms and is_average else None,
        gain_error=float(accuracy) / 100 if accuracy.replace(".", "", 1).isdigit() else None,
        note="the range of the counter is unknown: a wrap-around leaves a gap"
        if match[1] == "energy"
        else "",
    )


def _scope(chip: str, label: str) -> Scope:
    if chip in _GPU_CHIPS:
        return Scope.GPU
    if chip in _PSU_CHIPS:
        return Scope.PSU if "total" in label else Scope.RAIL
    return Scope.OTHER


def _inside(directory: Path, owner: str, chip: str, match: "re.Match[str]") -> str:
    """Return the key of the container: a rail's total, or for energy the power of the same number."""
    if _is_rail(chip, match):
        return f"hwmon:{owner}:power1"
    has_power = (directory / f"power{match[2]}_input").exists() and match[1] == "energy"
    return f"hwmon:{owner}:power{match[2]}" if has_power else ""


def _is_rail(chip: str, match: "re.Match[str]") -> bool:
    """Return whether an input is a part of the first power of its chip."""
    return chip in _PSU_CHIPS and match[1] == "power" and match[2] != "1"


def _device(chip: Path) -> str:
    """Return the name of a chip's device: the address of a PCI device."""
    device = chip / "device"
    return device.resolve().name if device.exists() else ""


def _unreadable_probe(path: Path, error: OSError | PowerError) -> Probe:
    if isinstance(error, PermissionError):
        return Probe(
            ProbeState.DENIED,
            f"{path} can be read by root only",
            f"sudo chmod a+r {path} (until the next start of the machine)",
            "readings of power can be a side channel for secrets of other programs",
        )
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return Probe(ProbeState.UNSUPPORTED, f"{path}: {reason}")
