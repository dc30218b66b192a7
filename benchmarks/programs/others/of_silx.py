"""Convolutions, medians, statistics, projections, gradients and keypoints, with silx."""

import numpy as np
from device import choose_device, choose_sizes, repeat
from silx.opencl import sift
from silx.opencl.backprojection import Backprojection
from silx.opencl.convolution import Convolution
from silx.opencl.linalg import LinAlg
from silx.opencl.medfilt import MedianFilter2D
from silx.opencl.projection import Projection
from silx.opencl.statistics import Statistics


def main() -> None:
    """Run each algorithm on two images."""
    platform, number, _ = choose_device()
    where = {"platformid": platform, "deviceid": number}
    random = np.random.default_rng(3)
    for side in choose_sizes(256, 2048):
        image = random.random((side, side)).astype(np.float32)
        line, square = np.hanning(9).astype(np.float32), np.ones((5, 5), np.float32)
        for name, weights in (("lines", line), ("square", square)):
            plan = Convolution(image.shape, weights, **where)
            repeat(name, lambda p=plan, i=image: p(i))
        medians = MedianFilter2D(image.shape, (5, 5), **where)
        repeat("median", lambda p=medians, i=image: p(i))
        numbers = Statistics(template=image, **where)
        repeat("statistics", lambda p=numbers, i=image: p(i))
        slopes = LinAlg(image.shape, **where)
        repeat("gradient", lambda p=slopes, i=image: p.gradient(i))
        angles = 64
        project = Projection(image.shape, angles, **where)
        repeat("projection", lambda p=project, i=image: p(i))
        sinogram = random.random((angles, side)).astype(np.float32)
        back = Backprojection(sinogram.shape, **where)
        repeat("backprojection", lambda p=back, s=sinogram: p.backprojection(s))
    for side in choose_sizes(128, 1024):
        picture = random.random((side, side)).astype(np.float32)
        points = sift.SiftPlan(template=picture, **where)
        repeat("keypoints", lambda p=points, i=picture: p.keypoints(i))


if __name__ == "__main__":
    main()
