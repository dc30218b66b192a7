"""Kernel arguments as words: what a launch stores of its arguments.

An argument list is stored as 64-bit words, and its `ArgumentForm` tells what the words are. Memory
objects are stored by handle, so no argument keeps an object of the program alive.
"""

import ctypes
import struct
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np
import pyopencl as cl

from cltrace.events.kinds import ArgumentKind
from cltrace.events.records import ArgumentForm, ArgumentSlot
from cltrace.intercept.sink import Sink

WORD_BYTES: Final = 8
_MAX_LISTS: Final = 65_536
"""Number of remembered argument lists. A list that was forgotten gets a new number."""


class Words(NamedTuple):
    """An argument as words, with the slot that tells what they are."""

    slot: ArgumentSlot
    words: tuple[int, ...] = ()


class Packed(NamedTuple):
    """A number that pyopencl converts to the C type with this character of `struct`.

    It converts as C does: the number loses the digits that the type cannot hold.
    """

    char: bytes
    number: Any


Memory = tuple[ArgumentSlot, int]
"""A memory object as an argument: its slot and its handle."""

Frozen = Memory | Words | Packed | np.generic | complex | None
"""An argument as it was at a call: words, or a value that never changes (`freeze`)."""

BUFFER: Final = ArgumentSlot(ArgumentKind.BUFFER, 1)
BUFFER_WITH_OFFSET: Final = ArgumentSlot(ArgumentKind.BUFFER, 2)
IMAGE: Final = ArgumentSlot(ArgumentKind.IMAGE, 1)
SVM: Final = ArgumentSlot(ArgumentKind.SVM, 1)
LOCAL: Final = ArgumentSlot(ArgumentKind.LOCAL, 1)
SAMPLER: Final = ArgumentSlot(ArgumentKind.SAMPLER, 1)
QUEUE: Final = ArgumentSlot(ArgumentKind.QUEUE, 0)
NULL: Final = ArgumentSlot(ArgumentKind.NULL, 0)
INTEGER: Final = ArgumentSlot(ArgumentKind.SCALAR, 1, "int")
WIDE_INTEGER: Final = ArgumentSlot(ArgumentKind.SCALAR, 2, "int")
REAL: Final = ArgumentSlot(ArgumentKind.SCALAR, 1, "float", WORD_BYTES)
COMPLEX: Final = ArgumentSlot(ArgumentKind.SCALAR, 2, "complex", 2 * WORD_BYTES)


