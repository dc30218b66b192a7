"""Descriptions of kernel arguments: small, hashable and exact. They keep no object of the program alive.

A description is a tuple whose first item is the kind of the argument:

    ("m", handle)              a buffer
    ("i", handle)              an image
    ("v", handle, offset)      an array that pyopencl passes with its offset in bytes
    ("s", address)             shared virtual memory
    ("l", bytes)               local memory
    ("x", dtype, bytes)        a scalar or a structure, by value
    ("p",) ("q",) ("0",)       a sampler, a queue, a null pointer
    ("u", type name)           anything else
"""

import struct
from typing import Any, Final

import numpy as np
import pyopencl as cl

from cltrace.events.kinds import ArgumentKind
from cltrace.events.records import Argument

Description = tuple[Any, ...]

_SAMPLER: Final[Description] = ("p",)
_QUEUE: Final[Description] = ("q",)
_NULL: Final[Description] = ("0",)


def describe(argument: Any) -> Description:
    """Return the description of an argument that a program passed to a kernel."""
    match argument:
        case cl.MemoryObjectHolder():
            return ("i" if isinstance(argument, cl.Image) else "m", argument.int_ptr)
        case np.generic():
            return ("x", argument.dtype.str, argument.tobytes())
        case None:
            return _NULL
        case bool() | int() | float() | complex():
            return _describe_number(argument)
        case _:
            return _describe_object(argument)


def describe_declared(argument: Any, declared: Any) -> Description:
    """Return the description of an argument whose type the program declared (`Kernel.set_arg_types`).

    If `declared` is a numpy type, pyopencl converts a scalar argument to it. Any other declaration
    leaves the argument as it is.
    """
    if isinstance(argument, (bool, int, float, complex, np.generic)):
        try:
            dtype = np.dtype(declared)
            return ("x", dtype.str, np.asarray(argument).astype(dtype).tobytes())
        except (TypeError, ValueError, OverflowError):
            return describe(argument)
    return describe(argument)


def _describe_number(number: complex) -> Description:
    """Return the description of a Python number, whose type in the kernel is not declared here."""
    match number:
        case bool() | int():
            return ("x", "int", str(int(number)).encode())
        case float():
            return ("x", "float", struct.pack("<d", number))
        case _:
            return ("x", "complex", struct.pack("<dd", number.real, number.imag))


def _describe_object(argument: Any) -> Description:
    match argument:
        case cl.LocalMemory():
            return ("l", argument.size)
        case cl.Sampler():
            return _SAMPLER
        case cl.CommandQueue():
            return _QUEUE
        case cl.SVMPointer():
            return ("s", argument.svm_ptr)
        case _:
            return _describe_other(argument)


def _describe_other(argument: Any) -> Description:
    base = getattr(argument, "base_data", None)
    if isinstance(base, cl.MemoryObjectHolder):
        return ("v", base.int_ptr, int(argument.offset))
    try:
        data = memoryview(argument).tobytes()
    except (TypeError, BufferError, ValueError):
        return ("u", type(argument).__qualname__)
    dtype = getattr(argument, "dtype", None)
    return ("x", getattr(dtype, "str", ""), data)


def replace_handle(description: Description, object_id: int) -> Description:
    """Return `description` with the handle of a memory object replaced by its number."""
    tag, _, *rest = description
    return (tag, object_id, *rest)


def argument_record(description: Description) -> Argument:
    """Return the record of an argument whose description has numbers, not handles (`replace_handle`)."""
    tag, *rest = description
    match tag:
        case "m" | "i":
            kind = ArgumentKind.IMAGE if tag == "i" else ArgumentKind.BUFFER
            return _record(kind, buffer_id=rest[0])
        case "v":
            return _record(ArgumentKind.BUFFER, buffer_id=rest[0], offset_bytes=rest[1])
        case "s":
            return _record(ArgumentKind.SVM, buffer_id=rest[0], detail=f"{rest[1]:#x}")
        case "l":
            return _record(ArgumentKind.LOCAL, size_bytes=rest[0])
        case "x":
            return _scalar_record(*rest)
        case _:
            kind = _OPAQUE.get(tag, ArgumentKind.UNKNOWN)
            return _record(kind, detail="".join(rest))


_OPAQUE: Final = {
    "p": ArgumentKind.SAMPLER,
    "q": ArgumentKind.QUEUE,
    "0": ArgumentKind.NULL,
}


def _scalar_record(dtype: str, value: bytes) -> Argument:
    if dtype == "int":
        return _record(ArgumentKind.SCALAR, dtype=dtype, detail=value.decode())
    return _record(ArgumentKind.SCALAR, dtype=dtype, size_bytes=len(value), value=value.hex())


def _record(
    kind: ArgumentKind,
    *,
    buffer_id: int = 0,
    offset_bytes: int = 0,
    size_bytes: int = 0,
    dtype: str = "",
    value: str = "",
    detail: str = "",
) -> Argument:
    return Argument(
        kind=kind,
        offset_bytes=offset_bytes,
        size_bytes=size_bytes,
        dtype=dtype,
        value=value,
        detail=detail,
        buffer_id=buffer_id,
    )
