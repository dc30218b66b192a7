"""Promotion of private variables to SSA values.

A variable is promoted if its address is used only to read and write the whole variable. Loads and stores
of unoptimised code become copies, which are still counted as reads and writes of private variables.
After Braun et al., Simple and Efficient Construction of Static Single Assignment Form (2013).
"""

from dataclasses import replace

from cltrace.kernels.flow.loops import Graph, build_graph
from cltrace.kernels.ir.constant_reader import zero_of
from cltrace.kernels.ir.instructions import (
    Allocate,
    Copy,
    CopyOrigin,
    Instruction,
    Load,
    Phi,
    Store,
)
from cltrace.kernels.ir.module import Block, Constant, Function
from cltrace.kernels.ir.types import ArrayType, StructType, Type
from cltrace.kernels.ir.uses import operands_of, rename_slots, retarget
from cltrace.kernels.limits import check_cpu_limit


def promote_variables(function: Function) -> Function:
    """Return the function with its private variables promoted to values."""
    variables = _find_promotable(function)
    if not variables:
        return function
    return _SsaConstruction(function, build_graph(function), variables).build()


def _find_promotable(function: Function) -> dict[int, Type]:
    """Return the types of the variables that can be promoted, by the slot of their address."""
    variables: dict[int, Type] = {}
    for block in function.blocks:
        variables.update(_scalar_variables(block))
    for block in function.blocks:
        for phi in block.phis:
            for _, value in phi.incoming:
                variables.pop(value, None)
        for instruction in block.instructions:
            _drop_escaping(variables, instruction)
        for slot in operands_of(block.terminator):
            variables.pop(slot, None)
    return variables


def _scalar_variables(block: Block) -> dict[int, Type]:
    """Return the variables of a block that are neither arrays nor structures."""
    return {
        item.result: item.type
        for item in block.instructions
        if isinstance(item, Allocate)
        and item.count == 1
        and not isinstance(item.type, ArrayType | StructType)
    }


def _drop_escaping(variables: dict[int, Type], instruction: Instruction) -> None:
    """Remove the variables whose address an instruction uses for more than whole reads and writes."""
    match instruction:
        case Load(_, kind, pointer):
            if variables.get(pointer, kind) != kind:
                del variables[pointer]
        case Store(value, kind, pointer):
            if variables.get(pointer, kind) != kind:
                del variables[pointer]
            variables.pop(value, None)
        case _:
            for slot in operands_of(instruction):
                variables.pop(slot, None)


