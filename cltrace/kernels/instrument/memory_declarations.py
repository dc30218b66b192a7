"""Declarations of a kernel's parameters and memory, and how its log tells their addresses."""

from typing import Final

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.execute.sites import private_bytes
from cltrace.kernels.instrument.c_types import SPACE_QUALIFIERS, c_type
from cltrace.kernels.instrument.slot_names import SlotNames
from cltrace.kernels.ir.module import Parameter, SymbolAddress, Variable
from cltrace.kernels.ir.types import (
    CONSTANT,
    GLOBAL,
    LOCAL,
    OpaqueType,
    PointerType,
    Type,
    size_bytes,
)

_SAMPLER: Final = "spirv.Sampler"
_ALIGNMENT: Final = 16


class MemoryDeclarations:
    """Declarations of a kernel's parameters and memory objects, which are numbered from 0.

    Attributes:
        parameters: the kernel's parameters.
        copies: statements that make values of them.
        outside: declarations in front of the kernel.
        inside: declarations in the kernel.
        shared_objects: the objects that all work-items share.
        shared_addresses: expressions of their addresses.
        own_objects: those that a work-item or its work-group has.
        own_addresses: expressions of their addresses.
    """

    def __init__(self, kernel: PreparedKernel, slots: SlotNames, *, has_generic: bool) -> None:
        self._kernel = kernel
        self._function = kernel.function
        self._slots = slots
        self.shared_objects: list[int] = []
        self.shared_addresses: list[str] = []
        self.own_objects: list[int] = []
        self.own_addresses: list[str] = []
        self.parameters, self.copies = self._parameters()
        self.outside, self.inside = self._memory()
        if has_generic:  # the generic address of local memory is another number on GPUs
            pairs = zip(tuple(self.own_objects), tuple(self.own_addresses), strict=True)
            for number, address in pairs:
                self._own(number, f"(in_generic){address}")

    def _parameters(self) -> tuple[list[str], list[str]]:
        """Return the declarations of the parameters, and statements that make values of them."""
        facts = self._function.kernel
        declared, copies = [], []
        for index, parameter in enumerate(self._function.parameters):
            number = len(self._kernel.variables) + index
            name, kind = f"p{index}", parameter.type
            if isinstance(kind, OpaqueType):
                access = facts.access[index] if facts is not None else "read_only"
                type_text = facts.types[index] if facts is not None else ""
                access = "" if kind.name == _SAMPLER else f"{access} "
                self._slots.name(parameter.slot, name)
                declared.append(f"{access}{type_text} {name}")
                continue
            if parameter.pointee is not None:
                size = size_bytes(parameter.pointee)
                declared.append(f"struct by_value_{index} {name}")
                copies.append(_copy_by_value(index, parameter, size))
                self._own(number, f"c{index}")
                continue
            declared.append(f"{_parameter_type(kind)} {name}")
            copies.append(f"v{parameter.slot} = ({c_type(kind)}){name};")
            if isinstance(kind, PointerType) and kind.space == LOCAL:
                self._own(number, name)
            elif isinstance(kind, PointerType):
                self._share(number, name)
        return declared, copies

    def _own(self, number: int, address: str) -> None:
        self.own_objects.append(number)
        self.own_addresses.append(address)

    def _share(self, number: int, address: str) -> None:
        self.shared_objects.append(number)
        self.shared_addresses.append(address)

    def _memory(self) -> tuple[list[str], list[str]]:
        """Return the declarations of variables outside of the kernel, and of those in it."""
        outside, inside = [], []
        for number, variable in enumerate(self._kernel.variables):
            text = _declare_variable(self._kernel, number, variable)
            if variable.space == LOCAL:
                inside.append(text)
                self._own(number, f"m{number}")
            else:
                outside.append(text)
                self._share(number, f"m{number}")
        first = len(self._kernel.variables) + len(self._function.parameters)
        for position, item in enumerate(self._kernel.private):
            size = max(private_bytes(item), 1)
            inside.append(_declare_bytes("__private", f"a{item.result}", size))
            self._own(first + position, f"a{item.result}")
        for index, parameter in enumerate(self._function.parameters):
            if parameter.pointee is not None:
                size = max(size_bytes(parameter.pointee), 1)
                outside.append(f"struct by_value_{index} {{ uchar bytes[{size}]; }};")
                inside.append(_declare_bytes("__private", f"c{index}", size))
        return outside, inside


def _parameter_type(kind: Type) -> str:
    """Return the type of a parameter that is no structure.

    Drivers align local memory as the type that its pointer points to.
    """
    if kind == PointerType(LOCAL):
        return "__local ulong2 *"
    return (
        f"{SPACE_QUALIFIERS[kind.space]} uchar *" if isinstance(kind, PointerType) else c_type(kind)
    )


def _copy_by_value(index: int, parameter: Parameter, size: int) -> str:
    copied = f"for (uint at = 0; at < {size}; ++at) c{index}[at] = p{index}.bytes[at];"
    return f"{copied} v{parameter.slot} = (in_private)c{index};"


def _declare_bytes(qualifiers: str, name: str, size: int, values: str = "") -> str:
    """Return the declaration of memory. PoCL keeps an alignment only if it divides the size."""
    size = -(-size // _ALIGNMENT) * _ALIGNMENT
    return f"{qualifiers} uchar {name}[{size}] __attribute__((aligned({_ALIGNMENT}))){values};"


def _declare_variable(kernel: PreparedKernel, number: int, variable: Variable) -> str:
    """Return the declaration of a variable as bytes. Raises: `UnsupportedKernelError`."""
    size = max(size_bytes(variable.type), 1)
    if variable.space == LOCAL:
        return _declare_bytes("__local", f"m{number}", size)
    if _has_address(variable.value):
        raise UnsupportedKernelError(
            f"a device records no kernel with {variable.name}: it holds addresses"
        )
    initial = kernel.initial_bytes(variable)
    values = "" if initial is None else f" = {{{','.join(map(str, initial.tolist()))}}}"
    if not values and variable.space == CONSTANT:
        values = " = {0}"
    qualifiers = "__constant" if variable.space == CONSTANT else SPACE_QUALIFIERS[GLOBAL]
    return _declare_bytes(qualifiers, f"m{number}", size, values)


def _has_address(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_address, value))
    return isinstance(value, SymbolAddress)
