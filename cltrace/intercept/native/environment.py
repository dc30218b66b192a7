"""Environment in which a program's OpenCL loader loads the layer, and loaders that do so."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

LAYERS_VARIABLE: Final = "OPENCL_LAYERS"
"""Layers that a loader loads, separated by colons. The last one is the nearest to the program."""

INITIALISERS: Final = ("clInitLayer", "clInitLayerWithProperties")
"""Functions by which loaders initialise layers: those of versions 1.0.0 and 1.0.1 of `cl_loader_layers`.

A loader has the name of the one that it asks for. Khronos' loader asks for the second from 2026 on.
"""

LAYER_SETTINGS_FILE: Final = "layer.settings"
"""File of the recording's settings of the layer: a line is a key, a space and a value."""

LIBRARY_KEY: Final = "library"
PYTHON_KEY: Final = "record_python"
YES: Final = "yes"


def takes_layers(loader: Path) -> bool:
    """Return whether a loader of OpenCL takes the layer in. Raises: `OSError` if it cannot be read."""
    content = loader.read_bytes()
    return LAYERS_VARIABLE.encode() in content and initialises_layer(content)


def initialises_layer(content: bytes) -> bool:
    """Return whether the file of a loader with layers asks for a function that the layer has."""
    return any(name.encode() + b"\0" in content for name in INITIALISERS)


def layered_environment(environment: Mapping[str, str], library: Path) -> dict[str, str]:
    """Return `environment` with the layer behind the layers that it names already."""
    given = environment.get(LAYERS_VARIABLE, "")
    layers = [layer for layer in given.split(":") if layer and layer != str(library)]
    return {**environment, LAYERS_VARIABLE: ":".join([*layers, str(library)])}


def library_that_records_python(parts: Path) -> Path | None:
    """Return the layer's library if it records Python processes of the recording in `parts`."""
    try:
        text = (parts / LAYER_SETTINGS_FILE).read_text("utf-8", "surrogateescape")
    except OSError:
        return None
    values = dict(line.split(" ", 1) for line in text.split("\n") if " " in line)
    is_wanted = values.get(PYTHON_KEY) == YES and LIBRARY_KEY in values
    return Path(values[LIBRARY_KEY]) if is_wanted else None
