"""What the tests of traced programs share."""

from pathlib import Path

import pytest

from tests.conftest import Runner
from tests.opencl.after import After


@pytest.fixture
def after(run: Runner, tmp_path: Path) -> After:
    """Runs code behind a common head, traced, and opens its trace."""
    return After(run, tmp_path)
