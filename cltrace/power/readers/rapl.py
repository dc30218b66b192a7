"""RAPL: energy counters of CPU packages, their memory and the platform, through Linux's powercap.

`Documentation/power/powercap/powercap.rst` of the kernel describes the tree. Zones have hexadecimal
numbers in an arbitrary order, so the file `name` identifies a zone. Counters are in microjoules, and each
wraps around at its own `max_energy_range_uj`.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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

_ROOT: Final = Path("/sys/class/powercap")
_TREES: Final = ("intel-rapl", "intel-rapl-mmio")
"""Trees of domains, the preferred one first: the second repeats domains of the first."""
_ZONE: Final = r":(?P<zone>[0-9a-f]+)(?::(?P<part>[0-9a-f]+))?"
_SCOPES: Final = {"core": Scope.CORES, "uncore": Scope.UNCORE, "dram": Scope.DRAM}
_COUNTER: Final = "energy_uj"
_MICRO: Final = 1e-6
_UPDATE_S: Final = 1e-3
_MAX_W: Final = 2000.0
"""Maximum power of a domain. It determines the shortest time in which a counter wraps around."""
_RETRY_S: Final = 0.1
_RETRIES: Final = 3
_REMEDY: Final = (
    "sudo chmod a+r /sys/class/powercap/*/energy_uj (until the next start of the machine)"
)
_SECURITY: Final = (
    "fine-grained energy readings are a side channel for secrets of other programs "
    "(CVE-2020-8694): allow it on machines that only you use"
)


@dataclass(frozen=True, slots=True)
class Zone:
    """Domain of RAPL: its directory, its name, and the zone that contains it, "" for none."""

    path: Path
    zone: str
    name: str
    parent: str


class RaplReader:
    """Reader of RAPL's counters. Its argument is the root of the tree, for tests and containers."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["live"]] = "live"
    period_s: ClassVar[float] = 0.05

    def __init__(
        self,
        argument: str = "",
        *,
        opener: Opener = os.open,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._root = Path(argument) if argument else _ROOT
        self._opener = opener
        self._sleep = sleep

    def probe(self) -> Probe:
        """Check that the counters of the domains can be read and move, within 0.3 s."""
        try:
            return self._probe_domains()
        except OSError as error:
            return Probe(ProbeState.UNSUPPORTED, f"{self._root}: {error.strerror}")
        except PowerError as error:
            return Probe(
                ProbeState.UNSUPPORTED, str(error), "report it with the content of the file"
            )

    def open(self, period_s: float) -> "OpenRapl":  # noqa: ARG002 - counters have no period
        """Open every counter that can be read. Raises: `OSError`, `PowerError`."""
        zones = [zone for zone in _zones(self._root) if isinstance(self._try_read(zone), int)]
        if not zones:
            raise PowerError(f"no energy_uj below {self._root} can be read")
        return OpenRapl(_channels(zones), [self._file(zone) for zone in zones])

    def _probe_domains(self) -> Probe:
        if not self._root.is_dir():
            return Probe(
                ProbeState.ABSENT,
                f"{self._root} does not exist: no such driver, or a virtual machine without it",
                "on a machine of your own: modprobe intel_rapl_common; in a virtual machine nothing",
            )
        zones = list(_zones(self._root))
        if not zones:
            return self._absent_probe()
        results = [self._try_read(zone) for zone in zones]
        readable = [
            zone for zone, result in zip(zones, results, strict=True) if isinstance(result, int)
        ]
        if not readable:
            return _unreadable_probe(zones, results)
        return self._movement_probe(readable)

    def _absent_probe(self) -> Probe:
        dangling = [entry for entry in sorted(self._root.iterdir()) if not entry.exists()]
        if dangling:
            return Probe(
                ProbeState.MASKED,
                f"{dangling[0]} is a dangling link: this container may not see powercap",
                f"start the container with -v {_ROOT}:{_ROOT}:ro and unmasked /sys/devices/virtual",
                _SECURITY,
            )
        return Probe(
            ProbeState.ABSENT,
            f"{self._root} has no intel-rapl zone: the processor or the virtual "
            "machine has no such counters",
        )

    def _movement_probe(self, zones: Sequence[Zone]) -> Probe:
        """Return ok if any counter changes: those of virtual machines may not."""
        files = [self._file(zone) for zone in zones]
        try:
            before = [file.read() for file in files]
            for _ in range(_RETRIES):
                self._sleep(_RETRY_S)
                if [file.read() for file in files] != before:
                    names = ", ".join(channel.label for channel in _channels(zones))
                    return Probe(
                        ProbeState.OK, f"{names} below {self._root}", channels=_channels(zones)
                    )
        finally:
            for file in files:
                file.close()
        return Probe(
            ProbeState.FROZEN,
            f"{zones[0].path / 'energy_uj'} stayed at {before[0]} for {_RETRIES * _RETRY_S:.1f} s",
            "in a virtual machine under QEMU: -accel kvm,rapl=true",
        )

    def _try_read(self, zone: Zone) -> int | OSError | PowerError:
        try:
            return read_number(zone.path / _COUNTER, self._opener)
        except (OSError, PowerError) as error:
            return error

    def _file(self, zone: Zone) -> NumberFile:
        return NumberFile(zone.path / _COUNTER, self._opener)


class OpenRapl:
    """Open counters of RAPL."""

    def __init__(self, channels: Sequence[Channel], files: Sequence[NumberFile]) -> None:
        self.channels: Sequence[Channel] = channels
        self._files = files
        shortest_j = min(
            (
                channel.modulus_steps * channel.unit_per_step
                for channel in channels
                if channel.modulus_steps
            ),
            default=_MAX_W,
        )
        self.longest_interval_s = shortest_j / _MAX_W / 4

    def read(self) -> Iterator[Sample]:
        """Yield a sample of every counter."""
        for channel, file in zip(self.channels, self._files, strict=True):
            yield Sample.taken(channel.key, file.read)

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def _zones(root: Path) -> Iterator[Zone]:
    """Yield the domains of the preferred tree, sorted by number."""
    for tree in _TREES:
        zones = {}
        for entry in sorted(root.iterdir()) if root.is_dir() else ():
            match = re.fullmatch(re.escape(tree) + _ZONE, entry.name)
            if match is not None and (entry / _COUNTER).exists():
                key = (int(match["zone"], 16), int(match["part"] or "0", 16), match["part"] or "")
                parent = match["zone"] if match["part"] else ""
                zones[key] = Zone(entry, match["zone"], read_words(entry / "name"), parent)
        if zones:
            yield from (zones[key] for key in sorted(zones))
            return


def _channels(zones: Sequence[Zone]) -> tuple[Channel, ...]:
    """Return the channels of domains. A package contains its parts except memory; the platform all."""
    packages = {zone.zone: zone.name for zone in zones if not zone.parent}
    platform = next((zone.name for zone in zones if zone.name == "psys"), "")
    channels = []
    for zone in zones:
        owner = packages.get(zone.parent, "")
        scope = _scope(zone)
        inside = f"rapl:{owner}" if owner and scope is not Scope.DRAM else ""
        name = f"{owner}-{zone.name}" if owner else zone.name
        channels.append(
            Channel(
                key=f"rapl:{name}",
                label=f"RAPL {name}",
                quantity=Quantity.ENERGY,
                scope=scope,
                unit_per_step=_MICRO,
                inside=inside or (f"rapl:{platform}" if platform not in {"", zone.name} else ""),
                modulus_steps=read_optional_number(zone.path / "max_energy_range_uj"),
                quantum=_MICRO,
                period_s=_UPDATE_S,
                note="updated about every ms, without a time stamp: an edge may be 1 ms off",
            )
        )
    return tuple(_with_unique_keys(channels, zones))


def _with_unique_keys(channels: Sequence[Channel], zones: Sequence[Zone]) -> Iterator[Channel]:
    """Yield the channels. Those of the same name get the directory name of their zone."""
    keys = [channel.key for channel in channels]
    for channel, zone in zip(channels, zones, strict=True):
        if keys.count(channel.key) > 1:
            yield replace(channel, key=f"{channel.key}@{zone.path.name}")
        else:
            yield channel


def _scope(zone: Zone) -> Scope:
    if zone.name == "psys":
        return Scope.PLATFORM
    if zone.name.startswith("package"):
        return Scope.CPU
    return _SCOPES.get(zone.name, Scope.OTHER)


def _unreadable_probe(
    zones: Sequence[Zone], results: Sequence[int | OSError | PowerError]
) -> Probe:
    path = zones[0].path / _COUNTER
    error = results[0]
    if isinstance(error, PermissionError):
        return Probe(ProbeState.DENIED, f"{path} can be read by root only", _REMEDY, _SECURITY)
    evidence = f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error)
    return Probe(ProbeState.UNSUPPORTED, evidence, "report it with the content of the file")
