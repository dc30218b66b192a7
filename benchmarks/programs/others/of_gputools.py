"""Images and volumes filtered, transformed and denoised, with gputools."""

import gputools
import numpy as np
from device import choose_device, choose_sizes, repeat
from gputools import denoise, noise


def main() -> None:
    """Run each filter on images and volumes."""
    platform, number, device = choose_device()
    gputools.init_device(id_platform=platform, id_device=number, use_gpu="GPU" in str(device.type))
    random = np.random.default_rng(2)
    for side in choose_sizes(256, 2048):
        image = random.random((side, side), np.float32)
        _filter("image", image, 5)
        repeat("nlm2", lambda i=image: denoise.nlm2(i, sigma=0.1))
        repeat("bilateral2", lambda i=image: denoise.bilateral2(i, fSize=3, sigma_p=0.2))
        repeat("perlin2", lambda s=side: noise.perlin2((s, s), scale=(10.0, 10.0)))
    for side in choose_sizes(32, 160):
        volume = random.random((side, side, side), np.float32)
        _filter("volume", volume, 3)
        repeat("nlm3", lambda v=volume: denoise.nlm3(v, sigma=0.1, size_filter=1, size_search=2))
        repeat("perlin3", lambda s=side: noise.perlin3((s, s, s)))
        repeat("scale", lambda v=volume: gputools.scale(v, 1.5))
        repeat("rotate", lambda v=volume: gputools.rotate(v, axis=(0, 0, 1), angle=0.3))


def _filter(name: str, values: np.ndarray, width: int) -> None:
    weights = np.ones((width,) * values.ndim, np.float32) / width**values.ndim
    lines = [np.hanning(9).astype(np.float32)] * values.ndim
    convolve_lines = gputools.convolve_sep2 if values.ndim == 2 else gputools.convolve_sep3
    repeat(f"{name} convolve", lambda: gputools.convolve(values, weights))
    repeat(f"{name} lines", lambda: convolve_lines(values, *lines))
    repeat(f"{name} gauss", lambda: gputools.gaussian_filter(values, sigma=2.0))
    repeat(f"{name} least", lambda: gputools.min_filter(values, size=5))
    repeat(f"{name} fft", lambda: gputools.fft(values.astype(np.complex64)))


if __name__ == "__main__":
    main()
