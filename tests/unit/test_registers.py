"""How many registers kernels need, from clang alone."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cltrace.kernels import Machine, parse
from cltrace.kernels.compiler import Target
from cltrace.kernels.compiler.ptx import read_ptx
from cltrace.kernels.compiler.ptx_loops import loop_registers
from tests.conftest import Runner

LOOP = """
.visible .entry k(
	.param .u64 k_param_0
)
{
	.local .align 4 .b8 	__local_depot0[48];
	.reg .pred 	%p<2>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<3>;
// %bb.0:
	ld.param.b64 	%rd1, [k_param_0];
	mov.u32 	%r1, %tid.x;
	mov.b32 	%r2, 0;
$L__BB0_1:                              // =>This Inner Loop
	add.s32 	%r2, %r2, %r1;
	setp.lt.s32 	%p1, %r2, 100;
	@%p1 bra 	$L__BB0_1;
	ld.global.v2.b32 	{%r3, %r4}, [%rd1];
	add.s32 	%r5, %r3, %r4;
	st.global.b32 	[%rd1], %r5;
	ret;
}
"""


def wide(values: int) -> str:
    """A kernel that has so many sums under way at once."""
    names = [f"s{number}" for number in range(values)]
    return (
        "__kernel void k(__global float *a, int n) {\n"
        + "".join(f"float {name} = a[{number}];\n" for number, name in enumerate(names))
        + "for (int i = 0; i < n; ++i) { float v = a[i];\n"
        + "".join(f"{name} = {name} * v + {number};\n" for number, name in enumerate(names))
        + "}\n"
        + "".join(f"a[{number}] = {name};\n" for number, name in enumerate(names))
        + "}"
    )


def test_values_that_live_at_once_are_counted() -> None:
    kernel = read_ptx(LOOP)["k"]
    # The pointer (two registers), with tid and the sum in the loop, and with the two halves after it.
    assert kernel.max_live_registers() == 4
    assert kernel.private_bytes == 48
    assert kernel.is_kernel


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=30))
def test_straight_code_needs_what_counting_by_hand_says(pairs: list[tuple[int, int]]) -> None:
    lines = ["\tmov.u32 \t%r0, %tid.x;"]
    reads: list[set[int]] = [set()]
    for number, (left, right) in enumerate(pairs, start=1):
        lines.append(f"\tadd.s32 \t%r{number}, %r{left % number}, %r{right % number};")
        reads.append({left % number, right % number})
    last = len(pairs)
    lines.append(f"\tst.global.b32 \t[%r{last}], %r{last};")
    reads.append({last})
    text = ".visible .entry k(\n)\n{\n" + "\n".join(lines) + "\n\tret;\n}\n"
    most = 0
    for place in range(last + 1):
        alive = {
            value
            for value in range(place + 1)
            if any(value in later for later in reads[place + 1 :]) or value == place
        }
        most = max(most, len(alive))
    assert read_ptx(text)["k"].max_live_registers() == most


@pytest.mark.parametrize("target", list(Target))
def test_more_values_need_more_registers(target: Target) -> None:
    few, many = (parse(wide(count)).registers("k", target) for count in (8, 48))
    assert few is not None
    assert many is not None
    assert few.spilled == many.spilled == 0
    assert 8 <= few.per_item < 48 <= many.per_item < 128


def test_what_has_no_room_spills() -> None:
    use = parse(wide(300)).registers("k", Target.NVIDIA)
    assert use is not None
    assert use.per_item == 255
    assert use.spilled >= 45


def test_private_arrays_take_memory() -> None:
    source = """__kernel void k(__global int *a, int n) {
        int kept[16];
        for (int i = 0; i < 16; ++i) kept[i] = a[i * n];
        a[n] = kept[a[0] & 15];
    }"""
    for target in Target:
        use = parse(source).registers("k", target)
        assert use is not None
        assert use.private_bytes >= 64 or target is Target.AMD  # which has registers to index


def test_functions_of_opencl_are_none_that_are_missing() -> None:
    source = """__kernel void k(__global float4 *a, __global double *d, __global int *n) {
        int i = get_global_id(0) + get_global_size(1) * get_local_size(0) - get_group_id(2);
        a[i] = normalize(clamp(exp(a[i]) + pow(a[i], 2.0f) + cross(a[i], a[i + 1]), 0.0f, 1.0f));
        d[i] = sin(d[i]) + fmin(log(d[i]), 1.0) + atan2(d[i], 2.0);
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_add(n, min(n[i], 7) + max(n[i], n[i + 1]));
        n[2] = atomic_cmpxchg(n + 3, n[4], n[5]) + atomic_xchg(n + 6, abs(n[7]));
        atomic_inc(n + 1);
    }"""
    program = parse(source)
    for target in Target:
        assert program.registers("k", target) is not None


@pytest.mark.parametrize("width", [2, 3, 4, 8, 16])
def test_vectors_at_any_place_are_loads_and_stores(width: int) -> None:
    source = f"""__kernel void k(__global float *a, __global const uchar *b, __constant short *c) {{
        __local int shared[64];
        __private float own[32];
        int i = get_global_id(0);
        vstore{width}((int{width})(i), i & 1, shared);
        float{width} whole = vload{width}(i, a + 1) * 2.0f;
        whole *= vload{width}(i + 1, shared).s1;
        whole += vload{width}(i, b).s0;
        whole *= vload{width}(0, c).s0;
        vstore{width}(whole, 0, own);
        vstore{width}(vload{width}(0, own) + 1.0f, i, a);
    }}"""
    program = parse(source)
    for target in Target:
        assert program.registers("k", target) is not None


@pytest.mark.parametrize("options", ["-Da=0.5f -Db=7", "-Dx=1", "-Dp=2 -Dsum=3", "-Dlow=3"])
def test_macros_of_the_program_change_nothing(options: str) -> None:
    source = """__kernel void k(__global float *r) {
        r[get_global_id(0)] = sqrt(r[1]) + dot((float2)(r[0]), (float2)(r[2])) + clamp(r[3], 0.0f, 1.0f);
    }"""
    for target in Target:
        assert parse(source, options).registers("k", target) == parse(source).registers("k", target)


def test_what_lives_in_any_case_of_a_switch_is_counted() -> None:
    cases = "".join(f"case {n}: x = x * {n + 3} + a[{n}] * a[x + {n}]; break;" for n in range(12))
    source = f"""__kernel void k(__global int *a, int n) {{
        int x = a[get_global_id(0)], y = a[n + 1], z = a[n + 2], u = a[n + 3], v = a[n + 4];
        switch (n) {{ {cases} case 12: x = y * z + u * v; break; }}
        a[0] = x + y * 2 + z * 3 + u * 4 + v * 5;
    }}"""
    program = parse(source)
    assert "brx" in program.assembly(Target.NVIDIA)
    use = program.registers("k", Target.NVIDIA)
    assert use is not None
    assert use.per_item >= 7  # the pointer, and five values through all cases


def test_what_clang_alone_cannot_tell_is_not_told() -> None:
    source = """__kernel void k(__global int *a) {
        a[0] = work_group_reduce_add(a[1]);
    }"""
    program = parse(source, "-cl-std=CL2.0")
    for target in Target:
        assert program.registers("k", target) is None


@pytest.mark.parametrize(
    ("registers", "groups"), [(0, 8), (32, 8), (33, 6), (64, 4), (128, 2), (255, 1)]
)
def test_registers_limit_what_is_resident(registers: int, groups: int) -> None:
    machine = Machine()
    assert machine.wave_groups(256, 0, registers) == groups * machine.compute_units
    assert Machine.of_cpu(4).wave_groups(256, 0, registers) == 4


def test_the_verb_says_what_limits_occupancy(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "wide.cl").write_text(wide(48))
    done = run("kernel", "wide.cl", "--global-size", "65536", "--local-size", "256", "--arg", "n=9")
    assert "registers" in done.stdout
    assert "1,024 work-items per compute unit" in done.stdout


def test_loops_around_others_need_the_registers_of_both() -> None:
    source = """kernel void f(global float *a, global float *b, int n) {
        int i = get_global_id(0); float s = 0;
        for (int j = 0; j < n; j++) {
            float t = 0;
            for (int k = 0; k < n; k++)
                t += a[j * n + k] * b[k];
            while (t > 1) t = t * a[i];
            if (t > 2) break;
            s += t;
        }
        b[i] = s;
    }"""
    use = parse(source).registers("f", Target.NVIDIA)
    assert use is not None
    outer, *inner = use.loops
    assert (outer.file, outer.line, outer.outer) == ("program.cl", 3, -1)
    assert [(loop.line, loop.outer) for loop in inner] == [(5, 0), (7, 0)]
    assert all(loop.registers <= outer.registers for loop in inner)


def test_ways_into_the_middle_make_no_loop() -> None:
    text = """.visible .entry k(
)
{
	mov.u32 	%r1, %tid.x;
	@%p1 bra 	$L2;
$L1:
	add.s32 	%r1, %r1, 1;
$L2:
	add.s32 	%r1, %r1, 2;
	@%p2 bra 	$L1;
	ret;
}
"""
    assert loop_registers(read_ptx(text)["k"]) == ()
    natural = text.replace("@%p1 bra 	$L2", "@%p1 bra 	$L1")
    (loop,) = loop_registers(read_ptx(natural)["k"])
    assert loop.registers == 1
