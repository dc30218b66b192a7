"""What the tests of traced programs share."""

from pathlib import Path

import pytest

from tests.conftest import Runner, needs
from tests.kernels.oclgrind import environment, icd_library
from tests.opencl.after import After


@pytest.fixture
def after(run: Runner, tmp_path: Path) -> After:
    """Runs code behind a common head, traced, and opens its trace."""
    return After(run, tmp_path)


@pytest.fixture(scope="session")
def oclgrind() -> dict[str, str]:
    """An environment in which Oclgrind is the platform."""
    library = icd_library()
    needs(library is not None, "Oclgrind: make .oclgrind")
    return environment(library)
