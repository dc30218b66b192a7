"""Inlining of all functions that a kernel calls.

OpenCL C has no recursion, so inlining terminates. Blocks are also split before each call at which
work-items wait for each other, so that such a call begins its block.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.builtins.mangling import demangle
from cltrace.kernels.ir.instructions import (
    Allocate,
    Call,
    FallThrough,
    Instruction,
    Phi,
    Return,
    Terminator,
)
from cltrace.kernels.ir.module import Block, Constant, Function, Module, Parameter
from cltrace.kernels.ir.source_places import NOWHERE, Place
from cltrace.kernels.ir.types import VOID, IntegerType, PointerType, Type, size_bytes
from cltrace.kernels.ir.uses import rename_slots, retarget

MAX_INSTRUCTIONS: Final = 100_000
"""The size at which a kernel is refused after inlining."""
_SYNCHRONISING_PREFIXES: Final = (
    "barrier",
    "work_group_",
    "sub_group_",
    "sub_group_barrier",
    "async_work_group_",
    "wait_group_events",
    "intel_sub_group_",
)
_COPY: Final = "llvm.memcpy.p0.p0.i64"


@cache
def is_synchronising(callee: str) -> bool:
    """Return whether work-items that call a function wait for each other, as at a barrier."""
    return demangle(callee).name.startswith(_SYNCHRONISING_PREFIXES)


def inline_calls(module: Module, name: str) -> Function:
    """Return the function `name` of a program with all calls of the program's own functions inlined.

    Raises: `UnsupportedKernelError` for recursion, or a function that grows too large.
    """
    return _Inliner(module).inlined_function(name, ())


@dataclass(kw_only=True, slots=True)
class _Draft:
    """A function under construction. Blocks are lists until it is finished."""

    slots: int
    types: list[Type | None]
    size: int
    """The number of instructions."""
    phis: list[list[Phi]] = field(default_factory=list)
    instructions: list[list[Instruction]] = field(default_factory=list)
    terminators: list[Terminator | None] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)

    def add_block(self) -> int:
        """Add an empty block and return its number."""
        self.phis.append([])
        self.instructions.append([])
        self.terminators.append(None)
        return len(self.phis) - 1

    def add_slot(self, kind: Type) -> int:
        """Add a slot of type `kind` and return its number."""
        self.types.append(kind)
        self.slots += 1
        return self.slots - 1


class _Inliner:
    """Inlines functions of a module, each once."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._cache: dict[str, Function] = {}

    def inlined_function(self, name: str, callers: tuple[str, ...]) -> Function:
        """Return the function `name` with all calls inlined. `callers` are those that lead to it."""
        if name in callers:
            raise UnsupportedKernelError(f"{name} calls itself, which OpenCL C does not allow")
        cached = self._cache.get(name)
        if cached is None:
            cached = self._cache[name] = self._inline_into(self._module.functions[name], callers)
        return cached

    def _inline_into(self, function: Function, callers: tuple[str, ...]) -> Function:
        """Return `function` with its calls replaced by what they call."""
        own_size = sum(len(block.instructions) for block in function.blocks)
        draft = _Draft(slots=function.slots, types=list(function.types), size=own_size)
        draft.constants.extend(function.constants)
        first = {number: draft.add_block() for number in range(len(function.blocks))}
        last = dict(first)
        for number, block in enumerate(function.blocks):
            current = first[number]
            draft.phis[current].extend(block.phis)
            for instruction in block.instructions:
                current = self._append(draft, current, instruction, (*callers, function.name))
            draft.terminators[current] = block.terminator
            last[number] = current
        for phis in (draft.phis[block] for block in first.values()):
            phis[:] = [_with_sources(phi, last) for phi in phis]
        return replace(
            function,
            blocks=_finish_blocks(draft),
            slots=draft.slots,
            types=tuple(draft.types),
            constants=tuple(draft.constants),
        )

    def _append(
        self, draft: _Draft, current: int, instruction: Instruction, callers: tuple[str, ...]
    ) -> int:
        """Add an instruction to block `current`, and return the block that continues."""
        if isinstance(instruction, Call):
            if instruction.callee in self._module.functions:
                callee = self.inlined_function(instruction.callee, callers)
                draft.size += sum(len(block.instructions) for block in callee.blocks)
                _check_size(draft, callers[-1])
                return _insert(draft, current, callee, instruction)
            if is_synchronising(instruction.callee) and draft.instructions[current]:
                following = draft.add_block()
                draft.terminators[current] = FallThrough(following, instruction.place)
                current = following
        draft.instructions[current].append(instruction)
        return current


