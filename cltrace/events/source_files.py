"""Files of a program's code, told from those of what is installed."""

import re
from typing import Final

_INSTALLED: Final = re.compile(
    r"/(site|dist)-packages/|/lib(64)?/python\d[^/]*/|\.so(\.\d+)*(\+0x[0-9a-f]+)?$|^<frozen "
)


def is_installed(file: str) -> bool:
    """Return whether a file belongs to an installed package, the standard library or a shared library."""
    return _INSTALLED.search(file) is not None
