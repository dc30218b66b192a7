"""Operands of a function's instructions: slots for names and constants."""

from collections.abc import Mapping

from cltrace.kernels.ir.constant_reader import read_constant, wrap_integer
from cltrace.kernels.ir.module import Constant, ConstantValue
from cltrace.kernels.ir.tokens import Tokens
from cltrace.kernels.ir.type_reader import read_type
from cltrace.kernels.ir.types import Type


class Operands:
    """The slots of one function, numbered in the order in which names and constants appear."""

    def __init__(self, structures: Mapping[str, Type]) -> None:
        self.structures = structures
        self.types: list[Type | None] = []
        self._names: dict[str, int] = {}
        self._constants: dict[tuple[Type, str], Constant] = {}

    @property
    def count(self) -> int:
        """The number of slots so far."""
        return len(self.types)

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The constants that were read so far."""
        return tuple(self._constants.values())

    def slot_of(self, name: str) -> int:
        """Return the slot of a name, a new one for a new name."""
        slot = self._names.get(name)
        if slot is None:
            slot = self._names[name] = self._new_slot()
        return slot

    def _new_slot(self) -> int:
        self.types.append(None)
        return len(self.types) - 1

    def constant_slot(self, kind: Type, value: ConstantValue) -> int:
        """Return the slot of a constant, a new one for a new constant."""
        if isinstance(value, int):
            value = wrap_integer(value, kind)
        key = (kind, repr(value))
        constant = self._constants.get(key)
        if constant is None:
            constant = self._constants[key] = Constant(self._new_slot(), kind, value)
            self.types[constant.slot] = kind
        return constant.slot

    def constant_value(self, slot: int) -> ConstantValue | None:
        """Return the value of a slot that is a constant, else None."""
        for constant in self._constants.values():
            if constant.slot == slot:
                return constant.value
        return None

    def read_type(self, tokens: Tokens) -> Type:
        """Read the next type."""
        return read_type(tokens, self.structures)

    def read_value(self, tokens: Tokens, kind: Type) -> int:
        """Read the next operand, which is of type `kind`, and return its slot."""
        if tokens.peek().startswith("%"):
            return self.slot_of(tokens.take())
        return self.constant_slot(kind, read_constant(tokens, kind, self.structures))

    def read_typed_value(self, tokens: Tokens) -> tuple[Type, int]:
        """Read the next operand with its type, and return its type and slot."""
        kind = self.read_type(tokens)
        return kind, self.read_value(tokens, kind)
