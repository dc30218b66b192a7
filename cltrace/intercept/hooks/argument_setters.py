"""Methods of `Kernel` that set arguments, and the arguments that each call of them sets.

Functions that libraries generate (pyopencl's for a kernel object, loopy's for a program) set many
arguments by one call. Its tuple alternates an index and an argument, or an index, the character of a C
type and a number. pyopencl converts such a number as C does: it loses the digits that the type cannot
hold.
"""

import ctypes
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from cltrace.intercept.objects.arguments import Description, describe

ArgumentsSet = dict[int, Description]
"""Arguments that a call set, by their index in the kernel."""


def _single(arg_index: int, arg: Any) -> ArgumentsSet:
    return {arg_index: describe(arg)}


def _null(arg_index: int) -> ArgumentsSet:
    return {arg_index: describe(None)}


def _alternating(indices_and_args: tuple[Any, ...]) -> ArgumentsSet:
    """Return the arguments of a tuple that alternates an index and an argument."""
    return dict(zip(indices_and_args[::2], map(describe, indices_and_args[1::2]), strict=False))


def _packed(indices_chars_and_args: tuple[Any, ...]) -> ArgumentsSet:
    """Return the arguments of a tuple that alternates an index, the character of a type and a number."""
    triples = zip(*(indices_chars_and_args[first::3] for first in range(3)), strict=False)
    return {index: _PACKERS[char](number) for index, char, number in triples}


SETTERS: Final[tuple[tuple[str, Callable[..., ArgumentsSet]], ...]] = (
    ("set_arg", _single),
    ("_set_arg_null", _null),
    ("_set_arg_buf", _single),
    ("_set_arg_svm", _single),
    ("_set_arg_multi", _alternating),
    ("_set_arg_buf_multi", _alternating),
    ("_set_arg_buf_pack_multi", _packed),
)
"""Methods of `Kernel`, each with a function that takes its arguments and returns what they set."""


def _packer(kind: type[Any], convert: Callable[[Any], float]) -> Callable[[Any], Description]:
    dtype = np.dtype(kind).str
    return lambda number: ("x", dtype, bytes(kind(convert(number))))


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
"""Conversions of a number, by the character that pyopencl uses for a C type."""
