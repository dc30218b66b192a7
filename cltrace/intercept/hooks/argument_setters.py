"""Methods of `Kernel` that set arguments, and the arguments that each call of them sets.

Functions that libraries generate (pyopencl's for a kernel object, loopy's for a program) set many
arguments by one call. Its tuple alternates an index and an argument, or an index, the character of a C
type and a number.
"""

from collections.abc import Callable
from typing import Any, Final

from cltrace.intercept.objects.arguments import Frozen, Packed, freeze

KernelArguments = dict[int, Frozen]
"""Arguments that were set for a kernel, by their index."""


def _single(arguments: KernelArguments, arg_index: int, arg: Any) -> None:
    arguments[arg_index] = freeze(arg)


def _null(arguments: KernelArguments, arg_index: int) -> None:
    arguments[arg_index] = None


def _alternating(arguments: KernelArguments, indices_and_args: tuple[Any, ...]) -> None:
    """Store the arguments of a tuple that alternates an index and an argument."""
    every = iter(indices_and_args)
    for index, argument in zip(every, every, strict=False):
        arguments[index] = freeze(argument)


def _packed(arguments: KernelArguments, indices_chars_and_args: tuple[Any, ...]) -> None:
    """Store the arguments of a tuple that alternates an index, the character of a type and a number."""
    every = iter(indices_chars_and_args)
    for index, char, number in zip(every, every, every, strict=False):
        arguments[index] = Packed(char, number)


SETTERS: Final[tuple[tuple[str, Callable[..., None]], ...]] = (
    ("set_arg", _single),
    ("_set_arg_null", _null),
    ("_set_arg_buf", _single),
    ("_set_arg_svm", _single),
    ("_set_arg_multi", _alternating),
    ("_set_arg_buf_multi", _alternating),
    ("_set_arg_buf_pack_multi", _packed),
)
"""Methods of `Kernel`, each with a function that stores what it sets.

The function takes the arguments of the kernel that were set before, and those of the method."""