class _SsaConstruction:
    """SSA construction: looks up the value of a variable at each point backwards along control flow."""

    def __init__(self, function: Function, graph: Graph, variables: dict[int, Type]) -> None:
        self._function = function
        self._graph = graph
        self._variables = variables
        self._slots = function.slots
        self._types = list(function.types)
        self._constants = list(function.constants)
        self._zeros: dict[Type, int] = {}
        self._at_end: dict[tuple[int, int], int] = {}
        self._phis: dict[int, dict[int, int]] = {}
        """By block: the slot of the phi of each variable."""
        self._inputs: dict[int, tuple[tuple[int, int], ...]] = {}

    def build(self) -> Function:
        """Return the function in SSA form."""
        rewritten: dict[int, list[Instruction]] = {}
        for number in self._graph.order:
            rewritten[number] = self._rewrite(number)
        self._fill_phis()
        same = self._find_redundant_phis()

        def slot(number: int) -> int:
            return same.get(number, number)

        blocks = list(self._function.blocks)
        for number, instructions in rewritten.items():
            block = blocks[number]
            new = [
                Phi(phi, self._variables[variable], self._inputs[phi], block.terminator.place)
                for variable, phi in self._phis.get(number, {}).items()
                if phi not in same
            ]
            phis = [
                replace(
                    phi, incoming=tuple((source, slot(value)) for source, value in phi.incoming)
                )
                for phi in (*block.phis, *new)
            ]
            blocks[number] = Block(
                tuple(phis),
                tuple([rename_slots(instruction, slot) for instruction in instructions]),
                retarget(block.terminator, slot, lambda target: target),
            )
        return replace(
            self._function,
            blocks=tuple(blocks),
            slots=self._slots,
            types=tuple(self._types),
            constants=tuple(self._constants),
        )

    def _find_redundant_phis(self) -> dict[int, int]:
        """Return the phis that always have the same value, each with the slot of that value."""
        same: dict[int, int] = {}

        def resolve(slot: int) -> int:
            while slot in same:
                slot = same[slot]
            return slot

        changed = True
        while changed:
            check_cpu_limit()
            changed = False
            for phi, inputs in self._inputs.items():
                if phi in same:
                    continue
                values = {resolve(value) for _, value in inputs} - {phi}
                if len(values) == 1:
                    same[phi] = values.pop()
                    changed = True
        return {phi: resolve(phi) for phi in same}

    def _rewrite(self, number: int) -> list[Instruction]:
        """Return a block's instructions with reads and writes of variables as copies."""
        current: dict[int, int] = {}
        instructions: list[Instruction] = []
        for instruction in self._function.blocks[number].instructions:
            match instruction:
                case Load(result, kind, pointer, _, place) if pointer in self._variables:
                    if pointer not in current:
                        current[pointer] = self._at_begin(number, pointer)
                    instructions.append(
                        Copy(result, kind, current[pointer], CopyOrigin.READ, place)
                    )
                case Store(value, kind, pointer, _, place) if pointer in self._variables:
                    current[pointer] = value
                    instructions.append(Copy(-1, kind, value, CopyOrigin.WRITE, place))
                case Allocate(slot) if slot in self._variables:
                    instructions.append(replace(instruction, count=0))
                case _:
                    instructions.append(instruction)
        for variable, slot in current.items():
            self._at_end[number, variable] = slot
        return instructions

    def _at_begin(self, block: int, variable: int) -> int:
        """Return the value of a variable where a block begins: a phi, whose inputs are looked up later.

        A block with a single predecessor takes its value; that block has been rewritten.
        """
        path: list[int] = []
        while True:
            value = self._entry_value(block, variable)
            if value is None:
                block = self._graph.predecessors[block][0]
                path.append(block)
                value = self._at_end.get((block, variable))
            if value is not None:
                for predecessor in path:
                    self._at_end.setdefault((predecessor, variable), value)
                return value

    def _entry_value(self, block: int, variable: int) -> int | None:
        """Return a variable's phi or initial zero in a block, or None to take its predecessor's value."""
        phis = self._phis.setdefault(block, {})
        sources = self._graph.predecessors[block]
        if variable not in phis and len(sources) == 1:
            return None
        if not sources:
            return self._zero_slot(self._variables[variable])
        if variable not in phis:
            phis[variable] = self._new_slot(self._variables[variable])
        return phis[variable]

    def _fill_phis(self) -> None:
        """Look up the inputs of phis, which may add more phis."""
        done: set[int] = set()
        while True:
            waiting = [
                (block, variable, slot)
                for block, phis in list(self._phis.items())
                for variable, slot in list(phis.items())
                if slot not in done
            ]
            if not waiting:
                return
            for block, variable, slot in waiting:
                done.add(slot)
                inputs = []
                for source in self._graph.predecessors[block]:
                    value = self._at_end.get((source, variable))
                    if value is None:
                        value = self._at_begin(source, variable)
                        self._at_end[source, variable] = value
                    inputs.append((source, value))
                self._inputs[slot] = tuple(inputs)

    def _new_slot(self, kind: Type) -> int:
        self._types.append(kind)
        self._slots += 1
        return self._slots - 1

    def _zero_slot(self, kind: Type) -> int:
        slot = self._zeros.get(kind)
        if slot is None:
            slot = self._zeros[kind] = self._new_slot(kind)
            self._constants.append(Constant(slot, kind, zero_of(kind)))
        return slot
