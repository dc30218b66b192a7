"""A compiled program: functions of blocks of instructions, and variables."""

from collections.abc import Mapping
from dataclasses import dataclass

from cltrace.kernels.ir.instructions import Instruction, Phi, Terminator
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.ir.types import Type


@dataclass(frozen=True, slots=True)
class SymbolAddress:
    """The address of a variable or function, and an offset from it."""

    symbol: str
    offset_bytes: int = 0


ConstantValue = int | float | SymbolAddress | tuple["ConstantValue", ...]
"""A constant: a number, an address, or the elements of a vector, array or structure. What is
undefined is zero."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant that a function uses, and its slot."""

    slot: int
    type: Type
    value: ConstantValue


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function. `pointee` is what a `byval` pointer points to: it is passed as that."""

    slot: int
    type: Type
    pointee: Type | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Straight code. `phis` take their values on the way in, all at once."""

    phis: tuple[Phi, ...]
    instructions: tuple[Instruction, ...]
    terminator: Terminator


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """What the source declares of a kernel, one entry an argument, and its attributes."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    access: tuple[str, ...]
    qualifiers: tuple[str, ...]
    required_local_size: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """What a function is called and takes. `kernel` is None where it is no kernel."""

    name: str
    parameters: tuple[Parameter, ...]
    kernel: KernelFacts | None
    place: Place


@dataclass(frozen=True, slots=True)
class Function:
    """A function. Control begins at its first block. `kernel` is None where it is no kernel."""

    name: str
    parameters: tuple[Parameter, ...]
    blocks: tuple[Block, ...]
    constants: tuple[Constant, ...]
    slots: int
    """How many slots there are: parameters, results and constants are numbered below it."""
    kernel: KernelFacts | None
    place: Place
    types: tuple[Type | None, ...] = ()
    """The type of each slot; None of slots that nothing defines."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the program's scope, or a local variable of a kernel. `value` is None for none."""

    name: str
    type: Type
    space: int
    value: ConstantValue | None
    alignment_bytes: int


@dataclass(frozen=True, slots=True)
class Module:
    """A compiled program. `functions` and `heads` are read when they are asked for."""

    heads: Mapping[str, Head]
    functions: Mapping[str, Function]
    variables: Mapping[str, Variable]
