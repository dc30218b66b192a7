"""Samples kept under a name, for each machine apart: times of another device are no baseline."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cltrace.errors import OutputError, SampleFileError, UsageError
from cltrace.files import file_name
from cltrace.regress.runs import DeviceIdentity
from cltrace.regress.sample_files import SampleFile, read_samples, write_samples

DIRECTORY: Final = Path(".cltrace") / "baselines"
_SUFFIX: Final = ".json"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Baseline:
    """Samples under a name. `machine` stands for the devices that they are of."""

    name: str
    machine: str
    path: Path

    def read(self) -> SampleFile:
        """Raises: `SampleFileError`."""
        return read_samples(self.path)


@dataclass(frozen=True, slots=True)
class Baselines:
    """The baselines of a directory: a directory for each machine, a file for each name."""

    directory: Path = DIRECTORY

    def all(self) -> Iterator[Baseline]:
        """Every one, by name and machine."""
        paths = sorted(self.directory.glob(f"*/*{_SUFFIX}"), key=lambda one: (one.stem, one.parent))
        for path in paths:
            yield Baseline(path.name.removesuffix(_SUFFIX), path.parent.name, path)

    def named(self, name: str) -> Sequence[Baseline]:
        """Those of a name, of any machine. Raises: `UsageError` for what is no name."""
        checked = _checked(name)
        return [one for one in self.all() if one.name == checked]

    def of(self, name: str, devices: Sequence[DeviceIdentity]) -> Baseline | None:
        """That of a name on a machine. Raises: `UsageError`."""
        path = self._path(name, devices)
        return Baseline(name, path.parent.name, path) if path.is_file() else None

    def save(self, name: str, samples: SampleFile, *, overwrite: bool) -> Path:
        """Keep samples. Raises: `OutputError`, `UsageError` where others have the name."""
        path = self._path(name, devices_of(samples))
        if path.exists() and not overwrite:
            raise UsageError(f"{path} exists already: -f saves over it")
        write_samples(samples, path)
        return path

    def remove(self, one: Baseline) -> None:
        """Raises: `OutputError`."""
        try:
            one.path.unlink()
            if not any(one.path.parent.iterdir()):
                one.path.parent.rmdir()
        except OSError as error:
            raise OutputError(f"{one.path} cannot be removed: {error.strerror}") from error

    def _path(self, name: str, devices: Sequence[DeviceIdentity]) -> Path:
        return self.directory / machine_of(devices) / f"{_checked(name)}{_SUFFIX}"


def machine_of(devices: Sequence[DeviceIdentity]) -> str:
    """A name of devices with their drivers: another driver is another machine."""
    whole = "\n".join("\t".join(_parts(one)) for one in sorted(devices))
    names = file_name("-".join(one.name for one in sorted(devices)))[:60].strip("-")
    return f"{names or 'none'}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def devices_of(samples: SampleFile) -> tuple[DeviceIdentity, ...]:
    """The devices that head ran on. Raises: `SampleFileError` without any."""
    found = {one for each in samples.rounds for run in each.head for one in run.devices}
    if not found:
        raise SampleFileError("the samples name no device")
    return tuple(sorted(found))


def _parts(one: DeviceIdentity) -> tuple[str, ...]:
    return one.name, one.platform, one.driver, one.platform_version


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name for a baseline: letters, digits, '.', '_' and '-'")
    return name
