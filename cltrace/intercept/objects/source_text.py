"""Sources as programs pass them, or as pyopencl's cache of binaries has them.

Both producers import this module. It imports nothing of pyopencl, and no records: a process that the
layer records has few addresses to spare if they are limited.
"""

import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import FrameType

_FRAMES_TO_CACHE: Final = 6


def find_cached_source() -> str | None:
    """Return the source of the binary from which pyopencl's cache makes a program; `None` elsewhere.

    pyopencl keeps built binaries on disk and makes programs from them. The source is then only in a
    variable of the function that does so, a few frames above the constructor's hook.
    """
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_FRAMES_TO_CACHE):
        if frame is None:
            return None
        if frame.f_code.co_name == "_create_built_program_from_source_cached":
            source = frame.f_locals.get("src")
            return decode_text(source) if isinstance(source, (bytes, str)) else None
        frame = frame.f_back
    return None


def decode_text(value: Any) -> str:
    """Return a text that a program passed as `str` or `bytes`."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
