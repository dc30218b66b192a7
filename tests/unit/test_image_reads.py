"""Times of filters that read images along an axis, against an H200."""

from functools import cache

import numpy as np
import pytest

from benchmarks.image_reads import SHAPES, ImageFilter, filters
from cltrace.events.workloads import BufferInput, ImageInput, Workload
from cltrace.kernels import KernelCounts
from tests.h200_times import (
    counts_on_h200,
    distance,
    measured_ns,
    near_cache_ns,
    predicted_ns,
)

MEASURED_NS = measured_ns("image-reads")
OF_FLOATS = tuple(each for each in filters() if "float" in each.texel)


@cache
def counts_of(each: ImageFilter) -> KernelCounts:
    shape = SHAPES[each.image]
    width, height, *depth = shape
    image = ImageInput(width, height, sum(depth), 1 if each.texel == "a float" else 4)
    inputs = (image, BufferInput(4 * int(np.prod(shape))), np.int32(each.radius))
    work = Workload(each.source, "f", shape, each.group, inputs, "")
    return counts_on_h200(work)


@cache
def quotient(each: ImageFilter) -> float:
    """Return the predicted duration by the measured one."""
    return float(predicted_ns(counts_of(each)) / MEASURED_NS[each.name])


def distances(image: str) -> list[float]:
    own = [each for each in OF_FLOATS if each.image == image]
    return [distance(quotient(each)) for each in own]


@pytest.mark.parametrize(("image", "largest"), [("plane", 1.45), ("volume", 2.2)])
def test_filters_take_about_as_long_as_measured(image: str, largest: float) -> None:
    assert len(distances(image)) >= 24
    assert np.median(distances(image)) < 1.12
    assert max(distances(image)) < largest


def longest(image: str, texel: str) -> ImageFilter:
    """Return the filter that walks across the planes or rows of an image, by square work-groups."""
    return next(
        each
        for each in OF_FLOATS
        if (each.image, each.texel, each.axis, each.radius) == (image, texel, 1, 12)
        and each.group[1] == 16
    )


def test_wide_texels_take_longer_in_a_plane_and_not_in_a_volume() -> None:
    for image, factor in (("plane", 3.5), ("volume", 1.07)):
        narrow, wide = longest(image, "a float"), longest(image, "four floats")
        assert MEASURED_NS[wide.name] / MEASURED_NS[narrow.name] == pytest.approx(factor, rel=0.1)
        assert quotient(wide) == pytest.approx(quotient(narrow), rel=0.12)


def test_other_warps_read_texels_while_one_waits() -> None:
    of_floats = [each for each in OF_FLOATS if each.texel == "a float" and each.radius == 12]
    for each in of_floats:
        counts = counts_of(each)
        assert predicted_ns(counts) < 1.25 * near_cache_ns(counts), each.name
