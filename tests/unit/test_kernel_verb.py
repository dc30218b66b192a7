"""`cltrace kernel`, as users run it."""

import json
from pathlib import Path

import numpy as np

import cltrace
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


SAMPLED = """__kernel void mark(__read_only image2d_t in, sampler_t s, __write_only image2d_t out,
                   __global int *y)
{
    const int i = get_global_id(0);
    const float4 v = read_imagef(in, s, (float2)(i / 4.0f + 0.125f, 0.5f));
    if (v.x > 0.5f) y[i] = 1;
    write_imagef(out, (int2)(i, 0), v);
}
__kernel void layers(__read_only image1d_array_t in, __read_only image3d_t volume, __global int *y)
{
    const int i = get_global_id(0);
    if (read_imageui(in, (int2)(i, 1)).y > 5) y[i] = 1;
    if (read_imagef(volume, (int4)(1, i, 0, 0)).x > 3) y[i] = 1;
}
"""


def streams_of(path: Path) -> list[str]:
    with cltrace.load(path) as events:
        return list(events["branches"].stream)


def test_images_and_samplers_are_given_by_name(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(SAMPLED)
    np.save(tmp_path / "in.npy", np.asarray([[255, 0, 0, 255]], np.uint8))
    words = ["kernel", "k.cl", "--kernel", "mark", "--global-size", "8", "--local-size", "8"]
    words += ["--arg", "in=@in.npy,normalised", "--arg", "out=8x1", "--events", "k.events"]
    for sampler, expected in (
        ("normalised,repeat", "10011001"),
        ("normalised,edge,nearest", "10011111"),
        ("normalised,clamp", "10010000"),
        ("unnormalised,clamp", "11110000"),
    ):
        done = run(*words, "--arg", f"s={sampler}")
        assert done.status == 0, done.stderr
        assert "".join(streams_of(tmp_path / "k.events")) == expected


def test_arrays_are_images_of_all_dimensions(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(SAMPLED)
    np.save(tmp_path / "in.npy", np.arange(16, dtype=np.uint32).reshape(2, 4, 2) - 4)
    np.save(tmp_path / "volume.npy", np.arange(16, dtype=np.float32).reshape(2, 4, 2))
    words = ["kernel", "k.cl", "--kernel", "layers", "--global-size", "4", "--local-size", "4"]
    done = run(*words, "--arg", "in=@in.npy", "--arg", "volume=@volume.npy", "--events", "k.events")
    assert done.status == 0, done.stderr
    assert streams_of(tmp_path / "k.events") == ["00", "10", "11", "11"]


def test_wrong_images_and_samplers_are_told(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(SAMPLED)
    for name, array in (
        ("flat", np.zeros(8, np.uint8)),
        ("five", np.zeros((2, 2, 5), np.uint8)),
        ("wide", np.zeros((2, 2), np.float64)),
        ("real", np.zeros((2, 2), np.float32)),
        ("none", np.zeros((0, 2), np.float32)),
    ):
        np.save(tmp_path / f"{name}.npy", array)
    for argument, said in (
        ("s=linear,smooth", "'smooth' is no setting of a sampler"),
        ("in=4M", "neither the size of an image"),
        ("in=4x4x4", "an image2d_t has 2 sizes"),
        ("in=0x4", "an image2d_t has 2 sizes"),
        ("in=99999x99999", "at most 268,435,456 texels"),
        ("in=@flat.npy", "an array of uint8 with 1 axes is no image2d_t"),
        ("in=@five.npy", "5 channels are not 1 to 4"),
        ("in=@wide.npy", "an array of float64"),
        ("in=@real.npy,normalised", "only 8 and 16 bits are normalised"),
        ("in=@none.npy", "an image2d_t has 2 sizes"),
        ("in=@no.npy", "it is no regular file"),
    ):
        done = run("kernel", "k.cl", "--kernel", "mark", "--global-size", "8", "--arg", argument)
        assert done.status == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


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


DIVERGENT = """__kernel void halves(__global const int *x, __global int *y, __local int *s)
{
    const int l = get_local_id(0);
    s[l] = x[get_global_id(0)];
    if (l % 2)
        y[get_global_id(0)] = s[l ^ 1];
}
"""
LAUNCH = ("halves.cl", "--global-size", "128", "--local-size", "64", "--arg", "s=256")


def test_events_of_a_launch_are_shown_and_written(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "halves.cl").write_text(DIVERGENT)
    done = run("kernel", *LAUNCH, "--events", "h.events", "--format", "json")
    assert done.status == 0
    shown = json.loads(done.stdout)
    assert shown["facts"]["divergent_warps"] == 4
    assert [(row["warps"], row["patterns"]) for row in shown["proxy_warps"]] == [(4, 2)]
    (race,) = shown["races"]
    assert (race["place"], race["other_place"]) == ("program.cl:4", "program.cl:6")
    with cltrace.load(tmp_path / "h.events") as events:
        assert events["branches"]["stream"].tolist() == ["0", "1"] * 64
        accesses = events["accesses"]
        local = events.sql("SELECT count(*) AS number FROM accesses WHERE space = 'local'")
    assert set(accesses["memory"]) == {"x", "y", "s"}
    assert local["number"].tolist() == [192]
    lines = "SELECT line, count(*) AS number FROM accesses GROUP BY line"
    asked = json.loads(run("query", "h.events", lines, "--format", "json").stdout)
    assert asked["rows"] == [{"line": 4, "number": 256}, {"line": 6, "number": 128}]
    assert run("query", "h.events", "DELETE FROM access_row").status == 2


def test_events_never_replace_another_file(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "halves.cl").write_text(DIVERGENT)
    (tmp_path / "notes.txt").write_text("keep me")
    done = run("kernel", *LAUNCH, "--events", "notes.txt")
    assert done.status == 2
    assert "is no file of events" in done.stderr
    assert (tmp_path / "notes.txt").read_text() == "keep me"
    assert run("kernel", *LAUNCH, "--events", "h.events").status == 0
    assert run("kernel", *LAUNCH, "--events", "h.events", "--watch", "x").status == 0


def test_events_are_of_one_kernel_and_of_memory_that_it_has(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(TILED)
    (tmp_path / "halves.cl").write_text(DIVERGENT)
    several = run(
        "kernel", "k.cl", "--global-size", "64", "--arg", "by=2", "--arg", "n=3", "--events", "e"
    )
    assert several.status == 2
    assert "--kernel chooses of pick, scale" in several.stderr
    wrong = run("kernel", *LAUNCH, "--events", "e.events", "--watch", "z")
    assert wrong.status == 2
    assert "accesses no z" in wrong.stderr
    unlaunched = run("kernel", "halves.cl", "--events", "e.events")
    assert unlaunched.status == 2
    assert "--global-size" in unlaunched.stderr


def test_a_page_of_events_is_written_and_overwritten(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "halves.cl").write_text(DIVERGENT)
    assert run("kernel", *LAUNCH, "--events", "h.events", "--page", "direct.html").status == 0
    for _ in range(2):
        done = run("view", "h.events")
        assert done.status == 0
        assert "wrote h.html" in done.stderr
    assert (tmp_path / "h.html").read_text() == (tmp_path / "direct.html").read_text()
    (tmp_path / "mine.html").write_text("mine")
    assert run("view", "h.events", "-o", "mine.html").status == 2
    assert run("kernel", *LAUNCH, "--page", "mine.html").status == 2
    assert (tmp_path / "mine.html").read_text() == "mine"
    (tmp_path / "h.events").write_bytes(b"PK garbage")
    broken = run("view", "h.events")
    assert broken.status == 2
    assert "is no file of events" in broken.stderr


def test_two_versions_are_compared(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "halves.cl").write_text(DIVERGENT)
    (tmp_path / "whole.cl").write_text(
        DIVERGENT.replace("if (l % 2)", "").replace("halves", "whole")
    )
    words = ["kernel", *LAUNCH, "--page", "pair.html", "--against", "whole.cl", "--format", "json"]
    done = run(*words)
    assert done.status == 0
    rows = {row["quantity"]: (row["a"], row["b"]) for row in json.loads(done.stdout)["versions"]}
    assert rows["divergence"] == ("4 of 4 warps", "0 of 4 warps")
    assert (tmp_path / "pair.html").read_text().count("srcdoc=") == 2
    (tmp_path / "two.cl").write_text(TILED)
    assert (
        "has no kernel halves"
        in run("kernel", *LAUNCH, "--page", "p.html", "--against", "two.cl").stderr
    )


def test_other_versions_get_arguments_by_name(run: Runner, tmp_path: Path) -> None:
    body = "{ const int i = get_global_id(0); if (a[i] > 0) b[i] = 1; }"
    (tmp_path / "a.cl").write_text(f"__kernel void k(__global int *a, __global int *b) {body}")
    (tmp_path / "b.cl").write_text(f"__kernel void k(__global int *b, __global int *a) {body}")
    np.save(tmp_path / "ones.npy", np.ones(64, np.int32))
    np.save(tmp_path / "zeros.npy", np.zeros(64, np.int32))
    words = [
        "kernel",
        "a.cl",
        "--global-size",
        "64",
        "--arg",
        "a=@ones.npy",
        "--arg",
        "b=@zeros.npy",
    ]
    done = run(*words, "--page", "p.html", "--against", "b.cl", "--format", "json")
    assert all(row["a"] == row["b"] for row in json.loads(done.stdout)["versions"])
    (tmp_path / "c.cl").write_text("__kernel void k(__global float *c, int n) { c[n] = 1; }")
    other = run(*words, "--page", "p.html", "--against", "c.cl")
    assert other.status == 2
    assert "has other parameters than k: c, n" in other.stderr


def test_flags_without_effect_are_refused(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "halves.cl").write_text(DIVERGENT)
    for flag in (
        ("--watch", "x"),
        ("--emit", "v=l@3"),
        ("--against", "halves.cl"),
        ("--optimised",),
    ):
        done = run("kernel", *LAUNCH, *flag)
        assert done.status == 2
        assert f"{flag[0]} is of recorded events" in done.stderr
    assert run("kernel", *LAUNCH, "--live", "--page", "p.html").status == 2
    assert run("kernel", *LAUNCH, "--page", "p.html", "--open").status == 2
