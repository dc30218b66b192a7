"""hwmon: power and energy that the kernel's monitoring drivers tell (`Documentation/hwmon`).

Numbers of directories change from start to start: channels are named after the chip and its device.
Power is in microwatts, energy in microjoules. Chips without either are left alone: volts times amperes
need to be known chip by chip.
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
from cltrace.power.readers.sysfs import NumberFile, Opener, number_in, number_now, words_in

_ROOT: Final = Path("/sys/class/hwmon")
_INPUT: Final = re.compile(r"(power|energy)(\d+)_(input|average)")
_MICRO: Final = 1e-6
_LONGEST_S: Final = 60.0
_GPU_CHIPS: Final = frozenset({"amdgpu", "nouveau", "i915", "xe"})
_PSU_CHIPS: Final = frozenset({"corsairpsu"})
_DISABLED: Final = frozenset({errno.ENODATA, errno.EOPNOTSUPP, errno.EIO})


@dataclass(frozen=True, slots=True)
class _Input:
    """A file of a chip that holds power or energy, and its channel."""

    path: Path
    channel: Channel


class HwmonReader:
    """Power and energy of monitoring chips. Its argument is where the tree is, for tests."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["live"]] = "live"
    period_s: ClassVar[float] = 0.1

    def __init__(self, argument: str = "", *, opener: Opener = os.open) -> None:
        self._root = Path(argument) if argument else _ROOT
        self._opener = opener

    def probe(self) -> Probe:
        """Look at every chip."""
        if not self._root.is_dir():
            return Probe(
                ProbeState.ABSENT, f"{self._root} does not exist: no monitoring driver is loaded"
            )
        try:
            inputs = list(_inputs(self._root))
        except OSError as error:
            return Probe(ProbeState.UNSUPPORTED, f"{self._root}: {error.strerror}")
        if not inputs:
            return self._none()
        readable = [one for one in inputs if self._error(one) is None]
        first = self._error(inputs[0])
        if not readable and first is not None:
            return _unreadable(inputs[0].path, first)
        return self._found(readable)

    def open(self, period_s: float) -> "OpenHwmon":  # noqa: ARG002 - it is asked, and has no period
        """Open every input that can be read. Raises: `PowerError`."""
        inputs = [one for one in _inputs(self._root) if self._error(one) is None]
        if not inputs:
            raise PowerError(f"no power or energy below {self._root} can be read")
        files = [NumberFile(one.path, self._opener) for one in inputs]
        return OpenHwmon([one.channel for one in inputs], files)

    def _none(self) -> Probe:
        chips = [words_in(one / "name") for one in sorted(self._root.iterdir())]
        names = ", ".join(name for name in chips if name)
        found = f"chips without power: {names}" if names else "no chip"
        return Probe(ProbeState.ABSENT, f"{self._root} has {found}")

    def _found(self, inputs: Sequence[_Input]) -> Probe:
        channels = tuple(one.channel for one in inputs)
        return Probe(ProbeState.OK, ", ".join(one.label for one in channels), channels=channels)

    def _error(self, one: _Input) -> OSError | PowerError | None:
        try:
            number_now(one.path, self._opener)
        except (OSError, PowerError) as error:
            return error
        return None


class OpenHwmon:
    """The inputs, open."""

    longest_interval_s = _LONGEST_S

    def __init__(self, channels: Sequence[Channel], files: Sequence[NumberFile]) -> None:
        self.channels: Sequence[Channel] = channels
        self._files = files

    def read(self) -> Iterator[Sample]:
        """Every input once; one that is switched off for the moment is left out."""
        for channel, file in zip(self.channels, self._files, strict=True):
            try:
                sample = Sample.taken(channel.key, file.read)
            except OSError as error:
                if error.errno in _DISABLED:
                    continue
                raise
            yield sample

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def _inputs(root: Path) -> Iterator[_Input]:
    """The inputs of all chips. Where a chip tells power now and its average, the average is left."""
    for chip in sorted(root.iterdir()):
        directory = chip if (chip / "name").exists() else chip / "device"
        name = words_in(chip / "name") or words_in(directory / "name")
        device = _device(chip)
        names = sorted(one.name for one in directory.iterdir()) if directory.is_dir() else []
        for file in names:
            match = _INPUT.fullmatch(file)
            if match is None or (match[3] == "average" and f"{match[1]}{match[2]}_input" in names):
                continue
            yield _Input(directory / file, _channel(directory, match, name, device))


def _channel(directory: Path, match: "re.Match[str]", chip: str, device: str) -> Channel:
    stem = f"{match[1]}{match[2]}"
    label = words_in(directory / f"{stem}_label") or stem
    is_average = match[3] == "average"
    interval_ms = number_in(
        directory / (f"{stem}_average_interval" if is_average else "update_interval")
    )
    accuracy = words_in(directory / f"{stem}_accuracy").removesuffix("%")
    where = f"{chip}@{device}" if device else chip
    return Channel(
        key=f"hwmon:{where}:{stem}",
        label=f"{chip} {label}",
        quantity=Quantity.POWER if match[1] == "power" else Quantity.ENERGY,
        scope=_scope(chip, label),
        unit_per_step=_MICRO,
        inside=_inside(directory, where, chip, match),
        device=device if chip in _GPU_CHIPS else "",
        quantum=_MICRO,
        period_s=interval_ms * 1e-3 if interval_ms else None,
        window_s=interval_ms * 1e-3 if interval_ms and is_average else None,
        gain_error=float(accuracy) / 100 if accuracy.replace(".", "", 1).isdigit() else None,
        note="no range is told for energy: a counter that begins anew leaves a gap"
        if match[1] == "energy"
        else "",
    )


def _scope(chip: str, label: str) -> Scope:
    if chip in _GPU_CHIPS:
        return Scope.GPU
    if chip in _PSU_CHIPS:
        return Scope.PSU if "total" in label else Scope.RAIL
    return Scope.OTHER


def _inside(directory: Path, where: str, chip: str, match: "re.Match[str]") -> str:
    """What contains an input: a rail's total, and of energy the power of the same number."""
    if _is_rail(chip, match):
        return f"hwmon:{where}:power1"
    is_told_twice = (directory / f"power{match[2]}_input").exists() and match[1] == "energy"
    return f"hwmon:{where}:power{match[2]}" if is_told_twice else ""


def _is_rail(chip: str, match: "re.Match[str]") -> bool:
    """Whether it is a part of the first power of its chip."""
    return chip in _PSU_CHIPS and match[1] == "power" and match[2] != "1"


def _device(chip: Path) -> str:
    """The name of the device of a chip: a PCI address for those on that bus."""
    device = chip / "device"
    return device.resolve().name if device.exists() else ""


def _unreadable(path: Path, error: OSError | PowerError) -> Probe:
    if isinstance(error, PermissionError):
        return Probe(
            ProbeState.DENIED,
            f"{path} can be read by root only",
            f"sudo chmod a+r {path} (until the next start of the machine)",
            "readings of power can be a side channel for secrets of other programs",
        )
    said = error.strerror if isinstance(error, OSError) else str(error)
    return Probe(ProbeState.UNSUPPORTED, f"{path}: {said}")
