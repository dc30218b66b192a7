"""Operands of a function's instructions: names and constants become slots."""

from collections.abc import Mapping

from cltrace.kernels.ir.constant_reader import read_constant, wrapped
from cltrace.kernels.ir.module import Constant, ConstantValue
from cltrace.kernels.ir.tokens import Tokens
from cltrace.kernels.ir.type_reader import read_type
from cltrace.kernels.ir.types import Type


class Operands:
    """The slots of one function, numbered as names and constants are met."""

    def __init__(self, named: Mapping[str, Type]) -> None:
        self.named = named
        self.types: list[Type | None] = []
        self._names: dict[str, int] = {}
        self._constants: dict[tuple[Type, str], Constant] = {}

    @property
    def count(self) -> int:
        """How many slots there are so far."""
        return len(self.types)

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The constants that were met."""
        return tuple(self._constants.values())

    def slot(self, name: str) -> int:
        """The slot of a name."""
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = self.fresh()
        return found

    def fresh(self) -> int:
        """A new slot."""
        self.types.append(None)
        return len(self.types) - 1

    def constant(self, kind: Type, value: ConstantValue) -> int:
        """The slot of a constant."""
        if isinstance(value, int):
            value = wrapped(value, kind)
        key = (kind, repr(value))
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = Constant(self.fresh(), kind, value)
            self.types[found.slot] = kind
        return found.slot

    def constant_value(self, slot: int) -> ConstantValue | None:
        """The value of a slot that is a constant, else None."""
        for constant in self._constants.values():
            if constant.slot == slot:
                return constant.value
        return None

    def type(self, tokens: Tokens) -> Type:
        """The type that comes next."""
        return read_type(tokens, self.named)

    def value(self, tokens: Tokens, kind: Type) -> int:
        """The slot of the operand that comes next, which is of type `kind`."""
        if tokens.peek().startswith("%"):
            return self.slot(tokens.take())
        return self.constant(kind, read_constant(tokens, kind, self.named))

    def typed(self, tokens: Tokens) -> tuple[Type, int]:
        """The type and the slot of the operand that comes next."""
        kind = self.type(tokens)
        return kind, self.value(tokens, kind)
