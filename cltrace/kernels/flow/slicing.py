"""Reduction of a kernel to the slice that decides control flow and memory accesses.

Counting needs no values of data. Instructions that only compute data are removed before execution.
Reads and writes whose value does not matter become `Touch` instructions.
"""

from dataclasses import replace

from cltrace.kernels.flow.dependencies import UNKNOWN_ROOT, DataDependencies, Root
from cltrace.kernels.flow.inlining import is_synchronising
from cltrace.kernels.ir.instructions import (
    Access,
    Allocate,
    AtomicExchange,
    AtomicUpdate,
    Call,
    Instruction,
    Load,
    Store,
    Touch,
    Unsupported,
)
from cltrace.kernels.ir.module import Block, Function
from cltrace.kernels.ir.uses import result_of

_Memory = Load | Store | AtomicUpdate | AtomicExchange


def reduce_to_slice(function: Function, dependencies: DataDependencies) -> Function:
    """Return the function without instructions that affect neither branches nor addresses."""
    slots, contents = dependencies.control_slice
    reduction = _Reduction(dependencies, slots, contents)
    blocks = tuple(
        Block(
            tuple(phi for phi in block.phis if phi.result in reduction.slots),
            tuple(
                remainder
                for item in block.instructions
                if (remainder := reduction.reduce(item)) is not None
            ),
            block.terminator,
        )
        for block in function.blocks
    )
    return replace(function, blocks=blocks)


class _Reduction:
    """Reduction of instructions to a slice: slots, and roots whose contents matter."""

    def __init__(
        self, dependencies: DataDependencies, slots: frozenset[int], contents: frozenset[Root]
    ) -> None:
        self.slots = slots
        self._contents = contents
        self._dependencies = dependencies

    def reduce(self, item: Instruction) -> Instruction | None:
        """Return what the slice keeps of an instruction: the same, a `Touch`, or None."""
        match item:
            case Load() | Store() | AtomicUpdate() | AtomicExchange():
                return self._reduce_access(item)
            case Call():
                return item if self._is_needed(item) else None
            case Allocate() | Unsupported():
                return item
            case _:
                return item if result_of(item) in self.slots else None

    def _is_needed(self, call: Call) -> bool:
        """Return whether a call stays: its result is needed, it accesses memory, or lanes wait at it."""
        if call.result in self.slots or is_synchronising(call.callee) or call.result < 0:
            return True
        return any(
            not hasattr(kind, "bits") and not _is_vector(kind) for kind in call.argument_types
        )

    def _reduce_access(self, item: _Memory) -> Instruction:
        written = self._dependencies.writes(item)
        if result_of(item) in self.slots or not self._contents.isdisjoint(written):
            return item
        if self._contents and UNKNOWN_ROOT in written | self._contents and written:
            return item
        match item:
            case Load():
                access = Access.READ
            case Store():
                access = Access.WRITE
            case _:
                return Touch(Access.ATOMIC, item.type, item.pointer, item.space, item.place)
        return Touch(access, item.type, item.pointer, item.space, item.place, item.alignment_bytes)


def _is_vector(kind: object) -> bool:
    element = getattr(kind, "element", None)
    return hasattr(element, "bits")
