"""Sizes of the bodies of loops, as a GPU's compiler weighs them to decide how far it unrolls."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.canonical_loops import CanonicalLoop
from cltrace.kernels.fold.loop_evolution import Evolution, LoopEvolution, is_pure
from cltrace.kernels.ir.instructions import (
    Branch,
    Call,
    Convert,
    Instruction,
    Offset,
    Switch,
    Terminator,
)
from cltrace.kernels.ir.uses import result_of

_PRODUCT: Final = "fmuladd"


class CopiedLoop(Protocol):
    """A loop with several copies of its body."""

    @property
    def trips(self) -> int:
        """The copies of its body."""

    @property
    def evolution(self) -> LoopEvolution:
        """The evolution of its values from trip to trip."""


class LoopSizes:
    """Sizes of the loops of a kernel, with the loops in them as far unrolled as `unrolled` says."""

    def __init__(self, kernel: PreparedKernel, unrolled: Mapping[int, CopiedLoop]) -> None:
        self._kernel = kernel
        self._unrolled = unrolled

    def of_trip(self, evolution: LoopEvolution) -> float:
        """Return the size of a trip of a loop, without its counting and testing."""
        return self._size(evolution, Evolution.CONSTANT, _size_in_part)

    def of_known_trip(self, evolution: LoopEvolution) -> float:
        """Return the size of a trip whose number is known: what advances with it is a constant then."""
        return self._size(evolution, Evolution.CONSTANT_STRIDE, _size_of_whole)

    def _size(
        self,
        evolution: LoopEvolution,
        constant: Evolution,
        size_of: Callable[[Instruction | Terminator], float],
    ) -> float:
        """Return the size of what a trip computes beside values that evolve like `constant`."""
        return sum(
            self._copies(block, evolution)
            * sum(map(size_of, self._kept(block, evolution, constant)))
            for block in evolution.blocks
        )

    def _kept(
        self, block: int, evolution: LoopEvolution, constant: Evolution
    ) -> Iterator[Instruction | Terminator]:
        own = self._unrolled.get(self._kernel.graph.loop_of[block])
        forms = [evolution.loop, *([own.evolution.loop] if own is not None else [])]
        body = self._kernel.function.blocks[block]
        for item in (*body.instructions, body.terminator):
            if any(is_loop_control(item, form) for form in forms):
                continue
            if isinstance(item, Terminator) or not _is_constant(item, evolution, constant):
                yield item

    def _copies(self, block: int, evolution: LoopEvolution) -> int:
        """Return the copies of a block in a trip of a loop."""
        graph, copies = self._kernel.graph, 1
        loop = graph.loop_of[block]
        while loop != evolution.loop.number:
            copies *= self._unrolled[loop].trips if loop in self._unrolled else 1
            loop = graph.loops[loop].parent
        return copies


def _is_constant(item: Instruction, evolution: LoopEvolution, constant: Evolution) -> bool:
    result = result_of(item)
    return result >= 0 and is_pure(item) and evolution.of(result) <= constant


def is_loop_control(item: Instruction | Terminator, loop: CanonicalLoop) -> bool:
    """Return True for an instruction of a loop's counting, comparing and branching."""
    tests = loop.tests
    if isinstance(item, Branch):
        return item.condition in tests
    is_step = any(result_of(item) == following for _, following in loop.affine)
    return is_step or result_of(item) in tests


def _size_of_whole(item: Instruction | Terminator) -> float:
    """Return the instructions of a GPU's compiler for one of clang's."""
    if isinstance(item, Branch | Switch):
        return 1.0
    return 0.0 if isinstance(item, Terminator | Convert) else 1.0


def _size_in_part(item: Instruction | Terminator) -> float:
    """Return the same where not all trips are copied: addresses are computed, products stand apart."""
    is_product = isinstance(item, Call) and base_name(demangle(item.callee)).endswith(_PRODUCT)
    return 2.0 if is_product or isinstance(item, Offset) else _size_of_whole(item)
