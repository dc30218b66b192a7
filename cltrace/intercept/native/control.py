"""Control of the layer that records this process, from Python."""

import ctypes
import os

from cltrace.intercept.native.environment import LAYERS_VARIABLE


def pause_layer() -> None:
    """Pause the recording of the layer. Without a layer in this process it does nothing."""
    _call("cltrace_layer_pause")


def resume_layer() -> None:
    """Resume the recording of the layer. Without a layer in this process it does nothing."""
    _call("cltrace_layer_resume")


def _call(name: str) -> None:
    for path in os.environ.get(LAYERS_VARIABLE, "").split(":"):
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY) if path else None
            function = getattr(library, name, None)
        except OSError:  # not in this process
            continue
        if function is not None:
            function()
