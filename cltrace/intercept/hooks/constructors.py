"""Hook of the constructor of a class that nanobind made, without a change to the class itself.

`cl.CommandQueue(...)` does not use `CommandQueue.__init__`: nanobind's types have a vectorcall entry
(`PyTypeObject.tp_vectorcall`) that calls the C++ constructor directly. With that entry cleared, CPython
constructs objects in the ordinary way, by `__new__` and then `__init__`, and uses an assigned
`__init__`. The class object stays the same. So `type(q) is cl.CommandQueue`, `isinstance`, subclassing,
`match`, `singledispatch` and annotations work as before.

CPython itself gives the position of the entry: the metaclass's `tp_vectorcall_offset`. The value there
is checked before it is changed, and `ConstructorHookError` is raised when it is not as expected.
"""

import ctypes
import platform
import sys
from typing import Final

_METACLASS_OFFSET_FIELD: Final = 56
"""Offset of `tp_vectorcall_offset` in a `PyTypeObject` of a 64-bit CPython 3.8 or newer with a GIL."""

_TYPE_BYTES: Final = object.__getattribute__(type, "__basicsize__")
"""Size of a type object: the entry is inside it."""


class ConstructorHookError(Exception):
    """The reason why the constructors of this build of pyopencl or Python cannot be hooked."""


class VectorcallEntry:
    """Vectorcall entry of a class: `clear` clears it, `restore` restores it.

    Raises: `ConstructorHookError` when the entry is not found with certainty.
    """

    def __init__(self, cls: type, witness: type) -> None:
        """Find the entry of `cls`. `witness` is another class of the same metaclass."""
        _require_known_layout()
        metaclass = type(cls)
        if type(witness) is not metaclass:
            raise ConstructorHookError(f"{cls} and {witness} have different metaclasses")
        offset = ctypes.c_ssize_t.from_address(id(metaclass) + _METACLASS_OFFSET_FIELD).value
        if not 0 < offset < _TYPE_BYTES or offset % ctypes.sizeof(ctypes.c_void_p):
            raise ConstructorHookError(f"{metaclass} has no vectorcall entry")
        self._entry = ctypes.c_void_p.from_address(id(cls) + offset)
        expected = ctypes.c_void_p.from_address(id(witness) + offset).value
        if self._entry.value is None or self._entry.value != expected:
            raise ConstructorHookError(f"{cls} is not constructed as {witness} is")
        self._saved = expected

    def clear(self) -> None:
        """Let CPython construct objects of the class through `__init__`."""
        self._entry.value = None

    def restore(self) -> None:
        """Restore the entry of the C++ constructor."""
        self._entry.value = self._saved


def _require_known_layout() -> None:
    if platform.python_implementation() != "CPython" or sys.maxsize < 2**32:
        raise ConstructorHookError("only a 64-bit CPython is supported")
    is_gil_enabled = getattr(sys, "_is_gil_enabled", None)
    if is_gil_enabled is not None and not is_gil_enabled():
        raise ConstructorHookError("a free-threaded CPython is not supported")
