"""Face detection after Viola and Jones (2001): an integral image, and a cascade of stages of rectangles.

Its integer work ends early: windows that a stage rejects are not processed further. It has the role of
the application in Piispanen, Timing and energy of accelerated processing (2014), section 5.2.
The image and the cascade are random; each stage rejects about half of its windows.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.workloads import BufferInput, LocalInput, Workload
from cltrace.suite.evaluation.cases import Arrays, Case, Scale

SOURCE: Final = """
#define WINDOW 24
__kernel void integrate_rows(__global const uchar *image, __global int *sums, int width,
                             __local int *kept) {
    int mine = get_local_id(0), n = get_local_size(0), row = get_global_id(1), carry = 0;
    for (int begin = 0; begin < width; begin += n) {
        kept[mine] = image[row * width + begin + mine];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int by = 1; by < n; by <<= 1) {
            int other = mine >= by ? kept[mine - by] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            kept[mine] += other;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        sums[row * width + begin + mine] = kept[mine] + carry;
        carry += kept[n - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
__kernel void integrate_columns(__global int *sums, int width, int height) {
    int x = get_global_id(0), sum = 0;
    for (int y = 0; y < height; ++y) {
        sum += sums[y * width + x];
        sums[y * width + x] = sum;
    }
}
int inside(__global const int *sums, int at, int width, int x0, int y0, int x1, int y1) {
    return sums[at + y1 * width + x1] - sums[at + y0 * width + x1]
         - sums[at + y1 * width + x0] + sums[at + y0 * width + x0];
}
__kernel void cascade(__global const int *sums, __constant int *features, __constant int *stages,
                      __global uchar *depth, int width, int count) {
    int x = get_global_id(0), y = get_global_id(1), at = y * width + x, stage = 0, feature = 0;
    for (; stage < count; ++stage) {
        int votes = 0;
        for (int end = feature + stages[2 * stage]; feature < end; ++feature) {
            __constant int *f = features + 10 * feature;
            int dark = inside(sums, at, width, f[0], f[1], f[2], f[3]);
            int light = inside(sums, at, width, f[4], f[5], f[6], f[7]);
            votes += 4 * (dark - light) > f[8] ? f[9] : -f[9];
        }
        if (votes < stages[2 * stage + 1]) break;
    }
    depth[y * get_global_size(0) + x] = (uchar)stage;
}
"""
WINDOW: Final = 24
STAGES: Final = (3, 5, 8, 12, 16, 20, 24, 30)
"""Features of each stage. Later stages have fewer windows and more features."""
_SEED: Final = 2013
_BLOCK: Final = 8
"""Side of the squares of similar pixels, which are the shapes of the image."""


@dataclass(frozen=True, slots=True)
class Cascade:
    """Features and stages of a cascade.

    A feature is two rectangles of a window, a threshold and a vote: shape (features, 10). A stage is a
    number of features, and the votes that a window needs: shape (stages, 2).
    """

    features: NDArray[np.int32]
    stages: NDArray[np.int32]


def image(width: int, height: int) -> NDArray[np.uint8]:
    """Return an image of squares and noise. Shape (height, width)."""
    chooser = np.random.default_rng(_SEED)
    coarse = chooser.integers(0, 160, (height // _BLOCK + 1, width // _BLOCK + 1))
    shapes = np.kron(coarse, np.ones((_BLOCK, _BLOCK), np.int64))[:height, :width]
    return (shapes + chooser.integers(0, 96, (height, width))).astype(np.uint8)


def integral(pixels: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the sums of all pixels above and left, with those of the row and the column."""
    sums: NDArray[np.int32] = pixels.astype(np.int64).cumsum(0).cumsum(1).astype(np.int32)
    return sums


def cascade() -> Cascade:
    """Return the cascade. A feature compares two neighbouring rectangles and votes for the darker."""
    chooser = np.random.default_rng(_SEED + 1)
    features = []
    for _ in range(sum(STAGES)):
        half, high = chooser.integers(2, WINDOW // 2), chooser.integers(3, WINDOW)
        x, y = chooser.integers(0, WINDOW - 2 * half), chooser.integers(0, WINDOW - high)
        dark = (x, y, x + half, y + high)
        light = (x + half, y, x + 2 * half, y + high)
        features.append(
            (*dark, *light, int(chooser.integers(-300, 300)), int(chooser.integers(1, 9)))
        )
    stages = [(count, 0) for count in STAGES]
    return Cascade(np.array(features, np.int32), np.array(stages, np.int32))


def depths(
    sums: NDArray[np.int32], width: int, height: int, detector: Cascade
) -> NDArray[np.uint8]:
    """Return the number of stages that each window passes. Shape (height, width)."""
    whole = sums.astype(np.int64)

    def rectangle(x0: int, y0: int, x1: int, y1: int) -> NDArray[np.int64]:
        def at(y: int, x: int) -> NDArray[np.int64]:
            return whole[y : y + height, x : x + width]

        return at(y1, x1) - at(y0, x1) - at(y1, x0) + at(y0, x0)

    depth = np.zeros((height, width), np.uint8)
    is_in = np.ones((height, width), np.bool_)
    first = 0
    for count, needed in detector.stages.tolist():
        votes = np.zeros((height, width), np.int64)
        for x0, y0, x1, y1, x2, y2, x3, y3, threshold, vote in detector.features[
            first : first + count
        ].tolist():
            darker = 4 * (rectangle(x0, y0, x1, y1) - rectangle(x2, y2, x3, y3)) > threshold
            votes += np.where(darker, vote, -vote)
        first += count
        is_in &= votes >= needed
        depth += is_in
    return depth


def detection(scale: Scale) -> Iterator[Case]:
    """Yield the three launches per image."""
    width, height = scale.side, scale.height
    pixels = BufferInput(width * height, lambda: image(width, height).ravel())
    sums = BufferInput(4 * width * height)
    group = min(scale.group_items, width)

    def rows(_: Arrays) -> Mapping[int, NDArray[np.generic]]:
        return {1: image(width, height).astype(np.int64).cumsum(1).astype(np.int32)}

    inputs = (pixels, sums, np.int32(width), LocalInput(4 * group))
    work = Workload(SOURCE, "integrate_rows", (group, height), (group, 1), inputs)
    yield Case("integral image by rows", "integrate_rows", work, rows)
    by_rows = BufferInput(
        4 * width * height, lambda: image(width, height).cumsum(1, dtype=np.int32).ravel()
    )

    def columns(_: Arrays) -> Mapping[int, NDArray[np.generic]]:
        return {0: integral(image(width, height))}

    column_inputs = (by_rows, np.int32(width), np.int32(height))
    work = Workload(SOURCE, "integrate_columns", (width,), (group,), column_inputs)
    yield Case("integral image by columns", "integrate_columns", work, columns)
    yield _cascade_case(scale)


def _cascade_case(scale: Scale) -> Case:
    detector = cascade()
    width, height = scale.side, scale.height
    padded_width, padded_height = width + WINDOW + 1, height + WINDOW + 1

    def sums() -> NDArray[np.int32]:
        return integral(image(padded_width, padded_height))

    def reference(_: Arrays) -> Mapping[int, NDArray[np.generic]]:
        return {3: depths(sums(), width, height, detector)}

    def flat(values: NDArray[np.int32]) -> Callable[[], NDArray[np.generic]]:
        return lambda: values.ravel()

    inputs = (
        BufferInput(4 * padded_width * padded_height, lambda: sums().ravel()),
        BufferInput(detector.features.nbytes, flat(detector.features)),
        BufferInput(detector.stages.nbytes, flat(detector.stages)),
        BufferInput(width * height),
        np.int32(padded_width),
        np.int32(len(detector.stages)),
    )
    work = Workload(SOURCE, "cascade", (width, height), scale.tile, inputs)
    return Case("cascade of stages", "cascade", work, reference)
