"""Images of launches whose events a device records: the texels that the executor names, in any format."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import cltrace
from cltrace.errors import UnsupportedKernelError
from cltrace.kernels import Argument, BufferArgument, parse
from cltrace.kernels.arguments import ImageArgument, SamplerArgument
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.device_launch import DeviceLaunch
from cltrace.kernels.events.files import read_events
from cltrace.kernels.events.recording_request import KernelLaunch
from cltrace.kernels.events.records import LaunchEvents
from cltrace.runs.device_events import prepare_launch, record_on_device
from tests.conftest import Runner
from tests.kernels.device_launches import event_differences

pytestmark = pytest.mark.opencl

ALL = 1 << 40
SIDE = 16
RNG = np.random.default_rng(7)
BGRA = 0x10B6


def both(
    source: str, kernel: str, sizes: Sequence[int], arguments: Sequence[Argument]
) -> tuple[LaunchEvents, LaunchEvents]:
    """The events as the executor and as a device record them."""
    launch = (parse(source), kernel, sizes, (8, 2, 1)[: len(sizes)], arguments)
    device = DeviceLaunch(KernelLaunch(*launch))
    return record_events(KernelLaunch(*launch)), device.events(
        record_on_device(device, "Portable", ALL), ALL
    )


SAMPLED = """
__constant sampler_t smooth = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;
__kernel void sampled(__read_only image2d_t in, sampler_t s, __write_only image2d_t out, float scale)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float4 v = read_imagef(in, s, (float2)(scale * (x + 0.25f), scale * (y - 1.75f)));
    if (v.x > 2.0f)
        v += read_imagef(in, (int2)(y, x));
    v += read_imagef(in, smooth, (float2)(x * 1.5f + 0.1f, y - 0.3f));
    write_imagef(out, (int2)(x + y - 4, y), v);
}
"""


@pytest.mark.parametrize(
    "sampler",
    [
        SamplerArgument(normalised=True, addressing="edge", linear=True),
        SamplerArgument(normalised=True, addressing="repeat"),
        SamplerArgument(addressing="clamp"),
    ],
)
def test_a_device_records_the_texels_that_samplers_choose(sampler: SamplerArgument) -> None:
    image = ImageArgument(SIDE, SIDE, contents=np.ones((SIDE, SIDE, 4), np.float32))
    arguments: list[Argument] = [
        image,
        sampler,
        image,
        np.float32(1 / 16 if sampler.normalised else 1),
    ]
    expected, events = both(SAMPLED, "sampled", (SIDE, SIDE), arguments)
    assert list(event_differences(expected, events)) == []
    assert {memory.name for memory in events.memories} >= {"in", "out"}
    written = events.accesses.memory[
        np.asarray([site.kind.label == "write" for site in events.sites])[events.accesses.site]
    ]
    assert (written == 2).sum() > SIDE * SIDE / 2
    assert (written < 0).any()  # beyond the left edge


FORMATS = [
    ("f", ImageArgument(SIDE, 4, channel_dtype="uint8", is_normalised=True)),
    ("f", ImageArgument(SIDE, 4, channel_dtype="uint8", is_normalised=True, channel_order=BGRA)),
    ("f", ImageArgument(SIDE, 4, channel_dtype="int16", is_normalised=True)),
    ("f", ImageArgument(SIDE, 4, channel_dtype="float16")),
    ("f", ImageArgument(SIDE, 4, channels=1, channel_dtype="uint16", is_normalised=True)),
    ("ui", ImageArgument(SIDE, 4, channel_dtype="uint8")),
    ("ui", ImageArgument(SIDE, 4, channel_dtype="uint32")),
    ("i", ImageArgument(SIDE, 4, channel_dtype="int32")),
]


@pytest.mark.parametrize(("kind", "image"), FORMATS)
def test_a_device_reads_texels_of_all_formats(kind: str, image: ImageArgument) -> None:
    vector = {"f": "float4", "ui": "uint4", "i": "int4"}[kind]
    source = f"""__kernel void f(__read_only image2d_t in, __global {vector} *out)
    {{ const int x = get_global_id(0), y = get_global_id(1);
       const {vector} v = read_image{kind}(in, (int2)(x, y));
       if (v.x > v.y) out[y * {SIDE} + x] = v;
       if (v.z > v.w || v.w == 0) out[y * {SIDE} + x].x = 0; }}"""
    dtype = np.dtype(image.channel_dtype)
    numbers = RNG.integers(0, 100, (4, SIDE, image.channels)).astype(dtype)
    filled = ImageArgument(
        SIDE,
        4,
        channels=image.channels,
        channel_dtype=image.channel_dtype,
        is_normalised=image.is_normalised,
        channel_order=image.channel_order,
        contents=numbers,
    )
    expected, events = both(source, "f", (SIDE, 4), [filled, BufferArgument(16 * 4 * SIDE)])
    assert list(event_differences(expected, events)) == []


DIMENSIONS = [
    ("image1d_t", "x", ImageArgument(SIDE)),
    ("image1d_array_t", "(int2)(x, y)", ImageArgument(SIDE, 1, 4)),
    ("image2d_array_t", "(int4)(x, y, z, 0)", ImageArgument(SIDE, 4, 2)),
    ("image3d_t", "(int4)(x, y, z, 0)", ImageArgument(SIDE, 4, 2)),
]


@pytest.mark.parametrize(("kind", "position", "image"), DIMENSIONS)
def test_a_device_records_images_of_all_dimensions(
    kind: str, position: str, image: ImageArgument
) -> None:
    source = f"""__kernel void f(__read_only {kind} in, __global float *out)
    {{ const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
       out[x] = read_imagef(in, {position}).x; }}"""
    arguments: list[Argument] = [image, BufferArgument(4 * SIDE)]
    expected, events = both(source, "f", (SIDE, 4, 2), arguments)
    assert list(event_differences(expected, events)) == []
    assert (events.accesses.memory == 0).sum() == SIDE * 8


def test_images_that_no_device_is_given_are_refused() -> None:
    source = """__kernel void f(__read_only image1d_buffer_t in, __global float *out)
    { out[0] = read_imagef(in, 0).x; }"""
    launch = DeviceLaunch(
        KernelLaunch(parse(source), "f", (8,), (8,), [ImageArgument(8), BufferArgument(4)])
    )
    with pytest.raises(UnsupportedKernelError, match="an argument image1d_buffer_t"):
        prepare_launch(launch)


PROGRAM = """
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Program(context, '''
__kernel void brighten(__global float4 *x, __write_only image2d_t out)
{ write_imagef(out, (int2)(get_global_id(0), get_global_id(1)), x[get_global_id(1)]); }
__kernel void edges(__read_only image2d_t in, __write_only image2d_array_t out, __global int *n)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const float4 v = read_imagef(in, (int2)(x, y));
    if (v.x > v.z && v.w < 0.5f)
        write_imagef(out, (int4)(x, y, y & 1, 0), v);
    else
        atomic_inc(n);
}''').build()
flags, order, kind = cl.mem_flags, cl.channel_order.BGRA, cl.channel_type.UNORM_INT8
texels = (np.arange(16 * 8 * 4) * 7919 % 251).astype(np.uint8)
form = cl.ImageFormat(order, kind)
image = cl.create_image(context, flags.READ_ONLY | flags.COPY_HOST_PTR, form, (16, 8), hostbuf=texels)
out = cl.create_image(context, flags.READ_WRITE, form, (16, 8, 2), is_array=True)
n = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=np.zeros(1, np.int32))
kernel.edges(queue, (16, 8), (8, 2), image, out, n)
count = np.empty(1, np.int32)
cl.enqueue_copy(queue, count, n)
print(count[0])
"""


def test_the_images_of_a_traced_launch_are_those_of_the_program(
    run: Runner, tmp_path: Path
) -> None:
    done = run("run", "--inside", "edges", "-q", "-o", "t.cltrace", "-c", PROGRAM)
    assert (done.status, done.stderr) == (0, "")
    again = run("kernel", "t.cltrace", "--kernel", "edges", "--events", "again.events")
    assert again.status == 0, again.stderr
    columns = ["item", "kind", "line", "memory", "offset_bytes"]
    texts = []
    for name in ("t.events", "again.events"):
        with cltrace.load(tmp_path / name) as events:
            accesses = events["accesses"][columns].sort_values(columns)
            texts.append(accesses.to_csv(index=False))
        memories = {item.name: item for item in read_events(tmp_path / name).memories}
        assert (memories["out"].sides, memories["out"].element_bytes) == ((16, 8, 2), 4)
    assert texts[0] == texts[1]
    assert texts[0].count("atomic") == int(done.stdout)
    assert 0 < int(done.stdout) < 128


MARKED = """
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Program(context, '''
__kernel void mark(__read_only image2d_t in, sampler_t s, __global int *y)
{
    const int i = get_global_id(0);
    if (read_imagef(in, s, (float2)(i * SIDE - 0.61f, 0.5f)).x > 0.5f) y[i] = 1;
}''').build().mark
flags, form = cl.mem_flags, cl.ImageFormat(cl.channel_order.R, cl.channel_type.FLOAT)
texels = np.asarray([[1, 0, 0.4, 0.8, 0.3, 0, 0, 1]], np.float32)
image = cl.create_image(context, flags.READ_ONLY | flags.COPY_HOST_PTR, form, (8, 1), hostbuf=texels)
y = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=np.zeros(64, np.int32))
modes, filters = cl.addressing_mode, cl.filter_mode
cl.Sampler(context, False, modes.CLAMP, filters.NEAREST)
sampler = cl.Sampler(context, NORMALISED, modes.MODE, filters.FILTER)
FORM
marks = np.empty(64, np.int32)
cl.enqueue_copy(queue, marks, y)
print("".join(map(str, marks)))
"""
CALL = "kernel(queue, (64,), (32,), image, sampler, y)"
SET = "kernel.set_args(image, sampler, y); cl.enqueue_nd_range_kernel(queue, kernel, (64,), (32,))"


@pytest.mark.parametrize(
    ("normalised", "mode", "filtering", "form"),
    [
        (True, "REPEAT", "LINEAR", CALL),
        (True, "MIRRORED_REPEAT", "NEAREST", SET),
        (False, "CLAMP_TO_EDGE", "LINEAR", SET),
        (False, "CLAMP", "NEAREST", CALL),
    ],
)
def test_the_sampler_of_a_traced_launch_is_that_of_the_program(
    run: Runner, tmp_path: Path, normalised: bool, mode: str, filtering: str, form: str
) -> None:
    program = MARKED.replace("NORMALISED", str(normalised)).replace("MODE", mode)
    program = program.replace("FILTER", filtering).replace("FORM", form)
    program = program.replace("SIDE", "0.07f" if normalised else "0.17f")
    done = run("run", "--inside", "mark", "-q", "-o", "t.cltrace", "-c", program)
    assert (done.status, done.stderr) == (0, "")
    again = run("kernel", "t.cltrace", "--kernel", "mark", "--events", "again.events")
    assert again.status == 0, again.stderr
    for name in ("t.events", "again.events"):
        with cltrace.load(tmp_path / name) as events:
            assert "".join(events["branches"].stream) == done.stdout.strip()
