"""OpenCL C for the calls of builtin functions in LLVM IR."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.builtins.function_kinds import EMISSION_PREFIX
from cltrace.kernels.builtins.mangling import ParameterKind, Signature, base_name, demangle
from cltrace.kernels.execute.image_calls import ImageCall, read_image_call
from cltrace.kernels.execute.state import Site
from cltrace.kernels.instrument.c_types import (
    SPACE_QUALIFIERS,
    as_signed,
    as_unsigned,
    c_type,
    is_truth,
)
from cltrace.kernels.instrument.event_log import record_access, record_texel, record_value
from cltrace.kernels.ir.instructions import Call
from cltrace.kernels.ir.types import (
    VOID,
    IntegerType,
    OpaqueType,
    PointerType,
    Type,
    VectorType,
    element_of,
    is_float,
    size_bytes,
    stored_bytes,
)

_CODES: Final[Mapping[str, str]] = {
    "c": "char", "a": "char", "h": "uchar", "s": "short", "t": "ushort", "i": "int", "j": "uint",
    "l": "long", "m": "ulong", "x": "long", "y": "ulong", "f": "float", "d": "double", "Dh": "half",
    "v": "void", "b": "bool",
}  # fmt: skip
_UNMANGLED: Final[Mapping[str, str]] = {
    "llvm.fma": "fma",
    "llvm.fabs": "fabs",
    "llvm.sqrt": "sqrt",
    "llvm.floor": "floor",
    "llvm.ceil": "ceil",
    "llvm.trunc": "trunc",
    "llvm.rint": "rint",
    "llvm.round": "round",
    "llvm.copysign": "copysign",
    "llvm.minnum": "fmin",
    "llvm.maxnum": "fmax",
    "llvm.ctpop": "popcount",
    "llvm.umin": "min",
    "llvm.umax": "max",
    "__to_global": "to_global",
    "__to_local": "to_local",
    "__to_private": "to_private",
}
"""Names in OpenCL C of functions with another name in IR."""
_DROPPED: Final = frozenset(
    {
        "prefetch",
        "llvm.lifetime.start",
        "llvm.lifetime.end",
        "llvm.experimental.noalias.scope.decl",
        "llvm.assume",
        "llvm.var.annotation",
        "llvm.sideeffect",
        "llvm.stackrestore",
        "llvm.trap",
        "llvm.debugtrap",
    }
)
"""Functions without an effect on what a kernel computes."""
_C11_ATOMICS: Final = ("_explicit", "atomic_init", "atomic_flag_clear", "atomic_flag_test_and_set")


class Calls:
    """Statements of calls.

    `slot` returns the expression of a slot's value, `type_of` its type.
    """

    def __init__(self, slot: Callable[[int], str], type_of: Callable[[int], Type]) -> None:
        self._slot = slot
        self._type_of = type_of

    def statements(self, call: Call, sites: Sequence[Site]) -> Iterator[str]:
        """Yield the statements of a call, which accesses memory at `sites`.

        Raises: `UnsupportedKernelError`.
        """
        signature = demangle(call.callee)
        name = base_name(signature)
        if name in _DROPPED:
            return
        if name.startswith(EMISSION_PREFIX):
            yield from self._emitted(call, int(name.removeprefix(EMISSION_PREFIX)))
        elif name.startswith(("llvm.memcpy", "llvm.memmove", "llvm.memset")):
            yield from self._copy(call, sites, is_fill=name.startswith("llvm.memset"))
        elif name.startswith("async_work_group_"):
            yield from self._group_copy(call, signature, sites)
        elif name == "wait_group_events":
            yield "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
        elif name == "printf":
            yield f"{self._slot(call.result)} = 0;" if call.result >= 0 else ";"
        else:
            yield from self._recorded(call, signature, sites)
            yield self._builtin(call, signature, name)

    def _recorded(self, call: Call, signature: Signature, sites: Sequence[Site]) -> Iterator[str]:
        """Yield the records of a function's accesses: of images by coordinates, of memory by address."""
        image = read_image_call(call, signature)
        for site in sites:
            if image is None:
                yield record_access(site.number, self._address(site, base_name(signature)))
            else:
                yield record_texel(site.number, list(self._coordinates(image)))

    def _coordinates(self, image: ImageCall) -> Iterator[str]:
        """Yield the bits of an image's coordinates."""
        kind, position = self._type_of(image.position), self._slot(image.position)
        for axis in range(image.coordinates):
            part = f"({position}).s{axis}" if isinstance(kind, VectorType) else position
            yield f"as_uint({part})" if is_float(kind) else f"(uint)({part})"

    def _emitted(self, call: Call, first: int) -> Iterator[str]:
        """Yield the records of a value, or of a vector's components, whose numbers begin with `first`."""
        index, value = call.arguments
        kind, text = self._type_of(value), self._slot(value)
        if not isinstance(kind, VectorType):
            yield record_value(first, self._slot(index), _value_bits(text, kind))
            return
        for part in range(kind.count):
            bits = _value_bits(f"({text}).s{part:x}", kind.element)
            yield record_value(first + part, self._slot(index), bits)

    def _address(self, site: Site, name: str) -> str:
        """Return the address of an access: that of `vload` and `vstore` has an offset in vectors."""
        pointer = self._slot(site.pointer)
        if not site.indices:
            return pointer
        stride = site.access_bytes
        if name.startswith(("vloada", "vstorea")) and stride % 3 == 0:
            stride = stride // 3 * 4
        (index,) = site.indices
        return f"{pointer} + (long)({self._slot(index)}) * {stride}l"

    def _builtin(self, call: Call, signature: Signature, name: str) -> str:
        """Return the statement of a call of a function that OpenCL C has."""
        if name.startswith("llvm.") and name not in _UNMANGLED and name != "llvm.fmuladd":
            raise UnsupportedKernelError(f"{call.place}: a device records no calls of {name}")
        kinds: Sequence[ParameterKind | None] = signature.parameters
        if len(kinds) != len(call.arguments):
            kinds = [None] * len(call.arguments)
        words = [
            self._argument(slot, kind, name)
            for slot, kind in zip(call.arguments, kinds, strict=True)
        ]
        text = f"{_UNMANGLED.get(name, name)}({', '.join(words)})"
        if name == "llvm.fmuladd":
            text = f"{words[0]} * {words[1]} + {words[2]}"
        if call.result < 0 or call.type == VOID:
            return f"{text};"
        return f"{self._slot(call.result)} = {_as_result(text, call.type)};"

    def _argument(self, slot: int, kind: ParameterKind | None, function: str) -> str:
        text, own = self._slot(slot), self._type_of(slot)
        if kind is None or isinstance(own, OpaqueType):
            return text
        if kind.space is not None:
            return f"({_pointer(kind, own, function)}){text}"
        if isinstance(element_of(own), IntegerType) and not is_truth(own):
            if kind.code not in _CODES:  # an enumeration
                return f"({kind.code}){text}"
            return text if kind.is_unsigned else as_signed(text, own)
        return text

    def _copy(self, call: Call, sites: Sequence[Site], *, is_fill: bool) -> Iterator[str]:
        """Yield a copy of bytes by each work-item, or a fill with one."""
        target, source, length = (self._slot(slot) for slot in call.arguments[:3])
        for site in sites:
            yield f"if ({length}) {record_access(site.number, self._slot(site.pointer))}"
        value = source if is_fill else f"{source}[at]"
        yield f"for (ulong at = 0; at < {length}; ++at) {target}[at] = {value};"

    def _group_copy(self, call: Call, signature: Signature, sites: Sequence[Site]) -> Iterator[str]:
        """Yield a copy by a work-group, whose work-items take its elements in turns."""
        target, source, count = (self._slot(slot) for slot in call.arguments[:3])
        is_strided = "strided" in signature.name
        stride = f"(ulong){self._slot(call.arguments[3])}" if is_strided else "1ul"
        from_global = signature.parameters[1].space == 1
        kind = signature.parameters[0]
        size = size_bytes(_parameter_type(kind))
        dense, spread = f"at * {size}ul", f"at * {stride} * {size}ul"
        source_offset, target_offset = (spread, dense) if from_global else (dense, spread)
        event = self._slot(call.arguments[-1])
        yield f"for (ulong at = cltrace_linear; at < {count}; at += cltrace_group_items) {{"
        for site, offset in zip(sites, (source_offset, target_offset), strict=True):
            yield record_access(site.number, f"{self._slot(site.pointer)} + {offset}")
        yield f"for (ulong byte = 0; byte < {size}ul; ++byte)"
        yield f"({target} + {target_offset})[byte] = ({source} + {source_offset})[byte]; }}"
        if call.result >= 0:
            yield f"{self._slot(call.result)} = {event};"


