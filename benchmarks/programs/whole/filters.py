"""Noise taken out of images, with gputools.

Usage: filters.py STEPS PROFILING PLATFORM. gputools' queue always has profiling.
"""

import sys

import gputools
import numpy as np
import pyopencl as cl
from request import read_request

SIDE = 128


def main() -> None:
    """Filter an image, step by step."""
    request = read_request()
    is_gpu = bool(request.device.type & cl.device_type.GPU)
    gputools.init_device(id_platform=request.platform_number, id_device=0, use_gpu=is_gpu)
    random = np.random.default_rng(4)
    image = random.random((SIDE, SIDE), np.float32)
    kernel = np.ones((5, 5), np.float32) / 25
    for _ in range(request.steps):
        blurred = gputools.gaussian_filter(image, sigma=(2, 2))
        smooth = gputools.convolve(blurred, kernel)
        least = gputools.min_filter(smooth, size=3)
        bright = gputools.max_filter(smooth, size=3)
        image = (least + bright + image) / 3
    if not np.isfinite(image).all():
        sys.exit("the image is not finite")
    print(f"{image.mean():.3f}")


if __name__ == "__main__":
    main()
