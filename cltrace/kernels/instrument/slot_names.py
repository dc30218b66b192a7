"""Names of the values of a kernel in OpenCL C."""

from typing import Final

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.instrument.c_types import constant
from cltrace.kernels.ir.instructions import Call, Copy
from cltrace.kernels.ir.module import SymbolAddress
from cltrace.kernels.ir.types import IntegerType, OpaqueType, Type

_EVENT: Final = OpaqueType("spirv.Event")


def stored_type(kind: Type) -> Type:
    """Return the type of variables for values of a type.

    Copies by work-groups are made at once, so their events are numbers.
    """
    return IntegerType(64) if kind == _EVENT else kind


class SlotNames:
    """Expressions of the values of a kernel's slots.

    Attributes:
        handles: slots of images and samplers, which no variable can hold.
        samplers: the bits of constant samplers, by name.
        constants: the constants, by slot.
    """

    def __init__(self, kernel: PreparedKernel) -> None:
        self._function = kernel.function
        self._variables = {item.name: number for number, item in enumerate(kernel.variables)}
        self.handles = frozenset(
            slot
            for slot, kind in enumerate(self._function.types)
            if isinstance(kind, OpaqueType) and kind != _EVENT
        )
        self.constants = {item.slot: item for item in self._function.constants}
        self.samplers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        """Expressions of slots without a variable."""

    def type_of(self, slot: int) -> Type:
        """Return the type of a slot's variable. Raises: `UnsupportedKernelError`."""
        kind = self._function.types[slot]
        if kind is None:
            raise UnsupportedKernelError(f"a value of {self._function.name} has no type")
        return stored_type(kind)

    def expression(self, slot: int) -> str:
        """Return the expression of a slot's value."""
        if slot in self._names:
            return self._names[slot]
        item = self.constants.get(slot)
        if item is None:
            return f"v{slot}"
        if isinstance(item.type, OpaqueType):
            return "0ul"
        return constant(item.type, item.value, self.symbol)

    def symbol(self, address: SymbolAddress) -> str:
        """Return the expression of a variable's address."""
        return f"((ulong)m{self._variables[address.symbol]})"

    def name(self, slot: int, name: str) -> None:
        """Give a slot an expression in place of a variable."""
        self._names[slot] = name

    def name_copy(self, item: object) -> None:
        """Give a copy of an image or sampler the name of what it copies.

        Raises: `UnsupportedKernelError` for a choice between several.
        """
        if not isinstance(item, Copy):
            raise UnsupportedKernelError("a device records no choice of images")
        self._names[item.result] = self.expression(item.operand)

    def name_sampler(self, item: Call) -> None:
        """Name a sampler that is a constant of the program. Raises: `UnsupportedKernelError`."""
        value = self.constants[item.arguments[0]].value
        if not isinstance(value, int):
            raise UnsupportedKernelError(f"{item.place}: a sampler is no constant")
        name = f"sampler_{value}"
        self.samplers[name] = value
        self._names[item.result] = name
