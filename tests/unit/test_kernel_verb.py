"""`cltrace kernel`, as users run it."""

import json
from pathlib import Path

import numpy as np

from tests.conftest import Runner

TILED = """#define T 16
__kernel void scale(__global const float *in, __global float *out, const float by, const int n)
{
    const int i = get_global_id(0);
    if (i < n)
        out[i] = in[i] * by;
}
__kernel void pick(__global const int *which, __global float *out)
{
    out[get_global_id(0)] = which[get_global_id(0)] > 3 ? 1.0f : out[which[1]];
}
"""


def test_kernels_of_a_source_are_listed(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(TILED)
    done = run("kernel", "k.cl")
    assert done.status == 0
    assert "scale (program.cl:2)" in done.stdout
    assert "const float*" in done.stdout


def test_a_launch_is_counted_and_its_source_annotated(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(TILED)
    words = ["kernel", "k.cl", "--kernel", "scale", "--global-size", "4096", "--local-size", "64"]
    done = run(*words, "--arg", "by=2", "--arg", "n=4000", "--format", "json")
    assert done.status == 0
    tables = json.loads(done.stdout)
    assert {"cost_types", "operations", "sites", "listing"} <= set(tables)
    sites = tables["sites"]
    assert {site["memory"] for site in sites} == {"in", "out"}
    listing = {row["line"]: row for row in tables["listing"]}
    assert listing[6]["source"] == "        out[i] = in[i] * by;"
    assert 1.9 < listing[6]["accesses"] < 2


def test_contents_come_from_files(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(TILED)
    np.save(tmp_path / "which.npy", np.arange(256, dtype=np.int32))
    words = ["kernel", "k.cl", "--kernel", "pick", "--global-size", "256", "--format", "json"]
    assumed = json.loads(run(*words).stdout)
    known = json.loads(run(*words, "--arg", "which=@which.npy").stdout)
    assert assumed["assumptions"]
    assert known["assumptions"] == []


def test_errors_are_one_line_and_say_what_to_do(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(TILED)
    (tmp_path / "bad.cl").write_text("__kernel void k() { x; }")
    for words, said in (
        (["k.cl", "--global-size", "64"], "scale needs --arg by=… --arg n=…"),
        (["bad.cl"], "program.cl:1:21: use of undeclared identifier 'x'"),
        (["none.cl"], "none.cl cannot be read"),
        (["k.cl", "--options", "-o x"], "'-o' is not a build option"),
        (["k.cl", "--global-size", "64", "--kernel", "other"], "no kernel of k.cl is called other"),
        (["k.cl", "--global-size", "64", "--arg", "by=x", "--arg", "n=1"], "by=x is no number"),
    ):
        done = run("kernel", *words)
        assert done.status == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_profile_gives_cost_types_times(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(TILED)
    words = ["kernel", "k.cl", "--kernel", "scale", "--global-size", "4194304", "--arg", "by=2"]
    words += ["--arg", "n=4194304", "--profile", "nvidia-h200", "--format", "json"]
    times = {row["type"]: row["time_ns"] for row in json.loads(run(*words).stdout)["cost_types"]}
    assert times["total"] > times["base"] > 1_000
    assert run(*words[:-4], "--profile", "no-such").status == 2