def _insert(draft: _Draft, current: int, callee: Function, call: Call) -> int:
    """Insert an inlined function in place of a call at the end of block `current`.

    Returns: the block that follows the inserted ones.
    """
    base = draft.slots
    draft.slots += callee.slots
    draft.types.extend(callee.types)
    slots = {
        parameter.slot: value for parameter, value in _pass_arguments(draft, current, callee, call)
    }
    blocks = [draft.add_block() for _ in callee.blocks]
    following = draft.add_block()
    place = _places_called_from(call.place)

    def slot(number: int) -> int:
        return slots.get(number, base + number)

    draft.constants.extend(replace(c, slot=base + c.slot) for c in callee.constants)
    returned: list[tuple[int, int]] = []
    for number, block in zip(blocks, callee.blocks, strict=True):
        for phi in block.phis:
            incoming = tuple((blocks[source], slot(value)) for source, value in phi.incoming)
            draft.phis[number].append(Phi(slot(phi.result), phi.type, incoming, place(phi.place)))
        draft.instructions[number].extend(
            replace(rename_slots(instruction, slot), place=place(instruction.place))
            for instruction in block.instructions
        )
        terminator = retarget(block.terminator, slot, blocks.__getitem__)
        if isinstance(terminator, Return):
            returned.append((number, terminator.value))
            terminator = FallThrough(following, place(terminator.place))
        draft.terminators[number] = terminator
    draft.terminators[current] = FallThrough(blocks[0], call.place)
    if call.result >= 0 and call.type != VOID:
        draft.phis[following].append(Phi(call.result, call.type, tuple(returned), call.place))
    return following


def _pass_arguments(
    draft: _Draft, current: int, callee: Function, call: Call
) -> Iterator[tuple[Parameter, int]]:
    """Yield each parameter with the slot of its value; structures passed by value are copied."""
    for parameter, argument in zip(callee.parameters, call.arguments, strict=False):
        if parameter.pointee is None:
            yield parameter, argument
            continue
        copied = draft.add_slot(PointerType(0))
        size = draft.add_slot(IntegerType(64))
        volatile = draft.add_slot(IntegerType(1))
        draft.constants.append(Constant(size, IntegerType(64), size_bytes(parameter.pointee)))
        draft.constants.append(Constant(volatile, IntegerType(1), 0))
        draft.instructions[current].append(Allocate(copied, parameter.pointee, 1, call.place))
        types = (PointerType(0), PointerType(0), IntegerType(64), IntegerType(1))
        arguments = (copied, argument, size, volatile)
        copy = Call(
            result=-1,
            type=VOID,
            callee=_COPY,
            arguments=arguments,
            argument_types=types,
            place=call.place,
        )
        draft.instructions[current].append(copy)
        yield parameter, copied


def _places_called_from(caller: Place) -> Callable[[Place], Place]:
    """Return the mapping of a function's places to the same places called from `caller`."""
    mapped: dict[Place, Place] = {}

    def place(inner: Place) -> Place:
        if inner is NOWHERE:
            return caller
        outer = mapped.get(inner)
        if outer is None:
            above = place(inner.called_from) if inner.called_from is not None else caller
            outer = mapped[inner] = replace(inner, called_from=above)
        return outer

    return place


def _with_sources(phi: Phi, last: Mapping[int, int]) -> Phi:
    """Return a phi whose values come from the last block that each source block was split into."""
    incoming = tuple((last.get(source, source), value) for source, value in phi.incoming)
    return replace(phi, incoming=incoming)


def _finish_blocks(draft: _Draft) -> tuple[Block, ...]:
    return tuple(
        Block(tuple(phis), tuple(instructions), terminator)
        for phis, instructions, terminator in zip(
            draft.phis, draft.instructions, draft.terminators, strict=True
        )
        if terminator is not None
    )


def _check_size(draft: _Draft, name: str) -> None:
    if draft.size > MAX_INSTRUCTIONS:
        raise UnsupportedKernelError(
            f"{name} has more than {MAX_INSTRUCTIONS:,} instructions, its callees included"
        )
