"""What decides where control goes and which memory is accessed.

Two questions, answered on the values of a kernel without running it. Backwards: which parameters and
which contents of memory reach a branch or an address? Those make a configuration; a changing
time-step does not. Forwards: what depends on contents that are not known? Those branches and addresses
can only be assumed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from cltrace.kernels.builtins.mangling import demangled
from cltrace.kernels.builtins.table import base_name, find_builtin
from cltrace.kernels.execute.workitems import is_work_item_function
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


@dataclass(frozen=True, slots=True)
class Tainted:
    """What depends on contents that are not known: slots, and blocks whose branch does."""

    slots: frozenset[int]
    blocks: frozenset[int]


class Dependencies:
    """The dependencies among the values of a kernel."""

    def __init__(self, function: Function, graph: Graph) -> None:
        self._function = function
        self._graph = graph
        self._instructions = [
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
        for constant in self._function.constants:
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
        for number in self._graph.order:
            for phi in self._function.blocks[number].phis:
                parts = [found.get(value, none) for _, value in phi.incoming]
                yield phi.result, none.union(*parts)
        for _, instruction in self._instructions:
            result = result_of(instruction)
            if result >= 0:
                yield result, _based_on(instruction, found)

    def _reads(self, instruction: Instruction) -> frozenset[Root]:
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

    @cached_property
    def _controlled(self) -> Mapping[int, frozenset[int]]:
        """By block: the blocks that run or not as its branch decides, and the one where ways meet."""
        return {
            number: _region(self._graph, number, meeting)
            for number, meeting in _meetings(self._graph).items()
        }

    def _sources(self) -> tuple[set[int], set[int]]:
        """The slots that are addresses, and those that branches depend on."""
        addresses: set[int] = set()
        for _, instruction in self._instructions:
            match instruction:
                case Load() | Store() | AtomicUpdate() | AtomicExchange():
                    addresses.add(instruction.pointer)
                case Call():
                    if self._pointed(instruction) or not is_pure(instruction):
                        addresses.update(instruction.arguments)
                case _:
                    pass
        branches: set[int] = set()
        for number in self._graph.order:
            terminator = self._function.blocks[number].terminator
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

    def slice(self, wanted: Iterable[int]) -> tuple[frozenset[int], frozenset[Root]]:
        """The slots and the contents of memory that some slots are computed from."""
        defined = {result_of(item): item for _, item in self._instructions if result_of(item) >= 0}
        phis = {
            phi.result: [value for _, value in phi.incoming]
            for number in self._graph.order
            for phi in self._function.blocks[number].phis
        }
        slots: set[int] = set()
        contents: set[Root] = set()
        waiting = list(wanted)
        while waiting:
            slot = waiting.pop()
            if slot in slots:
                continue
            slots.add(slot)
            if slot in phis:
                waiting.extend(phis[slot])
            instruction = defined.get(slot)
            if instruction is None:
                continue
            waiting.extend(operands_of(instruction))
            for root in self._reads(instruction) - contents:
                contents.add(root)
                waiting.extend(self._stored(root))
        return frozenset(slots), frozenset(contents)

    def _stored(self, root: Root) -> Iterable[int]:
        """The slots of what may be written to a root."""
        for _, instruction in self._instructions:
            written = self.writes(instruction)
            if root in written or ANYWHERE in written or (root == ANYWHERE and written):
                yield from operands_of(instruction)

    def tainted(self, unknown: frozenset[Root]) -> Tainted:
        """What depends on the contents of roots that are not known."""
        slots: set[int] = set()
        memory: set[Root] = set(unknown)
        blocks: set[int] = set()
        under: set[int] = set()
        size = -1
        while size != len(slots) + len(memory) + len(under):
            size = len(slots) + len(memory) + len(under)
            self._spread(slots, memory, under)
            for number in self._graph.order:
                terminator = self._function.blocks[number].terminator
                if number not in blocks and not slots.isdisjoint(operands_of(terminator)):
                    blocks.add(number)
                    under |= self._controlled[number]
        return Tainted(frozenset(slots), frozenset(blocks))

    def _spread(self, slots: set[int], memory: set[Root], under: set[int]) -> None:
        """One round: results of what is tainted, phis where ways meet, memory that is written."""
        for number in self._graph.order:
            for phi in self._function.blocks[number].phis:
                differs = len({value for _, value in phi.incoming}) > 1
                if (number in under and differs) or any(v in slots for _, v in phi.incoming):
                    slots.add(phi.result)
        for number, instruction in self._instructions:
            operands = operands_of(instruction)
            tainted = any(slot in slots for slot in operands)
            read = self._reads(instruction)
            if not tainted and read and (ANYWHERE in read or not memory.isdisjoint(read)):
                tainted = ANYWHERE not in read or bool(memory)
            if tainted and result_of(instruction) >= 0:
                slots.add(result_of(instruction))
            if tainted or number in under:
                memory |= self.writes(instruction)


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


def _meetings(graph: Graph) -> Mapping[int, int]:
    """By block: the first block that all ways from it come to (its post-dominator), or -1."""
    position = {number: bit for bit, number in enumerate(graph.order)}
    everything = (1 << len(graph.order)) - 1
    after = dict.fromkeys(graph.order, everything)
    changed = True
    while changed:
        changed = False
        for number in reversed(graph.order):
            found = everything if graph.successors[number] else 0
            for target in graph.successors[number]:
                found &= after[target]
            found |= 1 << position[number]
            if found != after[number]:
                after[number] = found
                changed = True
    meetings = {}
    for number in graph.order:
        others = after[number] & ~(1 << position[number])
        candidates = [other for other in graph.order if others >> position[other] & 1]
        meetings[number] = max(candidates, key=lambda b: after[b].bit_count(), default=-1)
    return meetings


def _region(graph: Graph, number: int, meeting: int) -> frozenset[int]:
    found: set[int] = set()
    waiting = list(graph.successors[number])
    if len(waiting) < 2:
        return frozenset()
    while waiting:
        block = waiting.pop()
        if block not in found:
            found.add(block)
            if block != meeting:
                waiting.extend(graph.successors[block])
    return frozenset(found)
