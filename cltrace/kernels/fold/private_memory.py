"""Private variables that a GPU's compiler keeps in registers, and those that stay in memory.

A variable is in registers if the compiler knows the place of every access: a constant, a function of
the counters of loops that it unrolls wholly, or a place that comes back with each copy of a loop's body
(`last[k % 4]` where four trips are unrolled). Setting it to zeros and copying it to another memory as a
whole are accesses of its registers, and so are results that a built-in function writes through a pointer.
What it reads of a table, an array of constants that nothing else writes, it knows as well.
A variable whose address is used otherwise is in memory, with all its accesses. So counts one that a copy
of memory fills as a whole: a GPU's compiler reads it element by element, with a request for each.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.paths import reached_from
from cltrace.kernels.fold.periodic_values import find_periodic_values
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
from cltrace.kernels.ir.types import CONSTANT, PRIVATE, size_bytes
from cltrace.kernels.ir.uses import operands_of, result_of

_FILLS: Final = ("llvm.memset", "llvm.memcpy.p0.p2.")
"""Fills with a number, or with constants: those of an array's initialiser."""
_OF_WHOLE_ARRAYS: Final = ("llvm.memset", "llvm.memcpy", "llvm.memmove")
_MAX_REGISTER_BYTES: Final = 255 * 4
"""Registers of a work-item, which no array is larger than."""
_COMPUTED: Final = (Binary, Compare, Convert, Copy, Offset, Select)
_TO_NUMBERS: Final = frozenset({"ptrtoint", "ptrtoaddr"})


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
        values = _Values(kernel)
        self._variables = values.variables()
        whole = (number for number, loop in unrolled.items() if loop.is_whole)
        self._unknown = values.unknown(
            {kernel.graph.loops[number].header for number in whole},
            find_periodic_values(kernel, unrolled),
        )

    def sites(self) -> frozenset[int]:
        in_memory = {slot for item in self._instructions() for slot in self._kept_by(item)}
        in_memory |= {
            item.result
            for item in self._instructions()
            if isinstance(item, Allocate)
            and item.count * size_bytes(item.type) > _MAX_REGISTER_BYTES
        }
        return frozenset(
            site.number
            for site in self._kernel.sites
            if not in_memory.isdisjoint(self._variables.get(site.pointer, ()))
        )

    def _instructions(self) -> Iterator[Instruction]:
        for number in self._kernel.graph.order:
            yield from self._kernel.function.blocks[number].instructions

    def _kept_by(self, item: Instruction) -> Iterator[int]:
        """Yield the variables that an instruction keeps in memory."""
        match item:
            case Load() | Store() | Touch():
                if item.space == PRIVATE and item.pointer in self._unknown:
                    yield from self._variables.get(item.pointer, ())
                if isinstance(item, Store):
                    yield from self._variables.get(item.value, ())
            case Convert() if item.operator in _TO_NUMBERS:
                yield from self._variables.get(item.operand, ())
            case Call() if not item.callee.startswith("llvm.lifetime"):
                yield from self._kept_by_call(item)
            case _:
                pass

    def _kept_by_call(self, call: Call) -> Iterator[int]:
        """Yield the variables that a function keeps in memory, which a compiler inlines."""
        is_copied = call.callee.startswith(_OF_WHOLE_ARRAYS) and not call.callee.startswith(_FILLS)
        if is_copied:
            yield from self._variables.get(call.arguments[0], ())
        for argument in call.arguments:
            if argument in self._unknown:
                yield from self._variables.get(argument, ())


class _Values:
    """The values of a kernel, and what follows from them. Phis are values of the blocks they begin."""

    def __init__(self, kernel: PreparedKernel) -> None:
        self._constants = frozenset(item.slot for item in kernel.function.constants)
        self._instructions: list[Instruction] = []
        self._phis: list[tuple[int, Phi]] = []
        for number in kernel.graph.order:
            block = kernel.function.blocks[number]
            self._instructions += block.instructions
            self._phis += ((number, phi) for phi in block.phis)
        self._headers = frozenset(loop.header for loop in kernel.graph.loops)
        self._variables = self.variables()
        self._written = frozenset(
            variable
            for item in self._instructions
            for pointer in _written_pointers(item)
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

    def unknown(self, whole_headers: set[int], periodic: frozenset[int]) -> frozenset[int]:
        """Return the values that a compiler does not know when the loops of some headers are unrolled.

        It knows the periodic values.
        """
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
        return block in whole_headers or len(sources) == 1 or is_of_two_trips


def _written_pointers(item: Instruction) -> tuple[int, ...]:
    """Return the operands through which an instruction may write something else than an initialiser."""
    match item:
        case Store():
            return (item.pointer, item.value)
        case Call() if item.callee.startswith((*_FILLS, "llvm.lifetime")):
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
