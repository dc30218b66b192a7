"""Environment in which a program's OpenCL loader loads the layer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

LAYERS_VARIABLE: Final = "OPENCL_LAYERS"
"""Layers that a loader loads, separated by colons. The last one is the nearest to the program."""


def layered_environment(environment: Mapping[str, str], library: Path) -> dict[str, str]:
    """Return `environment` with the layer behind the layers that it names already."""
    given = environment.get(LAYERS_VARIABLE, "")
    layers = [layer for layer in given.split(":") if layer and layer != str(library)]
    return {**environment, LAYERS_VARIABLE: ":".join([*layers, str(library)])}
