"""Private variables that a compiler keeps in registers, and those that stay in memory.

On a GPU, a variable is in registers if the compiler knows the place of every access: a constant, a
function of the counters of loops that it unrolls wholly, or a place that comes back with each copy of a
loop's body (`last[k % 4]` where four trips are unrolled). Setting it to zeros and copying it to another
memory as a whole are accesses of its registers, and so are results that a built-in function writes
through a pointer. What it reads of a table, an array of constants that nothing else writes, it knows too.
Small variables are in registers wherever they are accessed (`selected_places`).
A variable whose address is used otherwise is in memory, with all its accesses. So counts one that a copy
of memory fills as a whole: a GPU's compiler reads it element by element, with a request for each.
On a CPU, none is in registers that has an access at a place that is not known, or more elements than
there are registers.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.known_values import FILLS, KnownValues
from cltrace.kernels.fold.selected_places import counters, keeps_in_registers, selections
from cltrace.kernels.fold.unrolling import UnrolledLoop
from cltrace.kernels.ir.instructions import (
    Allocate,
    Call,
    Convert,
    Instruction,
    Load,
    Store,
    Touch,
)
from cltrace.kernels.ir.types import PRIVATE, ArrayType, Type, size_bytes

_OF_WHOLE_ARRAYS: Final = ("llvm.memset", "llvm.memcpy", "llvm.memmove")
_MAX_REGISTER_BYTES: Final = 255 * 4
"""Registers of a work-item, which no array is larger than."""
_PROCESSOR_REGISTERS: Final = 16
"""Vector registers of a processor, each of which holds an element of an array."""
_TO_NUMBERS: Final = frozenset({"ptrtoint", "ptrtoaddr"})


@dataclass(frozen=True, slots=True)
class PrivateVariables:
    """The private variables of a kernel, by where a GPU's compiler keeps them.

    `memory` are the numbers of the sites that access them in memory, `selections` the numbers of
    selections of accesses to registers at places that are not known, by pointer.
    """

    memory: frozenset[int] = frozenset()
    selections: Mapping[int, int] = field(default_factory=dict)


def find_private_variables(
    kernel: PreparedKernel, unrolled: Mapping[int, UnrolledLoop]
) -> PrivateVariables:
    """Return where the private variables of a kernel are."""
    if not kernel.private:
        return PrivateVariables()
    return _PrivateMemory(kernel, unrolled).found()


def find_memory_of_processors(
    kernel: PreparedKernel, unrolled: Mapping[int, UnrolledLoop]
) -> frozenset[int]:
    """Return the sites of the private variables that a CPU's compiler keeps in memory.

    It selects no registers by number, and has few of them.
    """
    return _PrivateMemory(kernel, unrolled).of_processors()


class _PrivateMemory:
    def __init__(self, kernel: PreparedKernel, unrolled: Mapping[int, UnrolledLoop]) -> None:
        self._kernel = kernel
        self._unrolled = unrolled
        self._values = KnownValues(kernel)
        self._variables = self._values.variables()
        self._unknown = self._values.unknown(unrolled)

    def found(self) -> PrivateVariables:
        allocated = {
            item.result: item for item in self._instructions() if isinstance(item, Allocate)
        }
        in_memory = {slot for item in self._instructions() for slot in self._kept_by(item)}
        at_unknown: dict[int, list[Instruction]] = {}
        for item in self._instructions():
            for slot in self._at_unknown_place(item):
                at_unknown.setdefault(slot, []).append(item)
        not_selected = in_memory | self._in_many_copies() if at_unknown else in_memory
        selected = {
            slot: allocated[slot]
            for slot, accesses in at_unknown.items()
            if slot not in not_selected and keeps_in_registers(allocated[slot], accesses)
        }
        in_memory |= at_unknown.keys() - selected.keys()
        in_memory |= {
            slot
            for slot, item in allocated.items()
            if item.count * size_bytes(item.type) > _MAX_REGISTER_BYTES
        }
        sites = self._sites_of(in_memory)
        unknown = {
            slot: self._variables.get(slot, frozenset())
            for slot in self._variables.keys() & self._unknown
        }
        return PrivateVariables(sites, selections(unknown, selected))

    def of_processors(self) -> frozenset[int]:
        """Return the sites of the variables that a CPU has in memory."""
        items = list(self._instructions())
        in_memory = {slot for item in items for slot in self._kept_by(item)}
        in_memory |= {slot for item in items for slot in self._at_unknown_place(item)}
        in_memory |= {
            item.result
            for item in items
            if isinstance(item, Allocate) and _elements(item) > _PROCESSOR_REGISTERS
        }
        return self._sites_of(in_memory)

    def _sites_of(self, variables: Set[int]) -> frozenset[int]:
        """Return the sites that access one of several variables."""
        return frozenset(
            site.number
            for site in self._kernel.sites
            if not variables.isdisjoint(self._variables.get(site.pointer, ()))
        )

    def _instructions(self) -> Iterator[Instruction]:
        for number in self._kernel.graph.order:
            yield from self._kernel.function.blocks[number].instructions

    def _at_unknown_place(self, item: Instruction) -> Iterator[int]:
        """Yield the variables that an instruction accesses at a place that is not known."""
        if isinstance(item, Load | Store | Touch):
            is_private = item.space == PRIVATE
            if is_private and item.pointer in self._unknown:
                yield from self._variables.get(item.pointer, ())

    def _in_many_copies(self) -> frozenset[int]:
        """Return the variables with accesses at unknown places that no counter of their loop decides.

        NVIDIA's assembler unrolls a loop again whose counter only counts, and keeps no variable of so
        many accesses in registers. Loops that are not unrolled are taken for such.
        """
        graph, found = self._kernel.graph, set[int]()
        for number in graph.order:
            loop = graph.loop_of[number]
            unrolled = self._unrolled.get(loop)
            if loop < 0 or (unrolled is not None and unrolled.is_whole):
                continue
            decided = self._values.computed_with(counters(unrolled)) if unrolled else frozenset()
            for item in self._kernel.function.blocks[number].instructions:
                if isinstance(item, Load | Store) and item.pointer not in decided:
                    found.update(self._at_unknown_place(item))
        return frozenset(found)

    def _kept_by(self, item: Instruction) -> Iterator[int]:
        """Yield the variables that an instruction keeps in memory."""
        match item:
            case Store():
                yield from self._variables.get(item.value, ())
            case Convert() if item.operator in _TO_NUMBERS:
                yield from self._variables.get(item.operand, ())
            case Call() if not item.callee.startswith("llvm.lifetime"):
                yield from self._kept_by_call(item)
            case _:
                pass

    def _kept_by_call(self, call: Call) -> Iterator[int]:
        """Yield the variables that a function keeps in memory, which a compiler inlines."""
        is_copied = call.callee.startswith(_OF_WHOLE_ARRAYS) and not call.callee.startswith(FILLS)
        if is_copied:
            yield from self._variables.get(call.arguments[0], ())
        for argument in call.arguments:
            if argument in self._unknown:
                yield from self._variables.get(argument, ())


def _elements(variable: Allocate) -> int:
    """Return the elements of a variable, those of its arrays counted one by one."""
    kind: Type = variable.type
    count = variable.count
    while isinstance(kind, ArrayType):
        count *= kind.count
        kind = kind.element
    return count
