"""The methods of `Kernel` that set arguments, and what each call of them says.

Functions that others generate (pyopencl's for a kernel object, loopy's for a program) set many arguments
by one call, whose tuple has an index and an argument in turn, or an index, the character of a type and
a number. What pyopencl makes of a number is what C makes of it: it loses what the type does not hold.
"""

import ctypes
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from cltrace.intercept.objects.arguments import Description, describe

Said = dict[int, Description]
"""The arguments that a call set, by their index in the kernel."""


def _one(arg_index: int, arg: Any) -> Said:
    return {arg_index: describe(arg)}


def _null(arg_index: int) -> Said:
    return {arg_index: describe(None)}


def _several(indices_and_args: tuple[Any, ...]) -> Said:
    """An index and an argument in turn."""
    return dict(zip(indices_and_args[::2], map(describe, indices_and_args[1::2]), strict=False))


def _packed(indices_chars_and_args: tuple[Any, ...]) -> Said:
    """An index, the character of a type and a number in turn."""
    triples = zip(*(indices_chars_and_args[first::3] for first in range(3)), strict=False)
    return {index: _PACKERS[char](number) for index, char, number in triples}


SETTERS: Final[tuple[tuple[str, Callable[..., Said]], ...]] = (
    ("set_arg", _one),
    ("_set_arg_null", _null),
    ("_set_arg_buf", _one),
    ("_set_arg_svm", _one),
    ("_set_arg_multi", _several),
    ("_set_arg_buf_multi", _several),
    ("_set_arg_buf_pack_multi", _packed),
)
"""Methods of `Kernel` and what says which arguments a call of them set. It takes what they take."""


def _packer(kind: type[Any], number_of: Callable[[Any], float]) -> Callable[[Any], Description]:
    dtype = np.dtype(kind).str
    return lambda number: ("x", dtype, bytes(kind(number_of(number))))


_PACKERS: Final[dict[bytes, Callable[[Any], Description]]] = {
    b"c": _packer(ctypes.c_byte, int),
    b"b": _packer(ctypes.c_byte, int),
    b"B": _packer(ctypes.c_ubyte, int),
    b"h": _packer(ctypes.c_short, int),
    b"H": _packer(ctypes.c_ushort, int),
    b"i": _packer(ctypes.c_int, int),
    b"I": _packer(ctypes.c_uint, int),
    b"l": _packer(ctypes.c_long, int),
    b"L": _packer(ctypes.c_ulong, int),
    b"f": _packer(ctypes.c_float, float),
    b"d": _packer(ctypes.c_double, float),
}
"""By the character that pyopencl takes for a type of C."""
