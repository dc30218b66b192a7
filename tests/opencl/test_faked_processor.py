"""`cltrace run` on a processor that PoCL's wheel does not know: it says so before the program starts."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Finished, clean_environment, finished, needs

pytestmark = pytest.mark.opencl

ZEN_5 = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 68\n"
ZEN_3 = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n"
MOUNT = 'mount --bind "$1" /proc/cpuinfo && shift && exec "$@"'
PROGRAM = "import sys; print('the program starts', file=sys.stderr)"


def run_on(facts: str, directory: Path, **variables: str) -> Finished:
    """Run the program under cltrace on a processor with such facts, in a file system of its own."""
    shown = directory / "cpuinfo"
    shown.write_text(facts)
    command = [sys.executable, "-m", "cltrace", "run", "-f", "-o", "t.cltrace", "-c", PROGRAM]
    words = ["unshare", "-m", "sh", "-c", MOUNT, "sh", str(shown), *command]
    environment = clean_environment()
    environment.pop("OCL_ICD_VENDORS", None)  # it would be the user's choice of a device
    return finished(["env", "-i", *_assignments(environment | variables), *words], directory)


def _assignments(environment: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in environment.items()]


@pytest.fixture(autouse=True)
def mounts(tmp_path: Path) -> None:
    """Skip where a file cannot be mounted: only root can."""
    probe = ["unshare", "-m", "sh", "-c", "mount --bind /proc/version /proc/cpuinfo"]
    is_root = os.geteuid() == 0 and shutil.which("unshare") is not None
    is_allowed = is_root and subprocess.run(probe, cwd=tmp_path, check=False).returncode == 0
    if not is_allowed:
        pytest.skip("mounting is not allowed here")
    needs(_has_wheel(), "pocl-binary-distribution")


def _has_wheel() -> bool:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version("pocl-binary-distribution").startswith("3.0")
    except PackageNotFoundError:
        return False


def test_a_fault_and_its_remedy_are_named_before_the_program_starts(tmp_path: Path) -> None:
    done = run_on(ZEN_5, tmp_path, POCL_EXTRA_BUILD_FLAGS="--no-such-flag")
    assert done.status == 0
    warning, _, rest = done.stderr.partition("the program starts")
    assert "PoCL 3.0" in warning
    assert "builds nothing on this processor (AMD Zen 5 or newer)" in warning
    assert "PYOPENCL_CTX=" in warning or "[intel]" in warning or "OCL_ICD_VENDORS=" in warning
    assert "warning" not in rest


def test_a_driver_that_works_all_the_same_is_not_warned_of(tmp_path: Path) -> None:
    assert "warning" not in run_on(ZEN_5, tmp_path).stderr


def test_a_processor_that_the_wheel_knows_is_not_tried(tmp_path: Path) -> None:
    done = run_on(ZEN_3, tmp_path, POCL_EXTRA_BUILD_FLAGS="--no-such-flag")
    assert "warning" not in done.stderr
