"""Data dependencies of a kernel, and program slices over them.

The backward slice of all branches and memory addresses, computed without running the kernel, gives the
parameters and the memory contents that they depend on. Those inputs make a configuration of the kernel;
a parameter outside of the slice, such as a changing time step, does not.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cltrace.kernels.builtins.function_kinds import is_image_query, is_work_item_function
from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.builtins.table import find_builtin
from cltrace.kernels.flow.loops import Graph
from cltrace.kernels.flow.paths import immediate_post_dominators
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
from cltrace.kernels.ir.types import PointerType, element_of
from cltrace.kernels.ir.uses import operands_of, result_of
from cltrace.kernels.limits import check_cpu_limit

Root = int | str
"""The object that an address points into: the index of a parameter, `@name`, or `%slot` of a private
variable."""
UNKNOWN_ROOT: Root = "?"
"""The root of an address that was read from memory."""


@dataclass(frozen=True, slots=True)
class SliceInputs:
    """Inputs of the slice of all branches and addresses: parameters by index, contents by root."""

    parameters: frozenset[int]
    contents: frozenset[Root]


class DataDependencies:
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
    def definitions(self) -> Mapping[int, Instruction]:
        """The instruction that defines each slot."""
        return {result_of(item): item for _, item in self.instructions if result_of(item) >= 0}

    @cached_property
    def post_dominators(self) -> Mapping[int, int]:
        """By block, the first block that all paths from it come to, or -1."""
        return immediate_post_dominators(self.graph)

    @cached_property
    def roots(self) -> Mapping[int, frozenset[Root]]:
        """The possible roots of each slot that may be an address."""
        roots: dict[int, frozenset[Root]] = {}
        for slot, index in self._parameters.items():
            roots[slot] = frozenset({index})
        for constant in self.function.constants:
            if isinstance(constant.value, SymbolAddress):
                roots[constant.slot] = frozenset({f"@{constant.value.symbol}"})
        sources = {slot: tuple(values) for slot, values in self._incoming.items()}
        for slot, instruction in self.definitions.items():
            own, sources[slot] = _root_sources(instruction, slot)
            if own:
                roots[slot] = own
        _spread_roots(roots, sources)
        return roots

    def reads(self, instruction: Instruction) -> frozenset[Root]:
        """Return the roots whose contents an instruction may return."""
        match instruction:
            case Load() | AtomicUpdate() | AtomicExchange():
                return self.roots.get(instruction.pointer, frozenset({UNKNOWN_ROOT}))
            case Call():
                return self._argument_roots(instruction)
            case _:
                return frozenset()

    def writes(self, instruction: Instruction) -> frozenset[Root]:
        """Return the roots whose contents an instruction may change; `UNKNOWN_ROOT` stands for all."""
        match instruction:
            case Store() | AtomicUpdate() | AtomicExchange():
                return self.roots.get(instruction.pointer, frozenset({UNKNOWN_ROOT}))
            case Call():
                return self._argument_roots(instruction)
            case _:
                return frozenset()

    def _argument_roots(self, call: Call) -> frozenset[Root]:
        """Return the roots that a call's pointer arguments may point into.

        What is asked of an image, such as its width, depends on none of its contents.
        """
        if is_image_query(demangle(call.callee).name):
            return frozenset()
        parts = [
            self.roots.get(slot, frozenset())
            for slot, kind in zip(call.arguments, call.argument_types, strict=True)
            if not hasattr(element_of(kind), "bits")
        ]
        none: frozenset[Root] = frozenset()
        return none.union(*parts)

    def _criterion(self) -> tuple[set[int], set[int]]:
        """Return the slicing criterion: the slots of all addresses, and of all branch conditions."""
        addresses: set[int] = set()
        for _, instruction in self.instructions:
            match instruction:
                case Load() | Store() | AtomicUpdate() | AtomicExchange():
                    addresses.add(instruction.pointer)
                case Call():
                    if self._argument_roots(instruction) or not is_pure(instruction):
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
    def control_slice(self) -> tuple[frozenset[int], frozenset[Root]]:
        """The backward slice of all branches and addresses: slots, and roots whose contents matter."""
        addresses, branches = self._criterion()
        return self.backward_slice(addresses | branches)

    def slice_inputs(self) -> SliceInputs:
        """Return the inputs of the control slice."""
        slots, contents = self.control_slice
        return SliceInputs(
            frozenset(self._parameters[slot] for slot in slots if slot in self._parameters),
            contents,
        )

    def forward_slice(
        self,
        is_source: Callable[[Instruction], bool],
        seeds: Iterable[int] = (),
        passes_on: Callable[[Instruction], bool] = lambda _: True,
    ) -> frozenset[int]:
        """Return the slots that depend on `seeds` or on an `is_source`, by what each `passes_on`."""
        slots = {
            result_of(item)
            for _, item in self.instructions
            if result_of(item) >= 0 and is_source(item)
        }
        slots.update(seeds)
        passing = [(at, operands_of(it)) for at, it in self.definitions.items() if passes_on(it)]
        size = -1
        while size != len(slots):
            size = len(slots)
            for slot, values in (*self._incoming.items(), *passing):
                if not slots.isdisjoint(values):
                    slots.add(slot)
        return frozenset(slots)

    @cached_property
    def _incoming(self) -> Mapping[int, Sequence[int]]:
        """The slots of the values that each phi may have."""
        return {
            phi.result: [value for _, value in phi.incoming]
            for number in self.graph.order
            for phi in self.function.blocks[number].phis
        }

    @cached_property
    def _memory_writes(self) -> Sequence[tuple[frozenset[Root], tuple[int, ...]]]:
        """Per instruction that writes memory: the roots that it may change, and its operands."""
        writes = [(self.writes(item), operands_of(item)) for _, item in self.instructions]
        return [(written, operands) for written, operands in writes if written]

    def backward_slice(self, criterion: Iterable[int]) -> tuple[frozenset[int], frozenset[Root]]:
        """Return the slots, and the roots whose contents, that the slots of `criterion` depend on."""
        slots: set[int] = set()
        contents: set[Root] = set()
        waiting = list(criterion)

        def add_contents(roots: Iterable[Root]) -> None:
            pending = set(roots) - contents
            while pending:
                root = pending.pop()
                contents.add(root)
                waiting.extend(self._stored_slots(root))
                pending |= self._copied_roots(root) - contents

        while waiting:
            slot = waiting.pop()
            if slot in slots:
                continue
            check_cpu_limit()
            slots.add(slot)
            waiting.extend(self._incoming.get(slot, ()))
            instruction = self.definitions.get(slot)
            if instruction is None:
                continue
            waiting.extend(operands_of(instruction))
            add_contents(self.reads(instruction))
        return frozenset(slots), frozenset(contents)

    @cached_property
    def _call_roots(self) -> Sequence[frozenset[Root]]:
        """The roots between which a call may copy, as of structures."""
        roots = [
            self._argument_roots(item) for _, item in self.instructions if isinstance(item, Call)
        ]
        return [group for group in roots if len(group) > 1]

    def _copied_roots(self, root: Root) -> frozenset[Root]:
        """Return the roots that calls may copy to a root."""
        groups = (
            group
            for group in self._call_roots
            if root in group or UNKNOWN_ROOT in group or root == UNKNOWN_ROOT
        )
        return frozenset().union(*groups)

    def _stored_slots(self, root: Root) -> Iterable[int]:
        """Yield the operands of every instruction that may write to a root."""
        for written, operands in self._memory_writes:
            if root in written or UNKNOWN_ROOT in written or root == UNKNOWN_ROOT:
                yield from operands


def _spread_roots(roots: dict[int, frozenset[Root]], sources: Mapping[int, Sequence[int]]) -> None:
    """Add to the roots of each slot those of its sources, until nothing changes."""
    users: dict[int, list[int]] = {}
    for slot, values in sources.items():
        for value in values:
            users.setdefault(value, []).append(slot)
    waiting = deque(sources)
    is_waiting = set(sources)
    while waiting:
        check_cpu_limit()
        slot = waiting.popleft()
        is_waiting.discard(slot)
        old = roots.get(slot, frozenset())
        new = old.union(*[roots[value] for value in sources[slot] if value in roots])
        if len(new) > len(old):
            roots[slot] = new
            changed = [user for user in users.get(slot, ()) if user not in is_waiting]
            is_waiting.update(changed)
            waiting.extend(dict.fromkeys(changed))


def _root_sources(instruction: Instruction, result: int) -> tuple[frozenset[Root], tuple[int, ...]]:
    """Return the own roots of a result, if it is an address, and the slots whose roots it has too."""
    match instruction:
        case Allocate():
            return frozenset({f"%{result}"}), ()
        case Load():
            is_address = isinstance(instruction.type, PointerType)
            return frozenset({UNKNOWN_ROOT} if is_address else ()), ()
        case Offset():
            return frozenset(), (instruction.pointer,)
        case AtomicUpdate() | AtomicExchange():
            return frozenset(), ()
        case _:
            return frozenset(), operands_of(instruction)


def is_pure(call: Call) -> bool:
    """Return whether a call only computes a value from values, per lane, without memory."""
    name = base_name(demangle(call.callee))
    return find_builtin(name) is not None or is_work_item_function(name)
