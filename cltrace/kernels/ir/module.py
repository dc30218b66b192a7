"""A compiled program: functions of blocks of instructions, and variables."""

from collections.abc import Mapping
from dataclasses import dataclass

from cltrace.kernels.ir.instructions import Instruction, Phi, Terminator
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.ir.types import Type


@dataclass(frozen=True, slots=True)
class SymbolAddress:
    """The address of a variable or function, plus an offset."""

    symbol: str
    offset_bytes: int = 0


ConstantValue = int | float | SymbolAddress | tuple["ConstantValue", ...]
"""A constant: a number, an address, or the elements of a vector, array or structure. Undefined values
are zero."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant that a function uses, with its slot."""

    slot: int
    type: Type
    value: ConstantValue


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function. `pointee` is the type that a `byval` pointer passes by value."""

    slot: int
    type: Type
    pointee: Type | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block. `phis` take their values on entry, all at the same time."""

    phis: tuple[Phi, ...]
    instructions: tuple[Instruction, ...]
    terminator: Terminator


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """Facts that the source declares of a kernel: one entry per argument, and its attributes."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    access: tuple[str, ...]
    qualifiers: tuple[str, ...]
    required_local_size: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Declaration:
    """Declaration of a function: its name and parameters. `kernel` is None if it is not a kernel."""

    name: str
    parameters: tuple[Parameter, ...]
    kernel: KernelFacts | None
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function. Control begins at its first block. `kernel` is None if it is not a kernel."""

    name: str
    parameters: tuple[Parameter, ...]
    blocks: tuple[Block, ...]
    constants: tuple[Constant, ...]
    slots: int
    """The number of slots: parameters, results and constants are numbered below it."""
    kernel: KernelFacts | None
    place: Place
    types: tuple[Type | None, ...] = ()
    """The type of each slot; None for slots that nothing defines."""

    def integer_constants(self) -> dict[int, int]:
        """Return the constants that are integers, by their slots."""
        return {item.slot: item.value for item in self.constants if isinstance(item.value, int)}


@dataclass(frozen=True, slots=True)
class Variable:
    """A program-scope variable, or a kernel's local variable. `value` is None without an initialiser."""

    name: str
    type: Type
    space: int
    value: ConstantValue | None
    alignment_bytes: int


@dataclass(frozen=True, slots=True)
class Module:
    """A compiled program. `declarations` and `functions` are read on demand."""

    declarations: Mapping[str, Declaration]
    functions: Mapping[str, Function]
    variables: Mapping[str, Variable]
