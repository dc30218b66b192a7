"""A kernel without what only computes results: what is left decides control and accesses.

Counting needs no values of data. What computes them is taken out before execution; reads and writes of
which the value does not matter become touches of memory.
"""

from dataclasses import replace

from cltrace.kernels.flow.dependencies import ANYWHERE, Dependencies, Root
from cltrace.kernels.flow.inlining import gathers
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


def reduced(function: Function, dependencies: Dependencies) -> Function:
    """The same function, without what decides neither control nor which memory is accessed."""
    slots, contents = dependencies.deciding
    reduction = _Reduction(dependencies, slots, contents)
    blocks = tuple(
        Block(
            tuple(phi for phi in block.phis if phi.result in reduction.slots),
            tuple(
                kept for item in block.instructions if (kept := reduction.kept(item)) is not None
            ),
            block.terminator,
        )
        for block in function.blocks
    )
    return replace(function, blocks=blocks)


class _Reduction:
    def __init__(
        self, dependencies: Dependencies, slots: frozenset[int], contents: frozenset[Root]
    ) -> None:
        self.slots = slots
        self._contents = contents
        self._dependencies = dependencies

    def kept(self, item: Instruction) -> Instruction | None:
        """What is left of an instruction."""
        match item:
            case Load() | Store() | AtomicUpdate() | AtomicExchange():
                return self._memory(item)
            case Call():
                return item if self._matters(item) else None
            case Allocate() | Unsupported():
                return item
            case _:
                return item if result_of(item) in self.slots else None

    def _matters(self, call: Call) -> bool:
        """Calls that touch memory, or at which lanes wait, stay whatever becomes of their result."""
        if call.result in self.slots or gathers(call.callee) or call.result < 0:
            return True
        return any(
            not hasattr(kind, "bits") and not _is_vector(kind) for kind in call.argument_types
        )

    def _memory(self, item: _Memory) -> Instruction:
        written = self._dependencies.writes(item)
        if result_of(item) in self.slots or not self._contents.isdisjoint(written):
            return item
        if self._contents and ANYWHERE in written | self._contents and written:
            return item
        match item:
            case Load():
                access = Access.READ
            case Store():
                access = Access.WRITE
            case _:
                access = Access.ATOMIC
        return Touch(access, item.type, item.pointer, item.space, item.place)


def _is_vector(kind: object) -> bool:
    element = getattr(kind, "element", None)
    return hasattr(element, "bits")
