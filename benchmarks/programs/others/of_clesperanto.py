"""Every operation of pyclesperanto-prototype on an image and a volume."""

import inspect

import numpy as np
import pyclesperanto_prototype as cle
from device import choose_device, choose_sizes, repeat

SLOW = ("convolve", "deconvolve", "generate", "n_", "touch", "distance_matrix", "voronoi", "label")
"""Starts of names that are left out: they run for minutes, or thousands of launches."""


def main() -> None:
    """Run each operation at each size."""
    _, _, device = choose_device()
    cle.select_device(device.name)
    random = np.random.default_rng(4)
    for side, depth in zip(choose_sizes(128, 1024), (8, 16), strict=False):
        volume = random.random((depth, side, side), np.float32)
        labels = (np.indices(volume.shape).sum(axis=0) // 64 + 1).astype(np.uint32)
        for name, operation in sorted(cle.operations().items()):
            if not any(word in name for word in SLOW):
                _call(name, operation, volume, labels)


def _call(name: str, operation: object, volume: np.ndarray, labels: np.ndarray) -> None:
    arguments = []
    for word, parameter in inspect.signature(operation).parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            break
        whole = labels if "label" in word or "binary" in word else volume
        arguments.append(cle.push(whole))
    repeat(name, lambda: operation(*arguments))


if __name__ == "__main__":
    main()
