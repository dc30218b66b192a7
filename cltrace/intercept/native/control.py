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


def flush_layer() -> None:
    """Write all rows that the layer recorded so far. Without a layer in this process it does nothing."""
    _call("cltrace_layer_flush")


def end_layer(ending: str) -> None:
    """End the recording of the layer. `ending` names the event that ends this process.

    Without a layer in this process it does nothing.
    """
    _call("cltrace_layer_end", ending.encode())


def _call(name: str, *arguments: bytes) -> None:
    for path in os.environ.get(LAYERS_VARIABLE, "").split(":"):
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY) if path else None
            function = getattr(library, name, None)
        except OSError:  # not in this process
            continue
        if function is not None:
            function(*arguments)
