"""Colours of the page: told apart by all eyes, and from the background."""

import re
from importlib import resources

import numpy as np
import pytest

ASSETS = resources.files("cltrace.report.page") / "assets"
SIMULATED = {
    "none": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                 [-0.01182, 0.04294, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.3039]],
}  # fmt: skip
"""Machado, Oliveira and Fernandes 2009: linear RGB as seen without one kind of cone."""


def palette(theme: str) -> tuple[str, list[str]]:
    """The background of a theme, and the colours that have to be told apart."""
    text = (ASSETS / "palette.js").read_text()
    block = re.search(rf"{theme}: \{{(.*?)\n  \}}", text, re.DOTALL)
    assert block is not None
    kernels = re.search(r"kernels: \[([^\]]+)\]", block[1])
    transfer = re.search(r'transfer: "(#\w+)"', block[1])
    background = re.search(r'background: "(#\w+)"', block[1])
    assert kernels is not None
    assert transfer is not None
    assert background is not None
    return background[1], [*re.findall(r"#\w+", kernels[1]), transfer[1]]


def linear(colour: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("eyes", SIMULATED)
def test_colours_are_told_apart(theme: str, eyes: str) -> None:
    """Distances in OKLab (Ottosson 2020); black and white are 1 apart."""
    _, colours = palette(theme)
    seen = np.clip(np.array([linear(one) for one in colours]) @ np.array(SIMULATED[eyes]).T, 0, 1)
    cones = np.array(
        [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
         [0.0883024619, 0.2817188376, 0.6299787005]]
    )  # fmt: skip
    lab = np.cbrt(seen @ cones.T) @ np.array(
        [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099],
         [0.0259040371, 0.7827717662, -0.808675766]]
    ).T  # fmt: skip
    distances = np.linalg.norm(lab[:, None] - lab[None], axis=-1) + np.eye(len(lab))
    assert distances.min() > 0.1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_stand_out_from_the_background(theme: str) -> None:
    background, colours = palette(theme)
    weights = np.array([0.2126, 0.7152, 0.0722])
    ground = linear(background) @ weights
    for colour in colours:
        light = linear(colour) @ weights
        assert (max(light, ground) + 0.05) / (min(light, ground) + 0.05) >= 2.99
