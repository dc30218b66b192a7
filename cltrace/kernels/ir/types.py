"""The types of LLVM IR that OpenCL C compiles to, with their sizes in memory."""

from dataclasses import dataclass
from functools import cache

PRIVATE, GLOBAL, CONSTANT, LOCAL, GENERIC = range(5)
"""Address spaces by their number on `spir64`."""

SPACE_NAMES = ("private", "global", "constant", "local", "generic")
"""Names of the address spaces, by number."""


@dataclass(frozen=True, slots=True)
class VoidType:
    """The type of a call without a result."""


@dataclass(frozen=True, slots=True)
class IntegerType:
    """An integer without a sign: operations define how they read it. One bit is a truth value."""

    bits: int


@dataclass(frozen=True, slots=True)
class FloatType:
    """A binary floating-point number of 16, 32 or 64 bits."""

    bits: int


@dataclass(frozen=True, slots=True)
class PointerType:
    """A pointer into an address space."""

    space: int


@dataclass(frozen=True, slots=True)
class VectorType:
    """A vector of `count` numbers or pointers."""

    count: int
    element: "Type"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array."""

    count: int
    element: "Type"


@dataclass(frozen=True, slots=True)
class StructType:
    """A structure; a `packed` one has no padding."""

    members: tuple["Type", ...]
    packed: bool = False


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A handle: an image, a sampler, an event. `parameters` are an image's, in SPIR-V's numbering."""

    name: str
    parameters: tuple[int, ...] = ()


Type = (
    VoidType
    | IntegerType
    | FloatType
    | PointerType
    | VectorType
    | ArrayType
    | StructType
    | OpaqueType
)

VOID = VoidType()
BOOL = IntegerType(1)


@cache
def size_bytes(kind: Type) -> int:
    """Return the size of a value in memory in bytes, trailing padding included (`sizeof`)."""
    match kind:
        case VoidType():
            return 0
        case ArrayType(count, element):
            return count * size_bytes(element)
        case StructType(members, packed):
            end = 0
            for offset, member in zip(member_offsets(kind), members, strict=True):
                end = offset + size_bytes(member)
            return end if packed else _round_up(end, alignment_bytes(kind))
        case _:
            return _round_up(stored_bytes(kind), alignment_bytes(kind))


@cache
def stored_bytes(kind: Type) -> int:
    """Return the bytes that a load or store of a value touches: those of 3 elements for a vector of 3."""
    match kind:
        case IntegerType(bits):
            return (bits + 7) // 8
        case FloatType(bits):
            return bits // 8
        case PointerType() | OpaqueType():
            return 8
        case VectorType(count, IntegerType(1)):
            return (count + 7) // 8
        case VectorType(count, element):
            return count * stored_bytes(element)
        case _:
            return size_bytes(kind)


@cache
def alignment_bytes(kind: Type) -> int:
    """Return the natural alignment of a type in bytes; a variable may declare another one."""
    match kind:
        case ArrayType(_, element):
            return alignment_bytes(element)
        case StructType(members, packed):
            return 1 if packed else max((alignment_bytes(member) for member in members), default=1)
        case VoidType():
            return 1
        case IntegerType() | FloatType() | VectorType():
            return 1 << max(stored_bytes(kind) - 1, 0).bit_length()
        case _:
            return 8


@cache
def member_offsets(kind: StructType) -> tuple[int, ...]:
    """Return the offsets of a structure's members in bytes."""
    offsets = []
    end = 0
    for member in kind.members:
        begin = end if kind.packed else _round_up(end, alignment_bytes(member))
        offsets.append(begin)
        end = begin + size_bytes(member)
    return tuple(offsets)


def is_float(kind: Type) -> bool:
    """Return whether a type is a floating-point number or a vector of them."""
    return isinstance(element_of(kind), FloatType)


def element_of(kind: Type) -> Type:
    """Return the element type of a vector, or any other type itself."""
    return kind.element if isinstance(kind, VectorType) else kind


_INTEGERS = {1: "bool", 8: "char", 16: "short", 32: "int", 64: "long"}
_FLOATS = {16: "half", 32: "float", 64: "double"}


def type_name(kind: Type) -> str:
    """Return the OpenCL C name of a type, such as `int` or `float4`. Integers get their signed names."""
    match kind:
        case VectorType(count, element):
            return f"{type_name(element)}{count}"
        case ArrayType(count, element):
            return f"{type_name(element)}[{count}]"
        case IntegerType(bits):
            return _INTEGERS.get(bits, f"int{bits}")
        case FloatType(bits):
            return _FLOATS[bits]
        case OpaqueType(name):
            return name
        case _:
            return {PointerType: "pointer", StructType: "struct", VoidType: "void"}[type(kind)]


def _round_up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