@cache
def scalar_slot(dtype: str, size_bytes: int) -> ArgumentSlot:
    """Return the slot of a scalar of a type with a size."""
    return ArgumentSlot(ArgumentKind.SCALAR, -(-size_bytes // WORD_BYTES), dtype, size_bytes)


_LIBRARIES: Final = {"builtins", "numpy", "pyopencl"}


def is_of_program(cls: type) -> bool:
    """Return whether a class may be the program's own.

    Such a class must not be kept: that would keep all that its methods refer to, the program's global
    objects included, when the interpreter ends.
    """
    return cls.__module__.partition(".")[0] not in _LIBRARIES


def freeze(argument: Any) -> Frozen:
    """Return an argument that a program passed, in a form that the program cannot change any more."""
    kind = type(argument)
    slot = _MEMORY_SLOTS.get(kind)
    if slot is not None:
        return slot, argument.int_ptr
    if kind in _CONSTANTS:
        constant: Frozen = argument
        return constant
    return _freeze_first(argument)


_MEMORY_SLOTS: Final[dict[type, ArgumentSlot]] = {}
"""Slots of memory objects, by the types of libraries that were met."""

_CONSTANTS: Final[set[type]] = {type(None), bool, int, float, complex}
"""Types that were met whose values never change."""


def _freeze_first(argument: Any) -> Frozen:
    """Return an argument of a type that was not met before, or is not of the frequent ones."""
    match argument:
        case cl.MemoryObjectHolder():
            slot = IMAGE if isinstance(argument, cl.Image) else BUFFER
            if not is_of_program(type(argument)):
                _MEMORY_SLOTS[type(argument)] = slot
            return slot, argument.int_ptr
        case np.void():
            return _bytes_words(argument.dtype.str, argument.tobytes())
        case np.generic():
            if type(argument).__module__ == "numpy":
                _CONSTANTS.add(type(argument))
            return argument
        case int() | float() | complex():
            return _plain_number(argument)
        case _:
            return _freeze_object(argument)


def _plain_number(number: complex) -> Frozen:
    """Return a number of a class of the program as one of Python's own classes."""
    if isinstance(number, int):
        return int(number)
    return float(number) if isinstance(number, float) else complex(number)


def memory_handle(frozen: Frozen) -> int:
    """Return the handle of the memory object that is an argument; 0 for other arguments."""
    match frozen:
        case Words():
            return frozen.words[0] if frozen.slot is BUFFER_WITH_OFFSET else 0
        case (ArgumentSlot(), int() as handle):
            return handle
        case _:
            return 0


def svm_address(frozen: Frozen) -> int:
    """Return the address of the shared virtual memory that is an argument; 0 for other arguments."""
    return frozen.words[0] if isinstance(frozen, Words) and frozen.slot is SVM else 0


def declare(frozen: Frozen, declared: Any) -> Frozen:
    """Return a frozen argument as the type that the program declared (`Kernel.set_arg_types`).

    If `declared` is a numpy type, pyopencl converts a scalar argument to it. Any other declaration
    leaves the argument as it is.
    """
    if frozen is None or isinstance(frozen, tuple):
        return frozen
    try:
        dtype = np.dtype(declared)
        return _bytes_words(dtype.str, np.asarray(frozen).astype(dtype).tobytes())
    except (TypeError, ValueError, OverflowError):
        return frozen


def to_words(frozen: Frozen) -> Words:
    """Return the words of a frozen argument."""
    match frozen:
        case Words():
            return frozen
        case Packed():
            return _unpack(*frozen)
        case tuple():
            return Words(frozen[0], (frozen[1],))
        case None:
            return Words(NULL)
        case np.generic():
            return _bytes_words(frozen.dtype.str, frozen.tobytes())
        case _:
            return _number_words(frozen)


def _number_words(number: complex) -> Words:
    match number:
        case bool() | int():
            return integer_words(int(number))
        case float():
            return Words(REAL, struct.unpack("<q", struct.pack("<d", number)))
        case _:
            return Words(
                COMPLEX, struct.unpack("<qq", struct.pack("<dd", number.real, number.imag))
            )


def _unpack(char: bytes, number: Any) -> Words:
    kind, convert = _C_TYPES[char]
    return _bytes_words(np.dtype(kind).str, bytes(kind(convert(number))))


_C_TYPES: Final[dict[bytes, tuple[type[Any], Callable[[Any], Any]]]] = {
    b"c": (ctypes.c_byte, int),
    b"b": (ctypes.c_byte, int),
    b"B": (ctypes.c_ubyte, int),
    b"h": (ctypes.c_short, int),
    b"H": (ctypes.c_ushort, int),
    b"i": (ctypes.c_int, int),
    b"I": (ctypes.c_uint, int),
    b"l": (ctypes.c_long, int),
    b"L": (ctypes.c_ulong, int),
    b"f": (ctypes.c_float, float),
    b"d": (ctypes.c_double, float),
}
"""C types and conversions of a number, by the character that pyopencl uses."""


def integer_words(number: int) -> Words:
    """Return the words of a number whose type in the kernel is not declared here."""
    if -(2**63) <= number < 2**63:
        return Words(INTEGER, (number,))
    low, high = struct.unpack("<qq", (number & (2**128 - 1)).to_bytes(16, "little"))
    return Words(WIDE_INTEGER, (low, high))


def _freeze_object(argument: Any) -> Words:
    match argument:
        case cl.LocalMemory():
            return Words(LOCAL, (argument.size,))
        case cl.Sampler():
            return Words(SAMPLER, (sampler_bits(argument),))
        case cl.CommandQueue():
            return Words(QUEUE)
        case cl.SVMPointer():
            return Words(SVM, (argument.svm_ptr,))
        case _:
            return _freeze_other(argument)


def sampler_bits(sampler: Any) -> int:
    """Return the settings of a sampler as the number that OpenCL C has for them."""
    info = cl.sampler_info
    addressing = int(sampler.get_info(info.ADDRESSING_MODE)) - cl.addressing_mode.NONE
    filtering = int(sampler.get_info(info.FILTER_MODE)) - cl.filter_mode.NEAREST
    is_normalised = bool(sampler.get_info(info.NORMALIZED_COORDS))
    return is_normalised | addressing << 1 | 0x10 << filtering


def _freeze_other(argument: Any) -> Words:
    base = getattr(argument, "base_data", None)
    if isinstance(base, cl.MemoryObjectHolder):
        return Words(BUFFER_WITH_OFFSET, (base.int_ptr, int(argument.offset)))
    try:
        data = memoryview(argument).tobytes()
    except (TypeError, BufferError, ValueError):
        return Words(ArgumentSlot(ArgumentKind.UNKNOWN, 0, detail=type(argument).__qualname__))
    return _bytes_words(getattr(getattr(argument, "dtype", None), "str", ""), data)


def _bytes_words(dtype: str, data: bytes) -> Words:
    slot = scalar_slot(dtype, len(data))
    return Words(slot, struct.unpack(f"<{slot.words}q", data.ljust(slot.words * WORD_BYTES, b"\0")))


class ArgumentLists:
    """Numbers of argument lists and of their forms."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._forms: dict[tuple[ArgumentSlot, ...], int] = {}
        self._ids: dict[tuple[int, tuple[int, ...]], int] = {}
        self.next_id: Final = count(1).__next__
        """Returns the number of a new argument list."""

    def form_id(self, slots: tuple[ArgumentSlot, ...]) -> int:
        """Return the number of a form, and record it if it is new."""
        number = self._forms.get(slots)
        if number is None:
            number = self._forms[slots] = len(self._forms) + 1
            self._sink.records.append(ArgumentForm(number, slots))
        return number

    def number(self, arguments: tuple[Words, ...]) -> tuple[int, bool]:
        """Return the number of an argument list, and whether it is new and was stored."""
        form_id = self.form_id(tuple(argument.slot for argument in arguments))
        words = tuple(word for argument in arguments for word in argument.words)
        number = self._ids.get((form_id, words))
        if number is not None:
            return number, False
        if len(self._ids) >= _MAX_LISTS:
            self._ids.clear()
        number = self._ids[form_id, words] = self.next_id()
        self._sink.argument_rows(len(words)).extend((number, form_id, *words))
        return number, True
