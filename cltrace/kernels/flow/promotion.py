"""Private variables made values, where nothing but reads and writes of the whole uses their address.

What a compiler that does not optimise writes to memory and reads again becomes copies, which are still
counted as reads and writes of private variables. After Braun et al., Simple and Efficient
Construction of Static Single Assignment Form (2013).
"""

from dataclasses import replace

from cltrace.kernels.flow.loops import Graph, graph_of
from cltrace.kernels.ir.constant_reader import zero_of
from cltrace.kernels.ir.instructions import Allocate, Copy, CopyOf, Instruction, Load, Phi, Store
from cltrace.kernels.ir.module import Block, Constant, Function
from cltrace.kernels.ir.types import ArrayType, StructType, Type
from cltrace.kernels.ir.uses import operands_of, renamed, retargeted


def promoted(function: Function) -> Function:
    """The same function with its private variables as values."""
    variables = _variables(function)
    if not variables:
        return function
    return _Construction(function, graph_of(function), variables).result()


def _variables(function: Function) -> dict[int, Type]:
    """The slots of addresses that are only read and written through, with the type of what is there."""
    found: dict[int, Type] = {}
    for block in function.blocks:
        found.update(_allocated(block))
    for block in function.blocks:
        for phi in block.phis:
            for _, value in phi.incoming:
                found.pop(value, None)
        for instruction in block.instructions:
            _drop_escaping(found, instruction)
        for slot in operands_of(block.terminator):
            found.pop(slot, None)
    return found


def _allocated(block: Block) -> dict[int, Type]:
    return {
        item.result: item.type
        for item in block.instructions
        if isinstance(item, Allocate)
        and item.count == 1
        and not isinstance(item.type, ArrayType | StructType)
    }


def _drop_escaping(found: dict[int, Type], instruction: Instruction) -> None:
    match instruction:
        case Load(_, kind, pointer):
            if found.get(pointer, kind) != kind:
                del found[pointer]
        case Store(value, kind, pointer):
            if found.get(pointer, kind) != kind:
                del found[pointer]
            found.pop(value, None)
        case _:
            for slot in operands_of(instruction):
                found.pop(slot, None)


class _Construction:
    """The values of variables at each point, found by looking back along control flow."""

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

    def result(self) -> Function:
        """The function in its new form."""
        lists: dict[int, list[Instruction]] = {}
        for number in self._graph.order:
            lists[number] = self._rewritten(number)
        self._fill()
        same = self._redundant()

        def slot(number: int) -> int:
            return same.get(number, number)

        blocks = list(self._function.blocks)
        for number, lines in lists.items():
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
                tuple([renamed(line, slot) for line in lines]),
                retargeted(block.terminator, slot, lambda target: target),
            )
        return replace(
            self._function,
            blocks=tuple(blocks),
            slots=self._slots,
            types=tuple(self._types),
            constants=tuple(self._constants),
        )

    def _redundant(self) -> dict[int, int]:
        """Phis that always have the same value, each with the slot of that value."""
        same: dict[int, int] = {}

        def resolved(slot: int) -> int:
            while slot in same:
                slot = same[slot]
            return slot

        changed = True
        while changed:
            changed = False
            for phi, inputs in self._inputs.items():
                if phi in same:
                    continue
                values = {resolved(value) for _, value in inputs} - {phi}
                if len(values) == 1:
                    same[phi] = values.pop()
                    changed = True
        return {phi: resolved(phi) for phi in same}

    def _rewritten(self, number: int) -> list[Instruction]:
        current: dict[int, int] = {}
        lines: list[Instruction] = []
        for instruction in self._function.blocks[number].instructions:
            match instruction:
                case Load(result, kind, pointer, _, place) if pointer in self._variables:
                    if pointer not in current:
                        current[pointer] = self._at_begin(number, pointer)
                    lines.append(Copy(result, kind, current[pointer], CopyOf.READ, place))
                case Store(value, kind, pointer, _, place) if pointer in self._variables:
                    current[pointer] = value
                    lines.append(Copy(-1, kind, value, CopyOf.WRITE, place))
                case Allocate(slot) if slot in self._variables:
                    lines.append(replace(instruction, count=0))
                case _:
                    lines.append(instruction)
        for variable, slot in current.items():
            self._at_end[number, variable] = slot
        return lines

    def _at_begin(self, block: int, variable: int) -> int:
        """The value of a variable where a block begins: a phi, whose inputs are looked up later.

        In straight code, the one block before is asked, which has been rewritten.
        """
        path: list[int] = []
        while True:
            value = self._own(block, variable)
            if value is None:
                block = self._graph.predecessors[block][0]
                path.append(block)
                value = self._at_end.get((block, variable))
            if value is not None:
                for passed in path:
                    self._at_end.setdefault((passed, variable), value)
                return value

    def _own(self, block: int, variable: int) -> int | None:
        """The value that a variable gets where a block begins, or None: that of the one before."""
        phis = self._phis.setdefault(block, {})
        sources = self._graph.predecessors[block]
        if variable not in phis and len(sources) == 1:
            return None
        if not sources:
            return self._zero(self._variables[variable])
        if variable not in phis:
            phis[variable] = self._slot(self._variables[variable])
        return phis[variable]

    def _fill(self) -> None:
        """Look up the inputs of phis, which may need more phis."""
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

    def _slot(self, kind: Type) -> int:
        self._types.append(kind)
        self._slots += 1
        return self._slots - 1

    def _zero(self, kind: Type) -> int:
        known = self._zeros.get(kind)
        if known is None:
            known = self._zeros[kind] = self._slot(kind)
            self._constants.append(Constant(known, kind, zero_of(kind)))
        return known
