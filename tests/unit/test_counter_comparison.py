"""Counts beside an H200's hardware counters: the shares of launches that agree must not fall."""

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from benchmarks.counter_comparison import QUANTITIES, Distance, Pair, Quantity, scores
from benchmarks.counter_jobs import read_jobs
from benchmarks.counter_report import Comparison, compare_jobs, print_json, print_table, read_rows

DATA = Path(__file__).parents[1] / "data"
SAMPLE = (
    "vectors: axpy 2^14 by 64",
    "reduction: sums 2^16 by 256",
    "edges: sobel 2^18 by 128",
    "five-point stencil: five 2^14 by 64",
    "seven-point stencil: seven 2^16 by 256",
    "matrix product: plain 2^18 by 128",
    "h200-polybench 10: mm2_kernel1 1024x1024",
    "h200-polybench 37: adi_kernel4 4096",
    "h200-polybench 150: lu_kernel2 4096x4096",
    "restricted 3f5b7437581d7e1 1024x1024 by 256",
    "unrestricted 24d7d117394f3b98 64x128 by 64",
    "unrestricted 12fe684dabeacdab 1024x2048 by 512",
)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    jobs = [job for job in read_jobs(DATA / "h200-counter-jobs.json.gz") if job.name in SAMPLE]
    assert len(jobs) == len(SAMPLE)
    return compare_jobs(jobs, read_rows(DATA / "h200-counters.csv.gz"), "nvidia-h200")


@pytest.mark.parametrize(
    "quantity",
    [
        "load requests",
        "load sectors",
        "store requests",
        "store sectors",
        "L2 sectors written",
        "warps resident at most",
        "float add, no functions",
        "float multiply, no functions",
        "float multiply-add, no functions",
    ],
)
def test_counts_agree_with_counters(comparison: Comparison, quantity: str) -> None:
    outside = [pair for pair in comparison.pairs[quantity] if not pair.agrees]
    assert not outside


def test_sectors_that_miss_near_caches_agree_except_in_products(comparison: Comparison) -> None:
    outside = {
        pair.launch: pair.ratio for pair in comparison.pairs["L2 sectors read"] if not pair.agrees
    }
    assert set(outside) <= {
        "h200-polybench 10: mm2_kernel1 1024x1024",
        "matrix product: plain 2^18 by 128",
    }
    assert max(outside.values()) < 1.4


def test_all_jobs_are_compared(comparison: Comparison) -> None:
    assert not comparison.failures
    assert comparison.share("load requests") == 1.0
    whole = [score for score in comparison.scores() if score.set_name == "all"]
    assert {score.quantity for score in whole} <= {item.name for item in QUANTITIES}


def test_table_and_json_state_the_same(comparison: Comparison) -> None:
    table, document = io.StringIO(), io.StringIO()
    with redirect_stdout(table):
        print_table(comparison)
    with redirect_stdout(document):
        print_json(comparison)
    stored = json.loads(document.getvalue())
    assert len(stored["scores"]) == len(list(comparison.scores()))
    for row in stored["disagreements"]:
        assert row["launch"] in table.getvalue()


def test_launches_without_a_value_have_no_score() -> None:
    quantity = Quantity(
        name="warps",
        model=lambda _: 0.0,
        device=lambda _: 0.0,
        tolerance=10.0,
        distance=Distance.POINTS,
    )
    assert not list(scores(quantity, []))
    pairs = [Pair("a", "one", 1.0, 2.0, agrees=False), Pair("b", "two", 2.0, 2.0, agrees=True)]
    assert [(item.set_name, item.share) for item in scores(quantity, pairs)] == [
        ("all", 0.5), ("one", 0.0), ("two", 1.0),
    ]  # fmt: skip
