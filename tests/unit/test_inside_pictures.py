"""Pictures of memory: its elements, by the work-items that write them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cltrace.errors import KernelError
from cltrace.kernels import Argument, BufferArgument, ImageArgument, parse
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.files import pack_events, read_events
from cltrace.kernels.events.recording_request import KernelLaunch
from cltrace.kernels.events.records import EventMemory, LaunchEvents
from cltrace.report.kernel_events import analyse_events
from cltrace.report.page.inside_kernel import render_inside_page
from cltrace.report.page.inside_pictures import Pictures, find_pictures


def record(source: str, sizes: Sequence[int], *arguments: Argument) -> LaunchEvents:
    return record_events(KernelLaunch(parse(source), "f", sizes, (8, 1)[: len(sizes)], arguments))


def pairs_of(pictures: Pictures, number: int) -> list[tuple[int, int]]:
    columns = (pictures.columns[f"picture_{number}_{name}"] for name in ("pixel", "row"))
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_elements_are_as_large_as_what_is_written() -> None:
    source = """__kernel void f(__global float4 *x, __global short *y, __global const int *z)
    { const int i = get_global_id(0); x[7 - i] = z[i]; y[i / 4 * 2] = i; y[15] = 1; }"""
    pictures = find_pictures(
        record(source, (8,), BufferArgument(128), BufferArgument(32), BufferArgument(32))
    )
    assert [(item["name"], item["columns"], item["rows"]) for item in pictures.values] == [
        ("x", 8, 1),
        ("y", 8, 2),
    ]
    assert pairs_of(pictures, 0) == [(item, 7 - item) for item in range(8)]
    assert pairs_of(pictures, 1) == [
        *((0, item) for item in range(4)),
        *((2, item) for item in range(4, 8)),
        *((15, item) for item in range(8)),
    ]


def test_a_bound_picture_comes_first_and_has_its_width() -> None:
    source = """__kernel void f(__global int *x, __global int *y)
    { //@bind image y 5
      const int i = get_global_id(0); x[i] = y[i] = i; }"""
    events = record(source, (8,), BufferArgument(32), BufferArgument(52))
    first, second = find_pictures(events).values
    assert (first["name"], first["columns"], first["rows"], first["is_bound"]) == ("y", 5, 3, True)
    assert (second["name"], second["is_bound"]) == ("x", False)


def test_memory_that_is_bound_and_not_accessed_is_noted() -> None:
    source = "__kernel void f(__global int *x) { //@bind image z\n x[0] = 1; }"
    assert any("@bind image z" in note for note in record(source, (8,), BufferArgument(4)).notes)


def test_images_have_their_texels_also_from_a_file(tmp_path: Path) -> None:
    source = """__kernel void f(__write_only image2d_t out)
    { const int x = get_global_id(0), y = get_global_id(1);
      write_imagef(out, (int2)(y, x), (float4)(1)); }"""
    image = ImageArgument(4, 8, channels=4, channel_dtype="uint8", is_normalised=True)
    events = record(source, (8, 4), image)
    (tmp_path / "f.events").write_bytes(pack_events(events))
    stored = read_events(tmp_path / "f.events")
    assert stored.memories == events.memories
    pictures = find_pictures(stored)
    assert [(item["columns"], item["rows"]) for item in pictures.values] == [(4, 8)]
    assert pairs_of(pictures, 0) == [(4 * x + y, 8 * y + x) for x in range(8) for y in range(4)]


def test_pictures_have_a_limit() -> None:
    source = "__kernel void f(__global int *x, __global int *y) { x[get_global_id(0)] = y[0] = 1; }"
    events = record(source, (8,), BufferArgument(32), BufferArgument(4))
    pictures = find_pictures(events, 12)
    assert [item["is_cut"] for item in pictures.values] == [False, True]
    assert len(pairs_of(pictures, 1)) == 4


def test_work_groups_without_accesses_are_shown_with_their_values() -> None:
    source = """__kernel void f(int n) {
    const int i = get_global_id(0); //@emit int twice = 2 * i
}"""
    page = render_inside_page(analyse_events(record(source, (16,), 3)))
    assert '"shown_groups":[0,1]' in page


@pytest.mark.parametrize("sides", [(4,), (4, 0, 1), (4, -1, 1), (1, 2, 3, 4)])
def test_images_with_impossible_sides_are_refused(tmp_path: Path, sides: tuple[int, ...]) -> None:
    events = record("__kernel void f(__global int *x) { x[0] = 1; }", (8,), BufferArgument(4))
    path = tmp_path / "f.events"
    path.write_bytes(pack_events(replace(events, memories=(EventMemory("x", "global", 4, sides),))))
    with pytest.raises(KernelError, match="or it is damaged"):
        read_events(path)


def test_offsets_beyond_the_memory_are_drawn_at_its_end() -> None:
    source = "__kernel void f(__global int *x) { x[get_global_id(0)] = 1; }"
    events = record(source, (8,), BufferArgument(32))
    far = replace(events.accesses, offset_bytes=events.accesses.offset_bytes - 16 + (1 << 40))
    pictures = find_pictures(replace(events, accesses=far))
    assert pairs_of(pictures, 0) == [(7, row) for row in range(8)]
