"""One function of a kernel: what it calls of the program put in its place.

OpenCL C has no recursion, so this ends. Blocks are also split before each call at which work-items
wait for others, so that such a call begins its block.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.builtins.mangling import demangled
from cltrace.kernels.ir.instructions import (
    Allocate,
    Call,
    Fall,
    Instruction,
    Phi,
    Return,
    Terminator,
)
from cltrace.kernels.ir.module import Block, Constant, Function, Module, Parameter
from cltrace.kernels.ir.source_places import NOWHERE, Place
from cltrace.kernels.ir.types import VOID, IntegerType, PointerType, Type, size_bytes
from cltrace.kernels.ir.uses import renamed, retargeted

MOST_INSTRUCTIONS: Final = 100_000
"""The most that a kernel may grow to."""
_GATHERING: Final = (
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
def gathers(callee: str) -> bool:
    """Whether work-items that call a function wait there for others."""
    return demangled(callee).name.startswith(_GATHERING)


def inlined(module: Module, name: str) -> Function:
    """The function `name` of a program, with no call of the program's own functions left.

    Raises: `UnsupportedKernelError` for recursion, or a function that grows too large.
    """
    return _Inliner(module).flat(name, ())


@dataclass(slots=True)
class _Draft:
    """A function being put together. Blocks are lists until it is done."""

    slots: int
    types: list[Type | None]
    size: int
    """How many instructions there are."""
    phis: list[list[Phi]] = field(default_factory=list)
    instructions: list[list[Instruction]] = field(default_factory=list)
    terminators: list[Terminator | None] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)

    def block(self) -> int:
        """A new block, and its number."""
        self.phis.append([])
        self.instructions.append([])
        self.terminators.append(None)
        return len(self.phis) - 1

    def slot(self, kind: Type) -> int:
        """A new slot."""
        self.types.append(kind)
        self.slots += 1
        return self.slots - 1


class _Inliner:
    def __init__(self, module: Module) -> None:
        self._module = module
        self._flat: dict[str, Function] = {}

    def flat(self, name: str, callers: tuple[str, ...]) -> Function:
        if name in callers:
            raise UnsupportedKernelError(f"{name} calls itself, which OpenCL C does not allow")
        known = self._flat.get(name)
        if known is None:
            known = self._flat[name] = self._flattened(self._module.functions[name], callers)
        return known

    def _flattened(self, function: Function, callers: tuple[str, ...]) -> Function:
        own = sum(len(block.instructions) for block in function.blocks)
        draft = _Draft(function.slots, list(function.types), own)
        draft.constants.extend(function.constants)
        first = {number: draft.block() for number in range(len(function.blocks))}
        last = dict(first)
        for number, block in enumerate(function.blocks):
            at = first[number]
            draft.phis[at].extend(block.phis)
            for instruction in block.instructions:
                at = self._place(draft, at, instruction, (*callers, function.name))
            draft.terminators[at] = block.terminator
            last[number] = at
        for phis in (draft.phis[at] for at in first.values()):
            phis[:] = [_from_blocks(phi, last) for phi in phis]
        return replace(
            function,
            blocks=_finished(draft),
            slots=draft.slots,
            types=tuple(draft.types),
            constants=tuple(draft.constants),
        )

    def _place(
        self, draft: _Draft, at: int, instruction: Instruction, callers: tuple[str, ...]
    ) -> int:
        """Add an instruction to block `at`, and say which block goes on."""
        if isinstance(instruction, Call):
            if instruction.callee in self._module.functions:
                callee = self.flat(instruction.callee, callers)
                draft.size += sum(len(block.instructions) for block in callee.blocks)
                _check_size(draft, callers[-1])
                return _insert(draft, at, callee, instruction)
            if gathers(instruction.callee) and draft.instructions[at]:
                following = draft.block()
                draft.terminators[at] = Fall(following, instruction.place)
                at = following
        draft.instructions[at].append(instruction)
        return at


def _insert(draft: _Draft, at: int, callee: Function, call: Call) -> int:
    """Put a flat function in the place of a call that ends block `at`. Returns the block after it."""
    base = draft.slots
    draft.slots += callee.slots
    draft.types.extend(callee.types)
    slots = {parameter.slot: value for parameter, value in _passed(draft, at, callee, call)}
    blocks = [draft.block() for _ in callee.blocks]
    following = draft.block()
    place = _called_from(call.place)

    def slot(number: int) -> int:
        return slots.get(number, base + number)

    draft.constants.extend(replace(c, slot=base + c.slot) for c in callee.constants)
    returned: list[tuple[int, int]] = []
    for number, block in zip(blocks, callee.blocks, strict=True):
        draft.phis[number].extend(
            Phi(
                slot(phi.result),
                phi.type,
                tuple((blocks[source], slot(value)) for source, value in phi.incoming),
                place(phi.place),
            )
            for phi in block.phis
        )
        draft.instructions[number].extend(
            replace(renamed(instruction, slot), place=place(instruction.place))
            for instruction in block.instructions
        )
        terminator = retargeted(block.terminator, slot, blocks.__getitem__)
        if isinstance(terminator, Return):
            returned.append((number, terminator.value))
            terminator = Fall(following, place(terminator.place))
        draft.terminators[number] = terminator
    draft.terminators[at] = Fall(blocks[0], call.place)
    if call.result >= 0 and call.type != VOID:
        draft.phis[following].append(Phi(call.result, call.type, tuple(returned), call.place))
    return following


def _passed(
    draft: _Draft, at: int, callee: Function, call: Call
) -> Iterator[tuple[Parameter, int]]:
    """Pairs of a parameter and the slot of its value; what is passed by value is copied."""
    for parameter, argument in zip(callee.parameters, call.arguments, strict=False):
        if parameter.pointee is None:
            yield parameter, argument
            continue
        copied = draft.slot(PointerType(0))
        size = draft.slot(IntegerType(64))
        volatile = draft.slot(IntegerType(1))
        draft.constants.append(Constant(size, IntegerType(64), size_bytes(parameter.pointee)))
        draft.constants.append(Constant(volatile, IntegerType(1), 0))
        draft.instructions[at].append(Allocate(copied, parameter.pointee, 1, call.place))
        types = (PointerType(0), PointerType(0), IntegerType(64), IntegerType(1))
        words = (copied, argument, size, volatile)
        draft.instructions[at].append(Call(-1, VOID, _COPY, words, types, call.place))
        yield parameter, copied


def _called_from(caller: Place) -> Callable[[Place], Place]:
    """Places of a function as they are where `caller` calls it."""
    known: dict[Place, Place] = {}

    def place(inner: Place) -> Place:
        if inner is NOWHERE:
            return caller
        found = known.get(inner)
        if found is None:
            above = place(inner.called_from) if inner.called_from is not None else caller
            found = known[inner] = replace(inner, called_from=above)
        return found

    return place


def _from_blocks(phi: Phi, last: Mapping[int, int]) -> Phi:
    incoming = tuple((last.get(source, source), value) for source, value in phi.incoming)
    return replace(phi, incoming=incoming)


def _finished(draft: _Draft) -> tuple[Block, ...]:
    return tuple(
        Block(tuple(phis), tuple(instructions), terminator)
        for phis, instructions, terminator in zip(
            draft.phis, draft.instructions, draft.terminators, strict=True
        )
        if terminator is not None
    )


def _check_size(draft: _Draft, name: str) -> None:
    if draft.size > MOST_INSTRUCTIONS:
        raise UnsupportedKernelError(
            f"{name} has more than {MOST_INSTRUCTIONS:,} instructions with all that it calls"
        )
