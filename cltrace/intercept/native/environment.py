"""Environment in which a program's OpenCL loader loads the layer, and loaders that do so."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

LAYERS_VARIABLE: Final = "OPENCL_LAYERS"
"""Layers that a loader loads, separated by colons. The last one is the nearest to the program."""

LAYER_SETTINGS_FILE: Final = "layer.settings"
"""File of the recording's settings of the layer: a line is a key, a space and a value."""

LIBRARY_KEY: Final = "library"
PYTHON_KEY: Final = "record_python"
YES: Final = "yes"


def takes_layers(loader: Path) -> bool:
    """Return whether a loader of OpenCL loads layers. Raises: `OSError` if it cannot be read."""
    return LAYERS_VARIABLE.encode() in loader.read_bytes()


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
