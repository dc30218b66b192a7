"""The instructions of a function: a closed union of frozen records.

Operands are *slots*: numbers of values within a function. Parameters, results of instructions and
constants all have a slot. `place` is an instruction's location in the source.
"""

from dataclasses import dataclass
from enum import StrEnum

from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.ir.types import Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """`result = left operator right`, elementwise: LLVM's `add`, `fmul`, `ashr` and so on.

    `is_signed` is True if the result of signed numbers does not overflow (`nsw`), `is_approximate` if the
    program's options allow an approximation (`afn`).
    """

    __match_args__ = ("result", "operator", "type", "left", "right")

    result: int
    operator: str
    type: Type
    left: int
    right: int
    place: Place
    is_signed: bool = False
    is_approximate: bool = False


@dataclass(frozen=True, slots=True)
class Negate:
    """`result = -operand`, for floating-point numbers."""

    result: int
    type: Type
    operand: int
    place: Place


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison. `predicate` is LLVM's, such as `slt` or `oeq`; `type` is that of the operands."""

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


class CopyOrigin(StrEnum):
    """Operation that a copy replaces."""

    FREEZE = "freeze"
    READ = "read"
    """A read of a private variable."""
    WRITE = "write"
    """A write of a private variable."""


@dataclass(frozen=True, slots=True)
class Copy:
    """`result = operand`. A copy for a write of a private variable has no result (-1)."""

    result: int
    type: Type
    operand: int
    origin: CopyOrigin
    place: Place


@dataclass(frozen=True, slots=True)
class Load:
    """A read of memory. The address is a multiple of `alignment_bytes`, 0 if that is not known."""

    result: int
    type: Type
    pointer: int
    space: int
    place: Place
    alignment_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Store:
    """A write to memory. `alignment_bytes` is as for `Load`."""

    value: int
    type: Type
    pointer: int
    space: int
    place: Place
    alignment_bytes: int = 0


class Access(StrEnum):
    """Kind of a memory access."""

    READ = "read"
    WRITE = "write"
    ATOMIC = "atomic"


@dataclass(frozen=True, slots=True)
class Touch:
    """A memory access without a value: stands for a read, write or atomic whose value does not matter.

    `alignment_bytes` is as for `Load`.
    """

    access: Access
    type: Type
    pointer: int
    space: int
    place: Place
    alignment_bytes: int = 0


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle:
    """Elements of two vectors at constant positions; -1 stands for any value."""

    result: int
    type: Type
    left: int
    right: int
    left_count: int
    positions: tuple[int, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class ExtractValue:
    """A member of a structure or array value."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a function by its symbol in the IR. `result` is -1 where nothing is returned.

    `is_approximate` is True if the program's options allow an approximation of the result (`afn`).
    """

    __match_args__ = ("result", "type", "callee", "arguments", "argument_types", "place")

    result: int
    type: Type
    callee: str
    arguments: tuple[int, ...]
    argument_types: tuple[Type, ...]
    place: Place
    is_approximate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomicUpdate:
    """An atomic read-modify-write: LLVM's `atomicrmw`."""

    result: int
    operator: str
    type: Type
    pointer: int
    value: int
    space: int
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomicExchange:
    """An atomic compare-and-exchange: LLVM's `cmpxchg`. The result is the old value and a success bit."""

    result: int
    type: Type
    pointer: int
    expected: int
    value: int
    space: int
    place: Place


@dataclass(frozen=True, slots=True)
class Phi:
    """A value selected by the block that control comes from: pairs of a block and a slot."""

    result: int
    type: Type
    incoming: tuple[tuple[int, int], ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Jump:
    """An unconditional jump to a block.

    `keeps_loop` on a jump back to the header of a loop that is not unrolled, or not further: the program
    says so, or how far it is unrolled.
    """

    target: int
    place: Place
    keeps_loop: bool = False


@dataclass(frozen=True, slots=True)
class FallThrough:
    """A free transition to the next part of a block that was split."""

    target: int
    place: Place


@dataclass(frozen=True, slots=True)
class Branch:
    """A conditional branch to one of two blocks. `keeps_loop` as in `Jump`."""

    condition: int
    then: int
    otherwise: int
    place: Place
    keeps_loop: bool = False


@dataclass(frozen=True, slots=True)
class Switch:
    """A branch to the block of the case that equals `value`, else to `default`."""

    value: int
    type: Type
    default: int
    cases: tuple[tuple[int, int], ...]
    """Pairs of a constant and a block."""
    place: Place


@dataclass(frozen=True, slots=True)
class Return:
    """The return from a function. `value` is a slot, or -1."""

    value: int
    place: Place


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A point that control never reaches."""

    place: Place


@dataclass(frozen=True, slots=True)
class Unsupported:
    """An instruction that is not supported. It is an error only in a function that a kernel uses."""

    feature: str
    """The unsupported feature, in words."""
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
Terminator = Jump | FallThrough | Branch | Switch | Return | Unreachable


def successors(terminator: Terminator) -> tuple[int, ...]:
    """Return the blocks that control may go to, each once."""
    match terminator:
        case Jump(target) | FallThrough(target):
            return (target,)
        case Branch(_, then, otherwise):
            return (then, otherwise) if then != otherwise else (then,)
        case Switch(_, _, default, cases):
            return tuple(dict.fromkeys([default, *(block for _, block in cases)]))
        case Return() | Unreachable():
            return ()
