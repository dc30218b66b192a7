"""Methods of `Kernel` that set arguments, and the arguments that each call of them sets.

Functions that libraries generate (pyopencl's for a kernel object, loopy's for a program) set many
arguments by one call. Its tuple alternates an index and an argument, or an index, the character of a C
type and a number.
"""

from collections.abc import Callable
from typing import Any, Final

from cltrace.intercept.objects.arguments import Frozen, Packed, freeze

ArgumentsSet = dict[int, Frozen]
"""Arguments that a call set, by their index in the kernel."""


def _single(arg_index: int, arg: Any) -> ArgumentsSet:
    return {arg_index: freeze(arg)}


def _null(arg_index: int) -> ArgumentsSet:
    return {arg_index: freeze(None)}


def _alternating(indices_and_args: tuple[Any, ...]) -> ArgumentsSet:
    """Return the arguments of a tuple that alternates an index and an argument."""
    return dict(zip(indices_and_args[::2], map(freeze, indices_and_args[1::2]), strict=False))


def _packed(indices_chars_and_args: tuple[Any, ...]) -> ArgumentsSet:
    """Return the arguments of a tuple that alternates an index, the character of a type and a number."""
    every = indices_chars_and_args
    return dict(zip(every[::3], map(Packed, every[1::3], every[2::3]), strict=False))


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
