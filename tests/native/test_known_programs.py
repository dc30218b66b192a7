"""Programs of others, as distributions ship them."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cltrace.events.records import Kernel
from cltrace.events.tables import BUFFERS, LAUNCHES, RELEASES, STAMPS
from tests.conftest import needs
from tests.native.conftest import Toolbox

pytestmark = pytest.mark.opencl


def test_clinfo_prints_the_same(toolbox: Toolbox, tmp_path: Path) -> None:
    program = shutil.which("clinfo")
    needs(program is not None, "clinfo")
    assert program is not None
    plain = subprocess.run([program], capture_output=True, text=True, check=False)
    run = toolbox.record(tmp_path / "parts", [program])
    assert (run.status, run.stdout, run.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert run.spool.is_complete


def test_clpeak_is_recorded_whole(toolbox: Toolbox, tmp_path: Path) -> None:
    program = shutil.which("clpeak")
    needs(program is not None, "clpeak")
    assert program is not None
    # Without the layer, too, it aborts where PoCL has its kernels in a cache.
    variables = {**toolbox.variables, "POCL_CACHE_DIR": str(tmp_path / "cache")}
    alone = replace(toolbox, variables=variables)
    run = alone.record(tmp_path / "parts", [program, "--kernel-latency"])
    assert run.status == 0
    spool = run.spool
    launches = spool.rows(LAUNCHES)
    assert len(launches) > 1000
    stamps = spool.rows(STAMPS)
    assert set(2 * np.flatnonzero(launches[:, -1])) <= set(stamps[:, 0])
    assert spool.records(Kernel)
    assert len(spool.rows(RELEASES)) == len(spool.rows(BUFFERS)) > 0
    assert spool.is_complete
