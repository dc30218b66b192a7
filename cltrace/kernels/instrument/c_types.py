"""OpenCL C for the types and constants of LLVM IR.

Integers are unsigned, so that they overflow as IR's do. A truth value is an `int` of 0 or 1; a vector of
them has a `char` of 0 or -1 per element. A pointer points to bytes of its address space.
"""

import struct
from collections.abc import Callable
from typing import Final

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.ir.module import ConstantValue, SymbolAddress
from cltrace.kernels.ir.types import (
    CONSTANT,
    GENERIC,
    GLOBAL,
    LOCAL,
    PRIVATE,
    FloatType,
    IntegerType,
    PointerType,
    Type,
    VectorType,
    element_of,
)

SPACE_QUALIFIERS: Final = {
    PRIVATE: "__private",
    GLOBAL: "__global",
    CONSTANT: "__constant",
    LOCAL: "__local",
    GENERIC: "__generic",
}
"""Qualifiers of the address spaces."""
_POINTERS: Final = {
    PRIVATE: "in_private",
    GLOBAL: "in_global",
    CONSTANT: "in_constant",
    LOCAL: "in_local",
    GENERIC: "in_generic",
}
_UNSIGNED: Final = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}
_SIGNED: Final = {8: "char", 16: "short", 32: "int", 64: "long"}
_POINTER_BITS: Final = 64
_FLOATS: Final = {16: "half", 32: "float", 64: "double"}
_FLOAT_FORMATS: Final = {16: ("e", "H"), 32: ("f", "I"), 64: ("d", "Q")}


def declare_pointers(*, has_generic: bool) -> str:
    """Return the declarations of the types of pointers."""
    spaces = [space for space in _POINTERS if space != GENERIC or has_generic]
    return "\n".join(
        f"typedef {SPACE_QUALIFIERS[space]} uchar *{_POINTERS[space]};" for space in spaces
    )


def c_type(kind: Type) -> str:
    """Return the type of variables for values of a type. Raises: `UnsupportedKernelError`."""
    match kind:
        case IntegerType(1):
            return "int"
        case IntegerType(bits) if bits in _UNSIGNED:
            return _UNSIGNED[bits]
        case FloatType(bits):
            return _FLOATS[bits]
        case PointerType(space):
            return _POINTERS[space]
        case VectorType(count, IntegerType(1)):
            return f"char{count}"
        case VectorType(count, IntegerType() | FloatType() as element):
            return f"{c_type(element)}{count}"
        case _:
            raise UnsupportedKernelError(f"a device records no kernel with values of {kind}")


def signed_type(kind: Type) -> str:
    """Return the signed type of an integer or a vector of integers."""
    if isinstance(kind, VectorType):
        return f"{signed_type(kind.element)}{kind.count}"
    return _SIGNED[kind.bits] if isinstance(kind, IntegerType) and kind.bits > 1 else "int"


def is_truth(kind: Type) -> bool:
    """Return True for a truth value or a vector of them."""
    return kind == IntegerType(1) or (
        isinstance(kind, VectorType) and kind.element == IntegerType(1)
    )


def cast(text: str, target: str, kind: Type) -> str:
    """Return an expression of a type as another type of the same size."""
    return f"as_{target}({text})" if isinstance(kind, VectorType) else f"(({target})({text}))"


def as_signed(text: str, kind: Type) -> str:
    """Return an integer expression as signed numbers."""
    return cast(text, signed_type(kind), kind)


def as_unsigned(text: str, kind: Type) -> str:
    """Return a signed integer expression as variables hold it."""
    return cast(text, c_type(kind), kind)


def constant(kind: Type, value: ConstantValue, address: Callable[[SymbolAddress], str]) -> str:
    """Return a constant. `address` returns an expression for the address of a symbol.

    Raises: `UnsupportedKernelError`.
    """
    if isinstance(value, SymbolAddress):
        return f"(({c_type(kind)})({address(value)} + {value.offset_bytes}))"
    if isinstance(kind, VectorType):
        values = value if isinstance(value, tuple) else (value,) * kind.count
        parts = [constant(kind.element, item, address) for item in values]
        sign = "-" if is_truth(kind) else ""
        return f"(({c_type(kind)})({', '.join(sign + part for part in parts)}))"
    if isinstance(value, tuple):
        raise UnsupportedKernelError(f"a device records no kernel with constants of {kind}")
    match kind:
        case IntegerType(1):
            return str(int(bool(value)))
        case FloatType():
            return _float(kind, float(value))
        case _:
            bits = kind.bits if isinstance(kind, IntegerType) else _POINTER_BITS
            return f"(({c_type(kind)}){int(value) % (1 << bits)}ul)"


def _float(kind: FloatType, value: float) -> str:
    own, bits = _FLOAT_FORMATS[kind.bits]
    number = struct.unpack(bits, struct.pack(own, value))[0]
    return f"as_{_FLOATS[kind.bits]}(({_UNSIGNED[kind.bits]}){number}ul)"


def read(kind: Type, qualifiers: str, pointer: str) -> str:
    """Return the expression of a value in memory. Raises: `UnsupportedKernelError`."""
    if has_three(kind):
        return f"vload3(0, ({qualifiers} {c_type(element_of(kind))} *){pointer})"
    return f"*({qualifiers} {_memory_type(kind)} *){pointer}"


def write(kind: Type, qualifiers: str, pointer: str, value: str) -> str:
    """Return the statement that writes a value to memory. Raises: `UnsupportedKernelError`."""
    if has_three(kind):
        return f"vstore3({value}, 0, ({qualifiers} {c_type(element_of(kind))} *){pointer});"
    return f"*({qualifiers} {_memory_type(kind)} *){pointer} = {value};"


def has_three(kind: Type) -> bool:
    """Return True for a vector of three, which only functions read and write as it is."""
    return isinstance(kind, VectorType) and kind.count == 3


def _memory_type(kind: Type) -> str:
    if isinstance(kind, VectorType) and is_truth(kind):
        raise UnsupportedKernelError("a device records no accesses of vectors of truth values")
    return "uchar" if is_truth(kind) else c_type(kind)
