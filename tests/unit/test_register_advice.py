"""Advice about registers: spills, and work-groups that registers keep from running at a time.

Times in comments are medians on an H200, with the driver's registers and private memory.
"""

import shutil
import sqlite3
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import cltrace
from cltrace.kernels import BufferArgument, KernelCounts, Machine, Target, count, parse
from cltrace.kernels.counts.workloads import machine_of
from cltrace.predict.kernel_advice import Counting, advise_on_kernels
from cltrace.predict.kernel_advice.kernel_registers import (
    KernelRegisters,
    RegisterLimit,
    StatedRegisters,
    read_log,
)
from cltrace.predict.kernel_advice.model import Improvement
from cltrace.predict.kernel_advice.register_pressure import register_pressure
from cltrace.predict.kernel_advice.register_spills import register_spills
from cltrace.predict.kernel_advice.source_edits import has_required_size
from cltrace.predict.models import DEFAULT, MODELS
from cltrace.profile import load_profile
from cltrace.report.advice import advice_table
from cltrace.timeline.advice import Finding
from cltrace.timeline.analysis import Analysis

DATA = Path(__file__).parents[1] / "data"
H200 = load_profile("nvidia-h200")
UNROLLED = "\n#pragma unroll\nfor (int j = 0; j < SIZE; j++) "
INNER = UNROLLED.replace("j", "l")
HEAD = "kernel void f(global float *a, global float *b, int n) { int i = get_global_id(0);"
LOADED = f"float sum = 0, v = 0, s[SIZE]; {UNROLLED} s[j] = a[i + j * 64];"
ADDED = f"{UNROLLED} sum += s[j] * j; b[i] = sum + v; }}"
IN_LOOP = f"""{HEAD} {LOADED}
    for (int k = 0; k < n; k++) {{ v = a[i + k * 32]; {UNROLLED} s[j] = s[j] * v + s[(j + 1) % SIZE]; }}
    {ADDED}"""
"""All values are used in each trip."""
AROUND_LOOP = f"""{HEAD} {LOADED} int m = i;
    for (int k = 0; k < n; k++) {{ m = ((int)a[m] + m * 1025 + k) & 0x1ffffff; v += m; }}
    {UNROLLED} s[j] *= v; {ADDED}"""
"""The values wait while each trip waits for a read."""
TILE = f"""{HEAD} float sum = 0, s[SIZE * SIZE]; {UNROLLED} {INNER} s[j * SIZE + l] = 0;
    for (int k = 0; k < n; k++) {{ float x[SIZE], y[SIZE];
    {UNROLLED} {{ x[j] = a[k * 4096 + (i >> 8) * SIZE + j]; y[j] = a[k * 4096 + (i & 255) * SIZE + j]; }}
    {UNROLLED} {INNER} s[j * SIZE + l] += x[j] * y[l]; }}
    {UNROLLED} {INNER} sum += s[j * SIZE + l] * j; b[i] = sum; }}"""
"""A product of matrices with a tile per work-item."""


NESTED = f"""{HEAD} {LOADED} for (int k = 0; k < n; k++) {{ v = 0;
    for (int m = 0; m < 16; m++) v = v * 1.01f + a[i + k * 512 + m * 32];
    {UNROLLED} s[j] = s[j] * v + s[(j + 1) % SIZE]; }}
    {ADDED}"""
"""The values wait in the inner loop."""
DOUBLES = f"""{HEAD} {LOADED.replace(", s[SIZE]", "; double s[SIZE]")} int m = i;
    for (int k = 0; k < n; k++) {{ m = ((int)a[m] + m * 1025 + k) & 0x7fffff; v += m;
    if (k % 16 == 0) {{ {UNROLLED} s[j] += v * j; }} }}
    {ADDED}"""
"""The values are used in some trips."""


def counted(source: str, size: int, items: int = 1 << 20) -> KernelCounts:
    arguments = (BufferArgument(1 << 28), BufferArgument(1 << 28), 256)
    program = parse(source.replace("SIZE", str(size)))
    return count(program, "f", (items,), (256,), arguments, machine=machine_of(H200.device))


def registers_of(source: str, size: int, **facts: object) -> KernelRegisters:
    use = parse(source.replace("SIZE", str(size))).registers("f", Target.NVIDIA)
    whole: dict[str, object] = {"stated": None, "private_bytes": 0, "max_registers": 255, **facts}
    return KernelRegisters(use=use, **whole)  # type: ignore[arg-type]


