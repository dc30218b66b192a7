"""What decides where control goes and which memory is accessed.

A question answered backwards on the values of a kernel without running it: which parameters and which
contents of memory reach a branch or an address? Those make a configuration; a changing time-step does
not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cltrace.kernels.builtins.function_kinds import is_work_item_function
from cltrace.kernels.builtins.mangling import base_name, demangled
from cltrace.kernels.builtins.table import find_builtin
from cltrace.kernels.flow.loops import Graph
from cltrace.kernels.ir.instructions import (
    Allocate,
    AtomicExchange,
    AtomicUpdate,
    Branch,
    Call,
    Instruction,
    Load,
    Offset,
    Store,
    Switch,
)
from cltrace.kernels.ir.module import Function, SymbolAddress
from cltrace.kernels.ir.types import PointerType
from cltrace.kernels.ir.uses import operands_of, result_of

Root = int | str
"""What an address is based on: the number of a parameter, `@name`, or `%slot` of a private variable."""
ANYWHERE: Root = "?"
"""The root of an address that was read from memory."""


@dataclass(frozen=True, slots=True)
class Reaching:
    """What decides control and addresses: numbers of parameters, and roots whose contents do."""

    parameters: frozenset[int]
    contents: frozenset[Root]


class Dependencies:
    """The dependencies among the values of a kernel."""

    def __init__(self, function: Function, graph: Graph) -> None:
        self.function = function
        self.graph = graph
        self.instructions = [
            (number, instruction)
            for number in graph.order
            for instruction in function.blocks[number].instructions
        ]
        self._parameters = {item.slot: index for index, item in enumerate(function.parameters)}

    @cached_property
    def roots(self) -> Mapping[int, frozenset[Root]]:
        """What each slot that may be an address is based on."""
        found: dict[int, frozenset[Root]] = {}
        for slot, index in self._parameters.items():
            found[slot] = frozenset({index})
        for constant in self.function.constants:
            if isinstance(constant.value, SymbolAddress):
                found[constant.slot] = frozenset({f"@{constant.value.symbol}"})
        changed = True
        while changed:
            changed = False
            for slot, new in self._root_rules(found):
                old = found.get(slot, frozenset())
                if not new <= old:
                    found[slot] = old | new
                    changed = True
        return found

    def _root_rules(
        self, found: Mapping[int, frozenset[Root]]
    ) -> Iterable[tuple[int, frozenset[Root]]]:
        none: frozenset[Root] = frozenset()
        for number in self.graph.order:
            for phi in self.function.blocks[number].phis:
                parts = [found.get(value, none) for _, value in phi.incoming]
                yield phi.result, none.union(*parts)
        for _, instruction in self.instructions:
            result = result_of(instruction)
            if result >= 0:
                yield result, _based_on(instruction, found)

    def reads(self, instruction: Instruction) -> frozenset[Root]:
        """The roots whose contents an instruction may return."""
        match instruction:
            case Load() | AtomicUpdate() | AtomicExchange():
                return self.roots.get(instruction.pointer, frozenset({ANYWHERE}))
            case Call():
                return self._pointed(instruction)
            case _:
                return frozenset()

    def writes(self, instruction: Instruction) -> frozenset[Root]:
        """The roots whose contents an instruction may change; `ANYWHERE` stands for all."""
        match instruction:
            case Store() | AtomicUpdate() | AtomicExchange():
                return self.roots.get(instruction.pointer, frozenset({ANYWHERE}))
            case Call():
                return self._pointed(instruction)
            case _:
                return frozenset()

    def _pointed(self, call: Call) -> frozenset[Root]:
        parts = [
            self.roots.get(slot, frozenset())
            for slot, kind in zip(call.arguments, call.argument_types, strict=True)
            if not hasattr(kind, "bits")
        ]
        found: frozenset[Root] = frozenset()
        return found.union(*parts)

    def _sources(self) -> tuple[set[int], set[int]]:
        """The slots that are addresses, and those that branches depend on."""
        addresses: set[int] = set()
        for _, instruction in self.instructions:
            match instruction:
                case Load() | Store() | AtomicUpdate() | AtomicExchange():
                    addresses.add(instruction.pointer)
                case Call():
                    if self._pointed(instruction) or not is_pure(instruction):
                        addresses.update(instruction.arguments)
                case _:
                    pass
        branches: set[int] = set()
        for number in self.graph.order:
            terminator = self.function.blocks[number].terminator
            if isinstance(terminator, Branch | Switch):
                branches.update(operands_of(terminator))
        return addresses, branches

    @cached_property
    def deciding(self) -> tuple[frozenset[int], frozenset[Root]]:
        """The slots, and the roots whose contents, that decide control and addresses."""
        addresses, branches = self._sources()
        return self.slice(addresses | branches)

    def reaching(self) -> Reaching:
        """What decides control and addresses."""
        slots, contents = self.deciding
        return Reaching(
            frozenset(self._parameters[slot] for slot in slots if slot in self._parameters),
            contents,
        )

    def forward(
        self, begins: Callable[[Instruction], bool], seeds: Iterable[int] = ()
    ) -> frozenset[int]:
        """The slots that are computed from `seeds`, or from results of instructions that begin it."""
        found = {
            result_of(item)
            for _, item in self.instructions
            if result_of(item) >= 0 and begins(item)
        }
        found.update(seeds)
        size = -1
        while size != len(found):
            size = len(found)
            for slot, values in self._incoming.items():
                if not found.isdisjoint(values):
                    found.add(slot)
            for slot, item in self._defined.items():
                if slot not in found and not found.isdisjoint(operands_of(item)):
                    found.add(slot)
        return frozenset(found)

    @cached_property
    def _defined(self) -> Mapping[int, Instruction]:
        return {result_of(item): item for _, item in self.instructions if result_of(item) >= 0}

    @cached_property
    def _incoming(self) -> Mapping[int, Sequence[int]]:
        """The values that each phi may have."""
        return {
            phi.result: [value for _, value in phi.incoming]
            for number in self.graph.order
            for phi in self.function.blocks[number].phis
        }

    @cached_property
    def _writing(self) -> Sequence[tuple[frozenset[Root], tuple[int, ...]]]:
        """What each instruction that writes may change, and what it writes and where."""
        found = [(self.writes(item), operands_of(item)) for _, item in self.instructions]
        return [(written, operands) for written, operands in found if written]

    def slice(self, wanted: Iterable[int]) -> tuple[frozenset[int], frozenset[Root]]:
        """The slots and the contents of memory that some slots are computed from."""
        slots: set[int] = set()
        contents: set[Root] = set()
        waiting = list(wanted)
        while waiting:
            slot = waiting.pop()
            if slot in slots:
                continue
            slots.add(slot)
            waiting.extend(self._incoming.get(slot, ()))
            instruction = self._defined.get(slot)
            if instruction is None:
                continue
            waiting.extend(operands_of(instruction))
            for root in self.reads(instruction) - contents:
                contents.add(root)
                waiting.extend(self._stored(root))
        return frozenset(slots), frozenset(contents)

    def _stored(self, root: Root) -> Iterable[int]:
        """The slots of what may be written to a root."""
        for written, operands in self._writing:
            if root in written or ANYWHERE in written or root == ANYWHERE:
                yield from operands


def _based_on(instruction: Instruction, found: Mapping[int, frozenset[Root]]) -> frozenset[Root]:
    """What the result of an instruction is based on, if it is an address."""
    none: frozenset[Root] = frozenset()
    match instruction:
        case Allocate(slot):
            return frozenset({f"%{slot}"})
        case Load():
            return frozenset({ANYWHERE}) if isinstance(instruction.type, PointerType) else none
        case Offset():
            return found.get(instruction.pointer, none)
        case AtomicUpdate() | AtomicExchange():
            return none
        case _:
            return none.union(*[found.get(slot, none) for slot in operands_of(instruction)])


def is_pure(call: Call) -> bool:
    """Whether a call only computes a value from values, by each lane for itself."""
    name = base_name(demangled(call.callee))
    return find_builtin(name) is not None or is_work_item_function(name)
