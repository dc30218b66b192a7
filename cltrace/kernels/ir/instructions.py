"""The instructions of a function: a closed union of frozen records.

Operands are *slots*: numbers of values within a function. Parameters, results of instructions and
constants all have one. `place` is where in the source it comes from.
"""

from dataclasses import dataclass
from enum import StrEnum

from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.ir.types import Type


@dataclass(frozen=True, slots=True)
class Binary:
    """`result = left operator right`, elementwise: LLVM's `add`, `fmul`, `ashr` and so on."""

    result: int
    operator: str
    type: Type
    left: int
    right: int
    place: Place


@dataclass(frozen=True, slots=True)
class Negate:
    """`result = -operand` of floating-point numbers."""

    result: int
    type: Type
    operand: int
    place: Place


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison: `predicate` is LLVM's, such as `slt` or `oeq`; `type` that of the operands."""

    result: int
    predicate: str
    type: Type
    left: int
    right: int
    place: Place


@dataclass(frozen=True, slots=True)
class Convert:
    """A conversion: LLVM's `trunc`, `sitofp`, `bitcast`, `addrspacecast` and so on."""

    result: int
    operator: str
    source: Type
    type: Type
    operand: int
    place: Place


@dataclass(frozen=True, slots=True)
class Select:
    """`result = condition ? left : right`, elementwise where `condition` is a vector."""

    result: int
    type: Type
    condition: int
    left: int
    right: int
    place: Place


class CopyOf(StrEnum):
    """What a copy stands for."""

    FREEZE = "freeze"
    READ = "read"
    """Of a private variable."""
    WRITE = "write"
    """To a private variable."""


@dataclass(frozen=True, slots=True)
class Copy:
    """`result = operand`. A write to a private variable has no result (-1)."""

    result: int
    type: Type
    operand: int
    stands_for: CopyOf
    place: Place


@dataclass(frozen=True, slots=True)
class Load:
    """A read of memory."""

    result: int
    type: Type
    pointer: int
    space: int
    place: Place


@dataclass(frozen=True, slots=True)
class Store:
    """A write to memory."""

    value: int
    type: Type
    pointer: int
    space: int
    place: Place


class Access(StrEnum):
    """What an access does with memory."""

    READ = "read"
    WRITE = "write"
    ATOMIC = "atomic"


@dataclass(frozen=True, slots=True)
class Touch:
    """An access whose value does not matter: what is left of it where only accesses are counted."""

    access: Access
    type: Type
    pointer: int
    space: int
    place: Place


@dataclass(frozen=True, slots=True)
class Allocate:
    """A private variable of `count` elements; `result` is its address."""

    result: int
    type: Type
    count: int
    place: Place


@dataclass(frozen=True, slots=True)
class Offset:
    """`result = pointer + constant_bytes + sum(index * stride_bytes)`: LLVM's `getelementptr`."""

    result: int
    pointer: int
    constant_bytes: int
    terms: tuple[tuple[int, int], ...]
    """Pairs of an index's slot and its stride in bytes."""
    index_types: tuple[Type, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class ExtractElement:
    """An element of a vector, at an index that is a slot."""

    result: int
    type: Type
    vector: int
    index: int
    place: Place


@dataclass(frozen=True, slots=True)
class InsertElement:
    """A vector with one element replaced, at an index that is a slot."""

    result: int
    type: Type
    vector: int
    element: int
    index: int
    place: Place


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Elements of two vectors by constant position; -1 is any value."""

    result: int
    type: Type
    left: int
    right: int
    left_count: int
    positions: tuple[int, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class ExtractValue:
    """A member of a structure or array that is a value."""

    result: int
    type: Type
    aggregate: int
    path: tuple[int, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class InsertValue:
    """A structure or array value with one member replaced."""

    result: int
    type: Type
    aggregate: int
    element: int
    path: tuple[int, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function, by its name as the IR has it. `result` is -1 where nothing is returned."""

    result: int
    type: Type
    callee: str
    arguments: tuple[int, ...]
    argument_types: tuple[Type, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class AtomicUpdate:
    """An atomic read-modify-write: LLVM's `atomicrmw`."""

    result: int
    operator: str
    type: Type
    pointer: int
    value: int
    space: int
    place: Place


@dataclass(frozen=True, slots=True)
class AtomicExchange:
    """An atomic compare-and-exchange: LLVM's `cmpxchg`. The result is the old value and success."""

    result: int
    type: Type
    pointer: int
    expected: int
    value: int
    space: int
    place: Place


@dataclass(frozen=True, slots=True)
class Phi:
    """A value by the block that control comes from: pairs of a block and a slot."""

    result: int
    type: Type
    incoming: tuple[tuple[int, int], ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Jump:
    """Control goes on at a block."""

    target: int
    place: Place


@dataclass(frozen=True, slots=True)
class Fall:
    """Control goes on at a block that was one with this before it was split. It costs nothing."""

    target: int
    place: Place


@dataclass(frozen=True, slots=True)
class Branch:
    """Control goes on at one of two blocks."""

    condition: int
    then: int
    otherwise: int
    place: Place


@dataclass(frozen=True, slots=True)
class Switch:
    """Control goes on at the block of the case that equals `value`, else at `default`."""

    value: int
    type: Type
    default: int
    cases: tuple[tuple[int, int], ...]
    """Pairs of a constant and a block."""
    place: Place


@dataclass(frozen=True, slots=True)
class Return:
    """The end of a function. `value` is a slot, or -1."""

    value: int
    place: Place


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Where control never comes."""

    place: Place


@dataclass(frozen=True, slots=True)
class Unsupported:
    """What is not supported, in words. It is an error only in a function that a kernel uses."""

    what: str
    place: Place


Instruction = (
    Binary
    | Negate
    | Compare
    | Convert
    | Select
    | Copy
    | Load
    | Store
    | Touch
    | Allocate
    | Offset
    | ExtractElement
    | InsertElement
    | Shuffle
    | ExtractValue
    | InsertValue
    | Call
    | AtomicUpdate
    | AtomicExchange
    | Unsupported
)
Terminator = Jump | Fall | Branch | Switch | Return | Unreachable


def successors(terminator: Terminator) -> tuple[int, ...]:
    """The blocks at which control may go on, each once."""
    match terminator:
        case Jump(target) | Fall(target):
            return (target,)
        case Branch(_, then, otherwise):
            return (then, otherwise) if then != otherwise else (then,)
        case Switch(_, _, default, cases):
            return tuple(dict.fromkeys([default, *(block for _, block in cases)]))
        case Return() | Unreachable():
            return ()
