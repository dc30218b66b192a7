"""Times of filters that read images along an axis, by image, format, axis and work-group.

python benchmarks/image_reads.py --platform NVIDIA --json FILE
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.profiled_queues import measure_to_file, median_kernel_ns

SHAPES: Final[Mapping[str, tuple[int, ...]]] = {"plane": (4096, 2048), "volume": (256, 256, 128)}
"""Sizes of images by their kind."""
GROUPS: Final[Mapping[str, tuple[tuple[int, ...], ...]]] = {
    "plane": ((256, 1), (16, 16), (8, 8)),
    "volume": ((256, 1, 1), (16, 16, 1), (8, 8, 4)),
}
FORMATS: Final[Mapping[str, tuple[int, int, type[np.generic]]]] = {
    "a float": (cl.channel_order.R, cl.channel_type.FLOAT, np.float32),
    "four bytes": (cl.channel_order.RGBA, cl.channel_type.UNORM_INT8, np.uint8),
    "four floats": (cl.channel_order.RGBA, cl.channel_type.FLOAT, np.float32),
}
"""Channels of images by what a texel is: their order, their type, and that of the host."""
RADII: Final = (3, 12)
_ROUNDS: Final = 4


@dataclass(frozen=True, slots=True)
class ImageFilter:
    """A filter of `2 * radius + 1` texels along an `axis`."""

    image: str
    texel: str
    axis: int
    group: tuple[int, ...]
    radius: int

    @property
    def name(self) -> str:
        """The filter's name, unique among all."""
        group = "x".join(map(str, self.group))
        return f"{self.image} of {self.texel}, axis {self.axis}, {group}, radius {self.radius}"

    @property
    def source(self) -> str:
        """Source of the kernel `f`."""
        shape = SHAPES[self.image]
        axes = len(shape)
        place = ", ".join(
            f"get_global_id({axis})" + (" + k" if axis == self.axis else "") for axis in range(axes)
        )
        vector = f"(int2)({place})" if axes == 2 else f"(int4)({place}, 0)"
        index = "get_global_id(0)"
        stride = 1
        for axis in range(1, axes):
            stride *= shape[axis - 1]
            index += f" + {stride} * get_global_id({axis})"
        return f"""__constant sampler_t nearest =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void f(read_only image{axes}d_t image, __global float *out, int radius) {{
    float s = 0;
    for (int k = -radius; k <= radius; k++)
        s += read_imagef(image, nearest, {vector}).x * k;
    out[{index}] = s;
}}"""


def filters() -> Iterator[ImageFilter]:
    """Yield all filters."""
    for image, shape in SHAPES.items():
        for texel in FORMATS:
            for axis in range(len(shape)):
                for group in GROUPS[image]:
                    for radius in RADII:
                        yield ImageFilter(image, texel, axis, group, radius)


def _image(context: cl.Context, image: str, texel: str) -> cl.Image:
    order, kind, dtype = FORMATS[texel]
    shape = SHAPES[image]
    channels = 1 if order == cl.channel_order.R else 4
    numbers = np.random.default_rng(1).random((*reversed(shape), channels)) * 200
    flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    format_of_texels = cl.ImageFormat(order, kind)
    return cl.create_image(context, flags, format_of_texels, shape, hostbuf=numbers.astype(dtype))


def _measure(queue: cl.CommandQueue) -> dict[str, object]:
    """Return the median durations in ns, by the filter's name."""
    texels = max(int(np.prod(shape)) for shape in SHAPES.values())
    out = cl.Buffer(queue.context, cl.mem_flags.WRITE_ONLY, 4 * texels)
    durations_ns = {}
    images = {
        (image, texel): _image(queue.context, image, texel) for image in SHAPES for texel in FORMATS
    }
    for each in filters():
        kernel = cl.Kernel(cl.Program(queue.context, each.source).build(), "f")
        kernel.set_args(images[each.image, each.texel], out, np.int32(each.radius))
        sizes = SHAPES[each.image], each.group
        durations_ns[each.name] = median_kernel_ns(kernel, queue, sizes, _ROUNDS)
    return {"ns": durations_ns}


if __name__ == "__main__":
    measure_to_file("What reads of images take.", _measure)