def _value_bits(text: str, kind: Type) -> str:
    """Return a number's bits: integers in 64 bits, others as `double` or `float` has them."""
    if isinstance(kind, IntegerType):
        return f"(ulong){text}"
    return f"(ulong)as_{'ulong' if stored_bytes(kind) == 8 else 'uint'}({text})"


def _pointer(kind: ParameterKind, own: Type, function: str) -> str:
    """Return the type of a function's parameter that is a pointer."""
    space = own.space if isinstance(own, PointerType) else kind.space or 0
    element = _CODES.get(kind.code, kind.code)
    if kind.count > 1:
        element = f"{element}{kind.count}"
    qualifiers = SPACE_QUALIFIERS[space]
    if function.startswith(("atomic_", "atom_")):
        qualifiers = f"volatile {qualifiers}"
        if any(function.endswith(part) for part in _C11_ATOMICS) and kind.code in _CODES:
            element = f"atomic_{element}"
    return f"{qualifiers} {element} *"


def _parameter_type(kind: ParameterKind) -> Type:
    bits = {"char": 8, "short": 16, "int": 32, "long": 64, "float": 32, "double": 64, "half": 16}
    name = _CODES.get(kind.code, "").removeprefix("u")
    if name not in bits:
        raise UnsupportedKernelError(f"a device records no copies of {kind.code}")
    element = IntegerType(bits[name])
    return VectorType(kind.count, element) if kind.count > 1 else element


def _as_result(text: str, kind: Type) -> str:
    """Return a call as the type of the variable for its result."""
    if isinstance(kind, OpaqueType) or is_truth(kind):
        return f"(int)({text})" if is_truth(kind) else text
    if isinstance(element_of(kind), IntegerType):
        return as_unsigned(text, kind)
    return f"({c_type(kind)})({text})" if isinstance(kind, PointerType) else text
