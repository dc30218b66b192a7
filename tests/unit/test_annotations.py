"""Annotations of sources: what they record, and how wrong ones are refused."""

import numpy as np
import pytest

from cltrace.errors import KernelSourceError
from cltrace.kernels import Argument, BufferArgument, parse
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.events.annotations import Chart, read_annotations
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.recording_request import EventSelection, KernelLaunch
from cltrace.kernels.events.records import LaunchEvents

PLAIN = """__kernel void total(__global const float *x, __global float *y)
{
    __local float sums[64];
    const int l = get_local_id(0);
    sums[l] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = get_local_size(0) / 2; s > 0; s /= 2) {
        if (l < s) {
            sums[l] += sums[l + s];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        y[get_group_id(0)] = sums[0]; /* "//@emit in a comment" */
}
"""
ANNOTATED = (
    PLAIN.replace("+= sums[l + s];", "+= sums[l + s]; //@emit float partial[l] = sums[l]")
    .replace(
        "    }\n    if",
        "        //@emit uint steps = s - 40\n    }\n    //@bind multibar partial\n    if",
    )
    .replace("{\n    __local", "{   //@watch sums\n    __local", 1)
)


def record(source: str, *emissions: str) -> LaunchEvents:
    contents = np.arange(128, dtype=np.float32)
    arguments: list[Argument] = [BufferArgument(512, contents), BufferArgument(512)]
    return record_events(
        KernelLaunch(parse(source), "total", (128,), (64,), arguments),
        EventSelection(emissions=emissions),
    )


def values_of(events: LaunchEvents, name: str, item: int) -> list[tuple[int, float]]:
    names = [emission.name for emission in events.emissions]
    values = events.values
    chosen = (events.items.item[values.row] == item) & (values.emission == names.index(name))
    return list(zip(values.index[chosen].tolist(), values.value[chosen].tolist(), strict=True))


def test_values_are_recorded_at_their_place() -> None:
    events = record(ANNOTATED)
    numbers = np.arange(64.0)
    partial = [(0, numbers[0 : 64 : 1 << k].sum()) for k in range(5, -1, -1)]
    assert values_of(events, "partial", 0) == partial
    steps = [(time, float((1 << 32) + s - 40)) for time, s in enumerate((32, 16, 8, 4, 2, 1))]
    assert values_of(events, "steps", 0) == steps
    assert values_of(events, "partial", 33) == []
    assert len(values_of(events, "steps", 33)) == 6


def test_emissions_change_nothing_else_that_is_recorded() -> None:
    plain, watched = record(PLAIN), record(PLAIN.replace("{\n", "{ //@watch sums\n", 1))
    emitted = record(PLAIN, "float partial[l]=sums[l] + x[0]@9", "s2[l]=s * 2@8")
    for name in ("row", "offset_bytes", "epoch"):
        assert np.array_equal(getattr(plain.accesses, name), getattr(emitted.accesses, name))
    assert np.array_equal(plain.items.operations, emitted.items.operations)
    assert plain.streams.parent.tolist() == emitted.streams.parent.tolist()
    assert emitted.source == PLAIN
    assert [site.line for site in plain.sites] == [
        site.line
        for site in emitted.sites
        if (site.line, site.column) in {(s.line, s.column) for s in plain.sites}
    ]
    assert {watched.memories[number].name for number in watched.accesses.memory if number >= 0} == {
        "sums"
    }


def test_a_source_without_annotations_stays_as_it_is() -> None:
    assert read_annotations(PLAIN).text == PLAIN
    with_watch = PLAIN.replace("{\n", "{ //@watch sums, l\n", 1)
    annotated = read_annotations(with_watch)
    assert annotated.text == with_watch
    assert annotated.watched == ("sums", "l")


def test_comments_of_other_tools_are_no_annotations() -> None:
    source = "// @brief sums\n// @param x numbers\n//@todo faster\n" + PLAIN
    assert read_annotations(source).text == source
    assert record(source).values.value.tolist() == []


def test_code_behind_other_letters_is_the_kernels_own() -> None:
    line = '        y[get_group_id(0)] = sums[0]; /* "//@emit in a comment" */'
    longer = PLAIN.replace(
        line, "        /* " + "ä" * 60 + " */ y[get_group_id(0)] = sums[0]; //@emit e = l"
    )
    assert len(record(longer).accesses.row) == len(record(PLAIN).accesses.row)


def test_charts_are_bound_to_values() -> None:
    annotated = read_annotations(ANNOTATED)
    (binding,) = annotated.bindings
    assert (binding.chart, binding.names) == (Chart.MULTI_BAR, ("partial",))
    assert [(item.name, item.type, item.line) for item in annotated.emissions] == [
        ("partial", "float", 9),
        ("steps", "uint", 12),
    ]


