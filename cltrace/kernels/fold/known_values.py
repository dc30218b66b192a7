"""Values that a GPU's compiler knows once it has unrolled loops: constants in each copy of their bodies.

Read from a table, an array of constants that nothing writes, they are known as well.
"""

from collections.abc import Collection, Mapping
from typing import Final

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.paths import reached_from
from cltrace.kernels.fold.periodic_values import find_periodic_values
from cltrace.kernels.fold.unrolling import UnrolledLoop
from cltrace.kernels.ir.instructions import (
    Allocate,
    Binary,
    Branch,
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
from cltrace.kernels.ir.types import CONSTANT, PRIVATE
from cltrace.kernels.ir.uses import operands_of, result_of

FILLS: Final = ("llvm.memset", "llvm.memcpy.p0.p2.")
"""Fills with a number, or with constants: those of an array's initialiser."""
_COMPUTED: Final = (Binary, Compare, Convert, Copy, Offset, Select)


class KnownValues:
    """The values of a kernel, and which of them a compiler knows. Phis are values of their blocks."""

    def __init__(self, kernel: PreparedKernel) -> None:
        self._kernel = kernel
        self._constants = frozenset(item.slot for item in kernel.function.constants)
        self._instructions: list[Instruction] = []
        self._phis: list[tuple[int, Phi]] = []
        for number in kernel.graph.order:
            block = kernel.function.blocks[number]
            self._instructions += block.instructions
            self._phis += ((number, phi) for phi in block.phis)
        self._block_of = {
            result_of(item): number
            for number in kernel.graph.order
            for item in kernel.function.blocks[number].instructions
        }
        self._headers = frozenset(loop.header for loop in kernel.graph.loops)
        self._variables = self.variables()
        self._written = frozenset(
            variable
            for item in self._instructions
            for pointer in written_pointers(item)
            for variable in self._variables.get(pointer, ())
        )

    def variables(self) -> Mapping[int, frozenset[int]]:
        """Return the private variables that pointers may point into."""
        derived: dict[int, list[int]] = {}
        for item in self._instructions:
            for source in _pointers(item):
                derived.setdefault(source, []).append(result_of(item))
        for _, phi in self._phis:
            for _, source in phi.incoming:
                derived.setdefault(source, []).append(phi.result)
        into: dict[int, set[int]] = {}
        for item in self._instructions:
            if isinstance(item, Allocate):
                for slot in reached_from([item.result], derived):
                    into.setdefault(slot, set()).add(item.result)
        return {slot: frozenset(variables) for slot, variables in into.items()}

    def unknown(self, unrolled: Mapping[int, UnrolledLoop]) -> frozenset[int]:
        """Return the values that a compiler does not know once it has unrolled some loops, by number."""
        whole_headers = {
            self._kernel.graph.loops[number].header
            for number, loop in unrolled.items()
            if loop.is_whole
        }
        periodic = find_periodic_values(self._kernel, unrolled)
        users: dict[int, list[int]] = {}
        begins: list[int] = []
        defined = set(self._constants)
        for item in self._instructions:
            result = result_of(item)
            defined.add(result)
            sources = self._computed_from(item)
            if not sources and not isinstance(item, Allocate):
                begins.append(result)
            for operand in () if result in periodic else sources:
                users.setdefault(operand, []).append(result)
        for block, phi in self._phis:
            defined.add(phi.result)
            for _, source in phi.incoming:
                users.setdefault(source, []).append(phi.result)
            if not self._is_known(block, phi, whole_headers):
                begins.append(phi.result)
        begins += users.keys() - defined
        return frozenset(reached_from(begins, users))

    def computed_with(self, slots: Collection[int]) -> frozenset[int]:
        """Return the values that a kernel computes with some, step by step: not what it reads at them."""
        users: dict[int, list[int]] = {}
        for item in self._instructions:
            for operand in () if isinstance(item, Load) else operands_of(item):
                users.setdefault(operand, []).append(result_of(item))
        for _, phi in self._phis:
            for _, source in phi.incoming:
                users.setdefault(source, []).append(phi.result)
        return frozenset(reached_from(slots, users))

    def _computed_from(self, item: Instruction) -> tuple[int, ...]:
        """Return the operands from which a compiler that knows them computes an instruction's result."""
        if isinstance(item, _COMPUTED):
            return tuple(operands_of(item))
        return (item.pointer,) if isinstance(item, Load) and self._is_of_table(item) else ()

    def _is_of_table(self, load: Load) -> bool:
        """Return True for a read of constants: of the program, or of a private variable's initialiser.

        Pointers to constant memory that are arguments are not known, so nor is what is read through them.
        """
        variables = self._variables.get(load.pointer, frozenset())
        is_unchanged = bool(variables) and variables.isdisjoint(self._written)
        return load.space == CONSTANT or (load.space == PRIVATE and is_unchanged)

    def _is_known(self, block: int, phi: Phi, whole_headers: set[int]) -> bool:
        """Return True for a phi that is known if its incoming values are.

        A loop of two trips has no counter: its phi is one of two constants.
        """
        sources = {source for _, source in phi.incoming}
        is_of_two_trips = block in self._headers and sources <= self._constants
        is_single = len(sources) == 1 or self._is_unswitched(block, phi)
        return block in whole_headers or is_single or is_of_two_trips

    def _is_unswitched(self, block: int, phi: Phi) -> bool:
        """Return True for a phi that a condition from outside of its loop decides.

        A compiler makes a loop for either value of such a condition, as of the test before an inner loop.
        """
        graph = self._kernel.graph
        loop = graph.loop_of[block]
        if loop < 0 or block in self._headers or len(phi.incoming) != 2:
            return False
        inside = graph.loops[loop].blocks
        # An inner loop comes to the phi by its last test, which decides nothing else.
        ends = [
            self._kernel.function.blocks[number].terminator
            for number, _ in phi.incoming
            if graph.loop_of[number] == loop
        ]
        conditions = [branch.condition for branch in ends if isinstance(branch, Branch)]
        return bool(conditions) and all(
            self._block_of.get(condition, block) not in inside for condition in conditions
        )


def written_pointers(item: Instruction) -> tuple[int, ...]:
    """Return the operands through which an instruction may write something else than an initialiser."""
    match item:
        case Store():
            return (item.pointer, item.value)
        case Call() if item.callee.startswith((*FILLS, "llvm.lifetime")):
            return ()
        case Load() | Convert() | Copy() | Offset() | Select() | Touch():
            return ()
        case _:
            return tuple(operands_of(item))


def _pointers(item: Instruction) -> tuple[int, ...]:
    """Return the operands of an instruction whose result may point where they point."""
    match item:
        case Offset():
            return (item.pointer,)
        case Copy() | Convert():
            return (item.operand,)
        case Select():
            return (item.left, item.right)
        case _:
            return ()