def factor(improvement: Improvement) -> float:
    """Return how many times as long the launch takes without the improvement."""
    fitted = MODELS[DEFAULT].for_device(H200)
    assert improvement.before is not None
    assert improvement.counts is not None
    before, after = map(fitted.predict, (improvement.before, improvement.counts))
    return before.duration_ns / after.duration_ns


@pytest.mark.parametrize(
    ("source", "size", "limit", "private_bytes", "measured"),
    [
        (IN_LOOP, 64, 32, 368, 22.75 / 0.817),
        (IN_LOOP, 64, 48, 264, 9.89 / 0.817),
        (IN_LOOP, 128, 96, 288, 13.19 / 1.316),
        (TILE, 8, 64, 144, 8.955 / 2.605),
        (AROUND_LOOP, 64, 32, 176, 4.768 / 4.638),
    ],
)
def test_spills_take_the_time_that_they_take(
    source: str, size: int, limit: int, private_bytes: int, measured: float
) -> None:
    """The same code was built with and without the option."""
    registers = registers_of(
        source,
        size,
        private_bytes=private_bytes,
        max_registers=limit,
        limit=RegisterLimit.OPTION,
    )
    (improvement,) = register_spills(counted(source, size), registers)
    assert factor(improvement) == pytest.approx(measured, rel=0.35)
    line = 1 + next(at for at, text in enumerate(source.splitlines()) if "k < n" in text)
    assert improvement.line == ("" if source is AROUND_LOOP else f"program.cl:{line}")
    assert improvement.remedy.before == f'program.build("-cl-nv-maxrregcount={limit}")'


@pytest.mark.parametrize(
    ("source", "size", "limit", "private_bytes", "measured"),
    [
        (NESTED, 64, 32, 280, 14.425 / 1.235),
        (NESTED, 128, 64, 424, 24.443 / 2.873),
        (DOUBLES, 24, 32, 200, 3.459 / 1.986),
        (DOUBLES, 48, 64, 256, 3.745 / 2.075),
        (DOUBLES, 48, 96, 72, 2.729 / 2.075),
        (IN_LOOP, 160, 128, 288, 13.358 / 1.588),  # because of work-groups of 512
    ],
)
def test_spills_of_kernels_that_were_built_after_the_rule(
    source: str, size: int, limit: int, private_bytes: int, measured: float
) -> None:
    registers = registers_of(source, size, private_bytes=private_bytes, max_registers=limit)
    (improvement,) = register_spills(counted(source, size), registers)
    assert measured / 1.4 < factor(improvement) < 2.1 * measured


def test_values_that_do_not_fit_the_device_need_smaller_tiles() -> None:
    registers = registers_of(TILE, 18, private_bytes=472)
    (improvement,) = register_spills(counted(TILE, 18), registers)
    assert factor(improvement) > 2.0
    assert improvement.remedy.after == "float sums[8][8];"
    labels = {metric.label: metric.value for metric in improvement.metrics}
    assert labels["registers of a work-item"] == 255
    assert labels["spilled by a work-item"] == 472
    assert labels["needed by values at once"] > 324


def test_work_groups_that_are_required_to_be_large_leave_few_registers() -> None:
    registers = registers_of(
        IN_LOOP, 128, private_bytes=416, max_registers=64, limit=RegisterLimit.GROUP
    )
    (improvement,) = register_spills(counted(IN_LOOP, 128), registers)
    assert "reqd_work_group_size(256)" in improvement.remedy.before
    assert Machine().max_registers(1024) == 64
    assert Machine().max_registers(1000) == 64
    assert Machine().max_registers(256) == 256


@pytest.mark.parametrize(
    "facts",
    [
        {},  # nothing is in memory
        {"private_bytes": 40},  # as of `sin`, with registers to spare
        {"private_bytes": 400, "stated": StatedRegisters(60, 0)},  # arrays: the driver says so
        {"private_bytes": 0, "stated": StatedRegisters(60, 0), "max_registers": 32},
    ],
)
def test_private_memory_is_not_always_of_spills(facts: dict[str, object]) -> None:
    assert not register_spills(counted(IN_LOOP, 32), registers_of(IN_LOOP, 32, **facts))


