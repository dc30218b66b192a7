"""Parallel runs: one trace a rank, and all of them in one file."""

import re
import shutil
import sys
from pathlib import Path

import pytest

import cltrace
from tests.conftest import PROGRAMS, Runner, needs

pytestmark = [pytest.mark.opencl, pytest.mark.mpi]

TICK = PROGRAMS / "tick.py"


@pytest.fixture
def mpiexec() -> list[str]:
    """Open MPI's launcher, on a machine with fewer cores than ranks and perhaps as root."""
    found = shutil.which("mpiexec")
    needs(found is not None, "mpiexec: apt-get install openmpi-bin")
    return [str(found), "--allow-run-as-root", "--oversubscribe", "-n", "2"]


def test_each_rank_has_its_trace_and_merge_puts_them_together(
    mpiexec: list[str], run: Runner, tmp_path: Path
) -> None:
    done = run(sys.executable, "-m", "cltrace", "run", "-q", TICK, "x", command=mpiexec)
    assert done.status == 0, done.stderr
    assert done.stdout.splitlines() == ["['x']"] * 2
    traces = sorted(tmp_path.glob("tick-*.cltrace"), key=lambda one: one.name.split("-")[2])
    assert [one.name.split("-")[2] for one in traces] == ["rank0", "rank1"]
    for rank, path in enumerate(traces):
        with cltrace.load(path) as trace:
            assert trace.rows("SELECT rank FROM v_process") == [(rank,)]
    merged = run("merge", "-o", "all.cltrace", *traces)
    assert merged.status == 0, merged.stderr
    with cltrace.load(tmp_path / "all.cltrace") as trace:
        rows = trace.rows(
            "SELECT p.rank, c.kind, count(*) FROM v_command c JOIN v_process p USING (process_id) "
            "GROUP BY 1, 2 ORDER BY 1, 2"
        )
        assert rows == [(0, "kernel", 3), (0, "read", 1), (1, "kernel", 3), (1, "read", 1)]
        by_process = trace.rows(
            "SELECT label, calls FROM v_rollup WHERE dimension = 'process' AND activity = 'kernel'"
        )
        assert [calls for _, calls in by_process] == [3, 3]
        assert all("rank" in label for label, _ in by_process)
        kernels = trace.rows(
            "SELECT calls FROM v_rollup WHERE dimension = 'kernel' AND key = 'tick'"
        )
        assert kernels == [(6,)]
    shown = run("summary", "--by", "process", "all.cltrace")
    assert shown.status == 0
    assert "rank 1" in shown.stdout


@pytest.mark.parametrize(
    ("variable", "pattern"),
    [
        ("OMPI_COMM_WORLD_RANK", "%q{OMPI_COMM_WORLD_RANK}"),
        ("PMI_RANK", "%p"),
        ("SLURM_PROCID", "x"),
    ],
)
def test_knows_the_rank_from_any_launcher(
    variable: str, pattern: str, run: Runner, tmp_path: Path
) -> None:
    done = run("run", "-q", "-o", f"t-{pattern}.cltrace", TICK, env={variable: "7"})
    assert done.status == 0, done.stderr
    (path,) = tmp_path.glob("t-*.cltrace")
    with cltrace.load(path) as trace:
        assert trace.rows("SELECT rank FROM v_process") == [(7,)]
    expected = {"%q{OMPI_COMM_WORLD_RANK}": r"t-7", "%p": r"t-\d+", "x": r"t-x"}[pattern]
    assert re.fullmatch(expected, path.stem)
