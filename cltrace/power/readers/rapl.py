"""RAPL: energy counters of CPU packages, their memory and the platform, through Linux's powercap.

The tree is `Documentation/power/powercap/powercap.rst` of the kernel. Zones are numbered in
hexadecimal, in no order that means anything: what a zone is, its file `name` tells. Counters are in
microjoules and begin anew after `max_energy_range_uj`, each after its own.
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
from cltrace.power.readers.sysfs import NumberFile, Opener, number_in, number_now, words_in

_ROOT: Final = Path("/sys/class/powercap")
_TREES: Final = ("intel-rapl", "intel-rapl-mmio")
"""Where domains are, the better one first: the second repeats domains of the first."""
_ZONE: Final = r":(?P<zone>[0-9a-f]+)(?::(?P<part>[0-9a-f]+))?"
_SCOPES: Final = {"core": Scope.CORES, "uncore": Scope.UNCORE, "dram": Scope.DRAM}
_COUNTER: Final = "energy_uj"
_MICRO: Final = 1e-6
_UPDATE_S: Final = 1e-3
_HIGHEST_W: Final = 2000.0
"""No domain takes more: it tells how soon a counter can begin anew."""
_STILL_S: Final = 0.1
_LOOKS: Final = 3
_REMEDY: Final = (
    "sudo chmod a+r /sys/class/powercap/*/energy_uj (until the next start of the machine)"
)
_SECURITY: Final = (
    "fine-grained energy readings are a side channel for secrets of other programs "
    "(CVE-2020-8694): allow it on machines that only you use"
)


@dataclass(frozen=True, slots=True)
class Zone:
    """A domain of RAPL: its directory, its name, and the zone that it is a part of, "" for none."""

    path: Path
    zone: str
    name: str
    parent: str


class RaplReader:
    """The counters of RAPL. Its argument is where powercap's tree is, for tests and for containers."""

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
        """Look at every domain, twice within a tenth of a second."""
        try:
            return self._probed()
        except OSError as error:
            return Probe(ProbeState.UNSUPPORTED, f"{self._root}: {error.strerror}")
        except PowerError as error:
            return Probe(ProbeState.UNSUPPORTED, str(error), "report it with what the file holds")

    def open(self, period_s: float) -> "OpenRapl":  # noqa: ARG002 - it is asked, and has no period
        """Open every counter that can be read. Raises: `OSError`, `PowerError`."""
        zones = [zone for zone in _zones(self._root) if isinstance(self._tried(zone), int)]
        if not zones:
            raise PowerError(f"no energy_uj below {self._root} can be read")
        return OpenRapl(_channels(zones), [self._file(zone) for zone in zones])

    def _probed(self) -> Probe:
        if not self._root.is_dir():
            return Probe(
                ProbeState.ABSENT,
                f"{self._root} does not exist: no such driver, or a virtual machine without it",
                "on a machine of your own: modprobe intel_rapl_common; in a virtual machine nothing",
            )
        zones = list(_zones(self._root))
        if not zones:
            return self._none()
        tried = [self._tried(zone) for zone in zones]
        readable = [zone for zone, one in zip(zones, tried, strict=True) if isinstance(one, int)]
        if not readable:
            return _unreadable(zones, tried)
        return self._moving(readable)

    def _none(self) -> Probe:
        dangling = [one for one in sorted(self._root.iterdir()) if not one.exists()]
        if dangling:
            return Probe(
                ProbeState.MASKED,
                f"{dangling[0]} leads nowhere: this container may not see powercap",
                f"start the container with -v {_ROOT}:{_ROOT}:ro and unmasked /sys/devices/virtual",
                _SECURITY,
            )
        return Probe(
            ProbeState.ABSENT,
            f"{self._root} has no intel-rapl zone: the processor or the virtual "
            "machine has no such counters",
        )

    def _moving(self, zones: Sequence[Zone]) -> Probe:
        """Whether any counter moves: virtual machines may give ones that do not."""
        files = [self._file(zone) for zone in zones]
        try:
            before = [file.read() for file in files]
            for _ in range(_LOOKS):
                self._sleep(_STILL_S)
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
            f"{zones[0].path / 'energy_uj'} stayed at {before[0]} for {_LOOKS * _STILL_S:.1f} s",
            "in a virtual machine under QEMU: -accel kvm,rapl=true",
        )

    def _tried(self, zone: Zone) -> int | OSError | PowerError:
        try:
            return number_now(zone.path / _COUNTER, self._opener)
        except (OSError, PowerError) as error:
            return error

    def _file(self, zone: Zone) -> NumberFile:
        return NumberFile(zone.path / _COUNTER, self._opener)


class OpenRapl:
    """The counters, open."""

    def __init__(self, channels: Sequence[Channel], files: Sequence[NumberFile]) -> None:
        self.channels: Sequence[Channel] = channels
        self._files = files
        shortest_j = min(
            (one.modulus_steps * one.unit_per_step for one in channels if one.modulus_steps),
            default=_HIGHEST_W,
        )
        self.longest_interval_s = shortest_j / _HIGHEST_W / 4

    def read(self) -> Iterator[Sample]:
        """Every counter once."""
        for channel, file in zip(self.channels, self._files, strict=True):
            yield Sample.taken(channel.key, file.read)

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def _zones(root: Path) -> Iterator[Zone]:
    """The domains of the better tree that there is, by number."""
    for tree in _TREES:
        found = {}
        for entry in sorted(root.iterdir()) if root.is_dir() else ():
            match = re.fullmatch(re.escape(tree) + _ZONE, entry.name)
            if match is not None and (entry / _COUNTER).exists():
                key = (int(match["zone"], 16), int(match["part"] or "0", 16), match["part"] or "")
                parent = match["zone"] if match["part"] else ""
                found[key] = Zone(entry, match["zone"], words_in(entry / "name"), parent)
        if found:
            yield from (found[key] for key in sorted(found))
            return


def _channels(zones: Sequence[Zone]) -> tuple[Channel, ...]:
    """What the domains measure. A package holds its parts but for memory; the platform holds all."""
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
                modulus_steps=number_in(zone.path / "max_energy_range_uj"),
                quantum=_MICRO,
                period_s=_UPDATE_S,
                note="updated about every ms, without a time: an edge may be 1 ms off",
            )
        )
    return tuple(_told_apart(channels, zones))


def _told_apart(channels: Sequence[Channel], zones: Sequence[Zone]) -> Iterator[Channel]:
    """Channels of the same name get the number of their zone."""
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


def _unreadable(zones: Sequence[Zone], tried: Sequence[int | OSError | PowerError]) -> Probe:
    path = zones[0].path / _COUNTER
    error = tried[0]
    if isinstance(error, PermissionError):
        return Probe(ProbeState.DENIED, f"{path} can be read by root only", _REMEDY, _SECURITY)
    why = f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error)
    return Probe(ProbeState.UNSUPPORTED, why, "report it with what the file holds")
