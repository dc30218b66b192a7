"""Private variables that a GPU's compiler keeps in registers, and those that stay in memory.

A variable is in registers if the compiler knows the place of every access: a constant, or a function of
the counters of loops that it unrolls wholly. A variable that is copied as a whole, or whose address is
used otherwise, is in memory, with all its accesses.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.unrolling import UnrolledLoop
from cltrace.kernels.ir.instructions import (
    Allocate,
    Binary,
    Call,
    Compare,
    Convert,
    Copy,
    Instruction,
    Load,
    Offset,
    Phi,
    Select,
    Store,
    Touch,
)
from cltrace.kernels.ir.types import PRIVATE
from cltrace.kernels.ir.uses import operands_of, result_of

_COMPUTED: Final = (Binary, Compare, Convert, Copy, Offset, Select)


def find_private_memory_sites(
    kernel: PreparedKernel, unrolled: Mapping[int, UnrolledLoop]
) -> frozenset[int]:
    """Return the numbers of the sites that access private variables in memory."""
    if not kernel.private:
        return frozenset()
    return _PrivateMemory(kernel, unrolled).sites()


class _PrivateMemory:
    def __init__(self, kernel: PreparedKernel, unrolled: Mapping[int, UnrolledLoop]) -> None:
        self._kernel = kernel
        self._defined: dict[int, Instruction | Phi] = {}
        for number in kernel.graph.order:
            block = kernel.function.blocks[number]
            self._defined |= {result_of(item): item for item in block.instructions}
            self._defined |= {phi.result: phi for phi in block.phis}
        counters = {
            slot
            for loop in unrolled.values()
            if loop.is_whole
            for slot, _ in loop.evolution.loop.affine
        }
        self._fixed = {item.slot: True for item in kernel.function.constants}
        self._fixed |= dict.fromkeys(counters, True)

    def sites(self) -> frozenset[int]:
        in_memory = {slot for item in self._instructions() for slot in self._kept_by(item)}
        return frozenset(
            site.number
            for site in self._kernel.sites
            if not in_memory.isdisjoint(self._variables(site.pointer))
        )

    def _instructions(self) -> Iterator[Instruction]:
        for number in self._kernel.graph.order:
            yield from self._kernel.function.blocks[number].instructions

    def _kept_by(self, item: Instruction) -> Iterator[int]:
        """Yield the variables that an instruction keeps in memory."""
        match item:
            case Load() | Store() | Touch():
                if item.space == PRIVATE and not self._is_fixed(item.pointer):
                    yield from self._variables(item.pointer)
            case Call() if not item.callee.startswith("llvm.lifetime"):
                for argument in item.arguments:
                    yield from self._variables(argument)
            case _:
                pass

    def _variables(self, pointer: int, seen: frozenset[int] = frozenset()) -> frozenset[int]:
        """Return the variables that a pointer may point into."""
        item = self._defined.get(pointer)
        if isinstance(item, Allocate):
            return frozenset({pointer})
        if pointer in seen or not isinstance(item, Offset | Copy | Convert | Select | Phi):
            return frozenset()
        sources = (
            [slot for _, slot in item.incoming] if isinstance(item, Phi) else operands_of(item)
        )
        inner = seen | {pointer}
        return frozenset().union(*(self._variables(slot, inner) for slot in sources))

    def _is_fixed(self, slot: int) -> bool:
        """Return True if the compiler knows a value when all whole loops are unrolled.

        A loop of two trips has no counter: its phis select one of two constants.
        """
        is_fixed = self._fixed.get(slot)
        if is_fixed is None:
            self._fixed[slot] = False
            item = self._defined.get(slot)
            is_fixed = isinstance(item, Allocate)
            if isinstance(item, Phi):
                is_fixed = all(self._is_fixed(value) for _, value in item.incoming)
            elif isinstance(item, _COMPUTED):
                is_fixed = all(map(self._is_fixed, operands_of(item)))
            self._fixed[slot] = is_fixed
        return is_fixed
