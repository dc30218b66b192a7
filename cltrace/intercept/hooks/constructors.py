"""Hooking the constructor of a class that nanobind made, without changing what the class is.

`cl.CommandQueue(...)` does not look at `CommandQueue.__init__`: nanobind's types carry a vectorcall
entry (`PyTypeObject.tp_vectorcall`) that calls the C++ constructor directly. With that entry cleared
CPython makes objects the ordinary way, `__new__` and then `__init__`, and an assigned `__init__` is
honoured. The class object stays the same, so `type(q) is cl.CommandQueue`, `isinstance`,
subclassing, `match`, `singledispatch` and annotations do not notice.

Where the entry is, CPython itself says: the metaclass's `tp_vectorcall_offset`. What is found there
is checked before it is touched, and `ConstructorsClosedError` says when it is not what it should be.
"""

import ctypes
import platform
import sys
from typing import Final

_METACLASS_OFFSET_FIELD: Final = 56
"""Where `tp_vectorcall_offset` is in a `PyTypeObject` of a 64-bit CPython 3.8 or newer with a GIL."""

_TYPE_BYTES: Final = object.__getattribute__(type, "__basicsize__")
"""The size of a type object: the entry is inside it."""


class ConstructorsClosedError(Exception):
    """The constructors of this build of pyopencl or Python cannot be hooked, and why."""


class VectorcallEntry:
    """The vectorcall entry of a class: cleared by `clear`, put back by `restore`.

    Raises: `ConstructorsClosedError` when the entry is not found with certainty.
    """

    def __init__(self, cls: type, witness: type) -> None:
        """Find the entry of `cls`. `witness` is another class of the same metaclass."""
        _require_known_layout()
        metaclass = type(cls)
        if type(witness) is not metaclass:
            raise ConstructorsClosedError(f"{cls} and {witness} have different metaclasses")
        offset = ctypes.c_ssize_t.from_address(id(metaclass) + _METACLASS_OFFSET_FIELD).value
        if not 0 < offset < _TYPE_BYTES or offset % ctypes.sizeof(ctypes.c_void_p):
            raise ConstructorsClosedError(f"{metaclass} has no vectorcall entry")
        self._entry = ctypes.c_void_p.from_address(id(cls) + offset)
        seen = ctypes.c_void_p.from_address(id(witness) + offset).value
        if self._entry.value is None or self._entry.value != seen:
            raise ConstructorsClosedError(f"{cls} is not constructed as {witness} is")
        self._saved = seen

    def clear(self) -> None:
        """Make CPython construct objects of the class through `__init__`."""
        self._entry.value = None

    def restore(self) -> None:
        """Put the C++ constructor's entry back."""
        self._entry.value = self._saved


def _require_known_layout() -> None:
    if platform.python_implementation() != "CPython" or sys.maxsize < 2**32:
        raise ConstructorsClosedError("only a 64-bit CPython is known")
    is_gil_enabled = getattr(sys, "_is_gil_enabled", None)
    if is_gil_enabled is not None and not is_gil_enabled():
        raise ConstructorsClosedError("the layout of a free-threaded CPython is not known")
