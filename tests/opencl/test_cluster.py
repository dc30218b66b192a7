"""A run of eight ranks, as docs/cluster.md has it: a dataset for DuckDB and Dask, and one timeline."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cltrace
from tests.conftest import CLTRACE, PROGRAMS, Runner, clean_environment, finished
from tests.verb_server import VerbServer

pytestmark = pytest.mark.opencl

RANKS = 8
EXAMPLE = Path(__file__).parents[2] / "examples" / "dask_summary.py"
Sums = dict[tuple[int, str], tuple[int, int]]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory, verb_server: Callable[[], VerbServer]) -> Path:
    """A directory with a trace of each rank, and a dataset with an export of each."""
    directory = tmp_path_factory.mktemp("ranks")
    for rank in range(RANKS):
        name = f"rank{rank}"
        ticks = [sys.executable, PROGRAMS / "tick.py", *("x" * rank)]
        recorded = finished(
            [*CLTRACE, "run", "-q", "-o", f"{name}.cltrace", *ticks],
            directory,
            env={"OMPI_COMM_WORLD_RANK": str(rank)},
        )
        assert recorded.status == 0, recorded.stderr
        words = ["export", f"{name}.cltrace", "-o", f"dataset/{name}.parquet"]
        status, _, said = verb_server().run(words, directory, clean_environment())
        assert status == 0, said
    return directory


def sums_of(directory: Path) -> Sums:
    """Launches and time on the device, by rank and kernel, as each trace says."""
    found: Sums = {}
    for rank in range(RANKS):
        with cltrace.load(directory / f"rank{rank}.cltrace") as trace:
            for kernel, count, total in trace.rows(
                "SELECT kernel, count(duration_ns), sum(duration_ns) FROM v_command "
                "WHERE kernel IS NOT NULL GROUP BY kernel"
            ):
                found[(rank, kernel)] = (count, total)
    assert len(found) == RANKS
    return found


def test_duckdb_reads_the_dataset(ranks: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = duckdb.sql(
        "SELECT rank, kernel, count(duration_ns), sum(duration_ns) "
        f"FROM read_parquet('{ranks}/dataset/*/v_command/**/*.parquet', hive_partitioning = true) "
        "WHERE kernel IS NOT NULL GROUP BY ALL"
    ).fetchall()
    assert {(rank, kernel): (count, total) for rank, kernel, count, total in rows} == sums_of(ranks)


def test_dask_reads_the_dataset_on_a_local_cluster(ranks: Path, run: Runner) -> None:
    pytest.importorskip("distributed")
    done = run(EXAMPLE, ranks / "dataset", command=[sys.executable])
    assert done.status == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert head == "rank,kernel,count,sum"
    cells = [line.split(",") for line in lines]
    assert {
        (int(rank), kernel): (int(count), int(total)) for rank, kernel, count, total in cells
    } == (sums_of(ranks))


def test_all_ranks_are_on_one_timeline(ranks: Path, run: Runner, tmp_path: Path) -> None:
    merged = tmp_path / "all.cltrace"
    done = run("merge", "-o", merged, *(ranks / f"rank{one}.cltrace" for one in range(RANKS)))
    assert done.status == 0, done.stderr
    shown = run("timeline", merged, env={"COLUMNS": "100"})
    assert shown.status == 0, shown.stderr
    for rank in range(RANKS):
        assert f"rank {rank}" in shown.stdout
    whole = run("export", merged, "-o", "all.parquet")
    assert whole.status == 0, whole.stderr
    directories = sorted(one.name for one in (tmp_path / "all.parquet" / "v_command").iterdir())
    assert directories == [f"rank={rank}" for rank in range(RANKS)]
    assert run("view", merged).status == 0
