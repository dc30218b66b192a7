"""Baselines: samples stored under a name, separately for each machine."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cltrace.errors import OutputError, SampleFileError, UsageError
from cltrace.files import check_output, slug
from cltrace.regress.run_records import DeviceIdentity
from cltrace.regress.sample_files import SampleFile, read_samples, write_samples

DIRECTORY: Final = Path(".cltrace") / "baselines"
_SUFFIX: Final = ".json"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Baseline:
    """Samples under a name. `machine` is the name of the devices that they were measured on."""

    name: str
    machine: str
    path: Path

    def read(self) -> SampleFile:
        """Read the samples. Raises: `SampleFileError`."""
        return read_samples(self.path)


@dataclass(frozen=True, slots=True)
class Baselines:
    """Baselines in a directory: a directory per machine, a file per name."""

    directory: Path = DIRECTORY

    def all(self) -> Iterator[Baseline]:
        """Yield all baselines, by name and machine."""
        paths = self.directory.glob(f"*/*{_SUFFIX}")
        for path in sorted(paths, key=lambda path: (path.stem, path.parent)):
            yield Baseline(path.name.removesuffix(_SUFFIX), path.parent.name, path)

    def with_name(self, name: str) -> Sequence[Baseline]:
        """Return the baselines with a name, of all machines. Raises: `UsageError` for an invalid name."""
        checked = _check_name(name)
        return [baseline for baseline in self.all() if baseline.name == checked]

    def find(self, name: str, devices: Sequence[DeviceIdentity]) -> Baseline | None:
        """Return the baseline with a name on a machine. Raises: `UsageError`."""
        path = self._path(name, devices)
        return Baseline(name, path.parent.name, path) if path.is_file() else None

    def save(self, name: str, samples: SampleFile, *, overwrite: bool) -> Path:
        """Store samples under a name. Raises: `OutputError`, also where the name is taken."""
        path = self._path(name, head_devices(samples))
        check_output(path, is_forced=overwrite)
        write_samples(samples, path)
        return path

    def remove(self, baseline: Baseline) -> None:
        """Remove a baseline, and its directory where that becomes empty. Raises: `OutputError`."""
        try:
            baseline.path.unlink()
            if not any(baseline.path.parent.iterdir()):
                baseline.path.parent.rmdir()
        except OSError as error:
            raise OutputError(f"{baseline.path} cannot be removed: {error.strerror}") from error

    def _path(self, name: str, devices: Sequence[DeviceIdentity]) -> Path:
        return self.directory / machine_name(devices) / f"{_check_name(name)}{_SUFFIX}"


def machine_name(devices: Sequence[DeviceIdentity]) -> str:
    """Return a name for devices with their drivers: another driver makes another machine."""
    whole = "\n".join("\t".join(_parts(device)) for device in sorted(devices))
    names = slug("-".join(device.name for device in sorted(devices)))[:60].strip("-")
    return f"{names or 'none'}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def head_devices(samples: SampleFile) -> tuple[DeviceIdentity, ...]:
    """Return the devices that head ran on. Raises: `SampleFileError` without any."""
    devices = {device for rounds in samples.rounds for run in rounds.head for device in run.devices}
    if not devices:
        raise SampleFileError("the samples name no device")
    return tuple(sorted(devices))


def _parts(device: DeviceIdentity) -> tuple[str, ...]:
    return device.name, device.platform, device.driver, device.platform_version


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a baseline: use letters, digits, '.', '_' and '-'"
        )
    return name