VECTORS = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void vectors(__global const half *x)
{
    const int i = get_global_id(0);
    const float4 v = (float4)(i, 0.5f, -i, 3);
    //@emit float4 v[i] = v * 2
    //@emit uchar3 small = (uchar3)(255, i, 1)
    //@emit half8 wide[2 * i] = (half8)(vload_half(i, x))
    //@emit half rounded = 2049.0f + x[i]
    //@emit long2 l = (long2)(-i, 1l << 40)
    //@bind line v rounded small.y
}
"""


def test_components_of_vectors_are_values() -> None:
    halves = np.arange(4, dtype=np.float16) / 4
    arguments: list[Argument] = [BufferArgument(8, halves)]
    events = record_events(KernelLaunch(parse(VECTORS), "vectors", (4,), (4,), arguments))
    assert events.bindings[0].names == ("v.x", "v.y", "v.z", "v.w", "rounded", "small.y")
    assert [values_of(events, f"v.{name}", 3) for name in "xyzw"] == [
        [(3, number)] for number in (6.0, 1.0, -6.0, 6.0)
    ]
    assert [values_of(events, f"small.{name}", 2) for name in "xyz"] == [
        [(0, 255.0)], [(0, 2.0)], [(0, 1.0)]
    ]  # fmt: skip
    assert values_of(events, "wide.s7", 3) == [(6, 0.75)]
    assert values_of(events, "rounded", 3) == [(0, 2050.0)]
    assert values_of(events, "l.x", 1) == [(0, -1.0)]
    assert values_of(events, "l.y", 1) == [(0, float(1 << 40))]


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ("//@emit float = 3", "1:5", "is not TYPE NAME"),
        ("//@emit e[0] 3", "1:5", "is not TYPE NAME"),
        ("//@emit float5 e = v", "1:5", "is not TYPE NAME"),
        ("//@emit bool4 e = v", "1:5", "is not TYPE NAME"),
        ("//@bind line e.", "1:5", "is no name of a value"),
        ("//@bind line", "1:5", "is no name of a value"),
        ("//@emit e = a ? b : c", "1:5", "no condition of its own"),
        ("//@bind pie e", "1:5", "is no chart"),
        ("//@bind line e", "1:5", "no value e is emitted"),
        ("//@bind image", "1:5", "is not NAME"),
        ("//@bind image 3", "1:5", "is not NAME"),
        ("//@bind image out 0", "1:5", "is not NAME"),
        ("//@bind image out 8 8", "1:5", "is not NAME"),
        ("//@watch 3", "1:5", "is no name"),
        ("//@emitt e = 1", "1:5", "is no annotation"),
        ("//@emit e = s++", "1:5", "changes nothing"),
        ("//@emit e = atomic_inc(&c)", "1:5", "changes nothing"),
        ("int a = //@emit e = 1", "1:13", "after the end of a statement"),
        ("if (a) //@emit e = 1", "1:12", "after the end of a statement"),
        ("\n#define M(a) a++; //@emit e = 1", "2:19", "outside of preprocessor directives"),
        ("\n#define M(a) a++; \\\n  //@emit e = 1", "3:3", "outside of preprocessor directives"),
    ],
)
def test_wrong_annotations_are_refused_with_their_place(
    line: str, place: str, message: str
) -> None:
    with pytest.raises(KernelSourceError, match=message) as raised:
        read_annotations(f"{{   {line}\n}}")
    assert f"program.cl:{place}" in str(raised.value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("float f(__global float *y) { if (y[0] > 3) return 1; return y[1]; }", "has no condition"),
        ("float f(__global float *y) { y[0] = 3; return 1; }", "changes nothing"),
        ("float f(__global int *y) { return atomic_inc(y); }", "changes nothing"),
        (
            "float f(__global float *y) { barrier(CLK_LOCAL_MEM_FENCE); return 1; }",
            "changes nothing",
        ),
    ],
)
@pytest.mark.parametrize("form", [CodeForm.WRITTEN, CodeForm.OPTIMISED])
def test_a_value_by_a_function_that_decides_or_changes_something_is_refused(
    function: str, message: str, form: CodeForm
) -> None:
    source = f"{function}\n{PLAIN}".replace("float *y)\n{\n", "float *y)\n{ //@emit e = f(y)\n")
    source = source.replace("f(y)", "f((__global int *)y)") if "int *y" in function else source
    arguments: list[Argument] = [BufferArgument(512), BufferArgument(512)]
    with pytest.raises(KernelSourceError, match=rf"program\.cl:3:3: .*{message}"):
        record_events(
            KernelLaunch(parse(source), "total", (128,), (64,), arguments),
            EventSelection(form=form),
        )


def test_a_value_is_emitted_behind_a_directive() -> None:
    directive = "#if 1\n    barrier(CLK_LOCAL_MEM_FENCE);\n#endif\n    //@emit e = l"
    source = PLAIN.replace("    barrier(CLK_LOCAL_MEM_FENCE);", directive, 1)
    assert values_of(record(source), "e", 5) == [(0, 5.0)]


def test_annotations_without_effect_are_told() -> None:
    source = '#include "a.h"\n' + PLAIN.replace("{\n", "{ //@watch sum, l, x\n", 1)
    program = parse(source, headers={"a.h": "#define N 3 //@watch y\n", "b.h": "// @brief\n"})
    arguments: list[Argument] = [BufferArgument(512, np.ones(128, np.float32)), BufferArgument(512)]
    assert record_events(KernelLaunch(program, "total", (128,), (64,), arguments)).notes == (
        "@watch sum: total accesses no sum",
        "@watch l: total accesses no l",
        "annotations in a.h have no effect: only those of the source itself have",
    )


@pytest.mark.parametrize("text", ["e=1", "e=1@0", "e=1@3/*", "e=1@99", "e@3", "=1@3", "e=1@4x"])
def test_wrong_values_of_the_command_line_are_refused(text: str) -> None:
    with pytest.raises(KernelSourceError):
        read_annotations(PLAIN, [text])


def test_an_unknown_variable_is_named_with_its_line() -> None:
    with pytest.raises(
        KernelSourceError, match=r"program\.cl:9:\d+: use of undeclared identifier 'smus'"
    ):
        record(PLAIN, "partial=smus[l]@9")
