"""Programs that nobody here wrote, from the source distributions of well-known packages."""

import importlib.metadata
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import needs

SourceOf = Callable[[str], Path]


@pytest.fixture(scope="session")
def source_of(tmp_path_factory: pytest.TempPathFactory) -> SourceOf:
    """Fetches the source distribution of a package, of the version that is installed."""
    found: dict[str, Path] = {}

    def fetch(package: str) -> Path:
        if package not in found:
            found[package] = _fetched(package, tmp_path_factory.mktemp(package))
        return found[package]

    return fetch


def _fetched(package: str, directory: Path) -> Path:
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        version = ""
    needs(bool(version), f"{package}, of the dependency group `programs`")
    command = (
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
        *("--no-binary", package, "--dest", directory, f"{package}=={version}"),
    )
    done = subprocess.run([*map(str, command)], capture_output=True, check=False)
    archives = list(directory.glob("*.tar.gz"))
    needs(bool(archives), f"the source distribution of {package}: {done.stderr.decode()[-300:]}")
    with tarfile.open(archives[0]) as archive:
        # Pythons before 3.11.4 have no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(directory)
    return next(one for one in directory.iterdir() if one.is_dir())