def test_arrays_in_memory_are_not_spilled() -> None:
    source = f"""{HEAD} float t[64], s[SIZE];
        for (int k = 0; k < 64; k++) t[k] = a[i + k * n];
        for (int k = 0; k < n; k++) {{ {UNROLLED} s[j] += t[((int)a[k]) & 63]; }}
        {UNROLLED} b[i * SIZE + j] = s[j]; }}"""
    registers = registers_of(source, 4, private_bytes=256)
    assert not register_spills(counted(source, 4), registers)
    registers = replace(registers, use=None)
    assert not register_spills(counted(source, 4), registers)
    assert register_spills(counted(source, 4), replace(registers, private_bytes=256 + 96))


def test_where_the_code_is_not_known_no_gain_is_computed() -> None:
    registers = replace(registers_of(IN_LOOP, 64), use=None, private_bytes=368, max_registers=0)
    (improvement,) = register_spills(counted(IN_LOOP, 64), registers)
    assert improvement.counts is None
    assert "cannot be computed" in improvement.remedy.text


@pytest.mark.parametrize(
    ("size", "items", "measured"),
    [
        (128, 1 << 20, 6.223 / 4.842),  # built with -cl-nv-maxrregcount=80
        (64, 1 << 20, None),  # 4.638, and 4.645 with 8 values: no time is lost
        (128, 1 << 13, None),  # there are no other work-groups
    ],
)
def test_registers_that_let_few_work_groups_run(
    size: int, items: int, measured: float | None
) -> None:
    counts = counted(AROUND_LOOP, size, items)
    improvements = register_pressure(counts, registers_of(AROUND_LOOP, size))
    by_text = {improvement.remedy.after: improvement for improvement in improvements}
    if measured is not None:
        best = by_text['program.build("-cl-nv-maxrregcount=80")']
        assert best.metrics[0].label == "registers of a work-item by clang"
        assert factor(best) == pytest.approx(measured, rel=0.1)
    else:
        assert all(factor(each) < 1.1 for each in improvements)


def test_sound_tiles_keep_their_registers() -> None:
    """Tiles use few work-groups, and as many registers as they can."""
    for size in (8, 12, 15):
        improvements = register_pressure(counted(TILE, size), registers_of(TILE, size))
        assert improvements
        assert all(factor(each) < 1.0 for each in improvements)


SOUND = {
    "batched factorisations": """kernel void f(global float *a, global float *b, int n) {
        int i = get_global_id(0), m = get_global_size(0); float s[SIZE][SIZE];
        ROW COLUMN s[r][c] = a[(r * SIZE + c) * m + i];
        STEP ROW if (r > k) {
            float l = s[r][k] / s[k][k];
            COLUMN if (c > k) s[r][c] -= l * s[k][c];
            s[r][k] = l;
        }
        ROW COLUMN b[(r * SIZE + c) * m + i] = s[r][c];
    }""",
    "several bodies of a work-item": """kernel void f(global float *a, global float *b, int n) {
        int i = get_global_id(0); float4 p[SIZE], s[SIZE];
        global float4 *x = (global float4 *)a, *y = (global float4 *)b;
        ROW { p[r] = x[i * SIZE + r]; s[r] = 0; }
        for (int k = 0; k < n; k++) {
            float4 q = x[k];
            ROW {
                float4 d = q - p[r];
                float l = native_rsqrt(d.x * d.x + d.y * d.y + d.z * d.z + 0.01f);
                s[r] += d * (l * l * l * q.w);
            }
        }
        ROW y[i * SIZE + r] = s[r];
    }""",
}


@pytest.mark.parametrize("name", SOUND)
def test_registers_that_are_put_to_use_are_kept(name: str) -> None:
    source = SOUND[name]
    for word, variable in (("ROW", "r"), ("COLUMN", "c"), ("STEP", "k")):
        source = source.replace(word, UNROLLED.replace("j", variable))
    registers = registers_of(source, 12)
    assert registers.needed > 64
    improvements = register_pressure(counted(source, 12, 1 << 18), registers)
    assert all(factor(each) < 1.1 for each in improvements)


def test_spilled_kernels_are_not_told_to_spill_more() -> None:
    registers = registers_of(TILE, 18, private_bytes=472)
    assert not register_pressure(counted(TILE, 18), registers)


LOG = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'g' for 'sm_90'
ptxas info    : Function properties for g
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 45 registers, 380 bytes cmem[0]
ptxas info    : Compiling entry function 'f' for 'sm_90'
ptxas info    : Function properties for f
    368 bytes stack frame, 1088 bytes spill stores, 1088 bytes spill loads
ptxas info    : Used 32 registers, 380 bytes cmem[0]
"""


def test_a_build_log_states_registers() -> None:
    assert read_log(LOG, "f") == StatedRegisters(32, 1088)
    assert read_log(LOG, "g") == StatedRegisters(45, 0)
    assert read_log(LOG, "h") is None
    assert read_log("", "f") is None
    assert read_log("Used 9 registers", "f") is None


def test_required_sizes_are_those_of_the_kernel() -> None:
    source = """kernel __attribute__((reqd_work_group_size(1024, 1, 1))) void f(int n) {}
        /* reqd_work_group_size */ kernel void g(int n) {}"""
    assert has_required_size(source, "f")
    assert not has_required_size(source, "g")
    assert not has_required_size(source, "h")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of 200 launches of 2.2 ms on an H200."""
    directory = tmp_path_factory.mktemp("recorded")
    with tarfile.open(DATA / "h200-kernel-advice.tar.xz") as archive:
        # Pythons before 3.11.4 have no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extract("./private-sums-before.cltrace", directory)
    return directory / "private-sums-before.cltrace"


BODY = IN_LOOP.replace(HEAD, "int i = get_global_id(0); global float *a = y, *b = y;")
SPILLING = f"""
    kernel void bins(global const int *restrict keys, global float *restrict y, int n) {{
    {BODY}"""


def altered(recorded: Path, path: Path, source: str, options: str, private_bytes: int) -> Path:
    """Return the trace with another kernel that has the same arguments."""
    shutil.copy(recorded, path)
    with sqlite3.connect(path) as trace:
        program = "(SELECT program_id FROM kernel WHERE id = 6)"
        text = f"(SELECT source_string_id FROM program WHERE id = {program})"
        trace.execute(f"UPDATE string SET text = ? WHERE id = {text}", (source,))
        trace.execute(f"UPDATE build SET options = ? WHERE program_id = {program}", (options,))
        trace.execute(
            "UPDATE work_group_info SET private_memory_bytes = ? WHERE kernel_id = 6",
            (private_bytes,),
        )
    trace.close()
    return path


def findings(path: Path) -> Iterator[Finding]:
    with cltrace.load(path) as opened:
        analysis = Analysis(opened)
        advice = advise_on_kernels(analysis, Counting())
        run = analysis.findings_with(advice)
        for finding in run.worthwhile():
            if finding.proposal.title.startswith("bins: "):
                (row,) = (
                    row for row in advice_table(run, None).rows if str(row[0]) == finding.rule
                )
                assert finding.proposal.remedy.text in str(row[6])
                yield finding


def test_spills_of_a_run_are_a_finding(recorded: Path, tmp_path: Path) -> None:
    source = SPILLING.replace("SIZE", "64")
    path = altered(recorded, tmp_path / "a.cltrace", source, "-cl-nv-maxrregcount=32", 368)
    (finding,) = findings(path)
    assert finding.rule == "register-spills"
    assert finding.proposal.kernel_line == "program.cl:6"
    assert finding.times == 201
    assert finding.gain is not None
    assert 0 < finding.gain.low_ns < finding.gain.expected_ns
    assert not list(findings(altered(recorded, tmp_path / "b.cltrace", source, "", 0)))


def test_spills_of_code_that_is_not_known_are_a_finding_without_a_gain(
    recorded: Path, tmp_path: Path
) -> None:
    source = SPILLING.replace("SIZE", "64").replace(
        "int i =", "local int t; t = work_group_reduce_add(n); int i ="
    )
    options = "-cl-std=CL2.0 -cl-nv-maxrregcount=32"
    path = altered(recorded, tmp_path / "a.cltrace", source, options, 368)
    (finding,) = findings(path)
    assert finding.rule == "register-spills"
    assert finding.gain is None


def test_times_that_are_too_short_refute_spills(recorded: Path, tmp_path: Path) -> None:
    """Each launch took less than it would without its spills."""
    source = SPILLING.replace("SIZE", "64").replace("k < n", "k < 16 * n").replace("k * 32", "k")
    path = altered(recorded, tmp_path / "a.cltrace", source, "-cl-nv-maxrregcount=32", 368)
    assert not list(findings(path))
