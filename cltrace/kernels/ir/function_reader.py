"""Reader of functions in LLVM IR text."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from cltrace.kernels.ir.attributes import read_attributes
from cltrace.kernels.ir.instruction_reader import read_instruction
from cltrace.kernels.ir.instructions import (
    Branch,
    Instruction,
    Jump,
    Phi,
    Return,
    Switch,
    Terminator,
    Unreachable,
)
from cltrace.kernels.ir.metadata import Metadata
from cltrace.kernels.ir.module import Block, Declaration, Function, Parameter
from cltrace.kernels.ir.operands import Operands
from cltrace.kernels.ir.source_places import NOWHERE, Place
from cltrace.kernels.ir.tokens import Tokens, UnreadableError, symbol_name
from cltrace.kernels.ir.types import VOID, Type
from cltrace.kernels.limits import check_cpu_limit

_LABEL: Final = re.compile(r'^([-\w.$]+|"[^"]*"):')
_PLACE: Final = re.compile(r"!dbg !(\d+)")
_RESULT: Final = re.compile(r'^(%(?:"[^"]*"|[-\w.$]+)) = ')
_BEFORE_TYPE: Final = frozenset(
    {
        "define",
        "dso_local",
        "internal",
        "private",
        "linkonce_odr",
        "linkonce",
        "weak",
        "weak_odr",
        "hidden",
        "protected",
        "spir_func",
        "spir_kernel",
        "fastcc",
        "local_unnamed_addr",
        "unnamed_addr",
        "available_externally",
    }
)


class FunctionReader:
    """Reads one function. Blocks and slots are numbered in the order in which they appear."""

    def __init__(self, structures: Mapping[str, Type], metadata: Metadata) -> None:
        self._metadata = metadata
        self._operands = Operands(structures)
        self._blocks: dict[str, int] = {}
        self._place = NOWHERE

    def read_declaration(self, line: str) -> Declaration:
        """Read the declaration of a function from its `define` line."""
        tokens = Tokens(line)
        self._place = self._place_of(line)
        tokens.skip_any(_BEFORE_TYPE)
        read_attributes(tokens, self._operands)
        self._operands.read_type(tokens)
        name = symbol_name(tokens.take())
        parameters = self._read_parameters(tokens)
        facts = self._metadata.kernel_facts(line) if " !kernel_arg_" in line else None
        return Declaration(name, parameters, facts, self._place)

    def read_function(self, lines: Sequence[str]) -> Function:
        """Read a function from its lines, from `define` to the closing brace."""
        declaration = self.read_declaration(lines[0])
        blocks = self._read_blocks(lines[1:-1])
        return Function(
            name=declaration.name,
            parameters=declaration.parameters,
            blocks=tuple(blocks),
            constants=self._operands.constants,
            slots=self._operands.count,
            kernel=declaration.kernel,
            place=declaration.place,
            types=tuple(self._operands.types),
        )

    def _read_parameters(self, tokens: Tokens) -> tuple[Parameter, ...]:
        tokens.expect("(")
        parameters: list[Parameter] = []
        while not tokens.skip(")"):
            if tokens.skip("..."):
                continue
            kind = self._operands.read_type(tokens)
            pointee = read_attributes(tokens, self._operands)
            name = tokens.take() if tokens.peek().startswith("%") else f"%{len(parameters)}"
            slot = self._operands.slot_of(name)
            self._operands.types[slot] = kind
            parameters.append(Parameter(slot, kind, pointee))
            tokens.skip(",")
        return tuple(parameters)

    def _read_blocks(self, lines: Sequence[str]) -> list[Block]:
        """Read the blocks in the order of the text, by which branch targets are numbered."""
        groups: list[list[str]] = []
        for line in lines:
            label = _LABEL.match(line)
            if label is not None:
                self._blocks[label[1].strip('"')] = len(groups)
                groups.append([])
            elif line.strip() and not line.lstrip().startswith((";", "#dbg")):
                if not groups:
                    self._blocks[""] = 0
                    groups.append([])
                groups[-1].append(line.strip())
        self._name_entry(groups)
        return [self._read_block(_join_switches(group)) for group in groups]

    def _name_entry(self, groups: list[list[str]]) -> None:
        """Name a first block without a label: LLVM gives it the next free number."""
        if "" in self._blocks:
            free_number = self._operands.count
            self._blocks[str(free_number)] = self._blocks.pop("")
        if not groups:
            raise UnreadableError("a function without blocks")

    def _read_block(self, lines: Sequence[str]) -> Block:
        phis: list[Phi] = []
        instructions: list[Instruction] = []
        for line in lines[:-1]:
            check_cpu_limit()
            self._place = self._place_of(line)
            name = _RESULT.match(line)
            body = line[name.end() :] if name is not None else line
            tokens = Tokens(_without_metadata(body))
            if tokens.peek() == "phi":
                phis.append(self._read_phi(tokens, name[1] if name is not None else ""))
                continue
            defined = name[1] if name is not None else None
            instruction = read_instruction(tokens, self._operands, defined, self._place)
            if instruction is not None:
                instructions.append(instruction)
        self._place = self._place_of(lines[-1])
        return Block(tuple(phis), tuple(instructions), self._read_terminator(lines[-1]))

    def _read_phi(self, tokens: Tokens, name: str) -> Phi:
        tokens.take()
        tokens.skip_any(
            frozenset(["fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"])
        )
        kind = self._operands.read_type(tokens)
        slot = self._operands.slot_of(name)
        self._operands.types[slot] = kind
        incoming = []
        while tokens.skip("["):
            value = self._operands.read_value(tokens, kind)
            tokens.expect(",")
            incoming.append((self._read_label(tokens), value))
            tokens.expect("]")
            tokens.skip(",")
        return Phi(slot, kind, tuple(incoming), self._place)

    def _read_label(self, tokens: Tokens) -> int:
        word = tokens.take()[1:].strip('"')
        if word not in self._blocks:
            raise UnreadableError(f"unknown block {word!r}")
        return self._blocks[word]

    def _read_target(self, tokens: Tokens) -> int:
        tokens.expect("label")
        return self._read_label(tokens)

    def _read_terminator(self, line: str) -> Terminator:
        tokens = Tokens(_without_metadata(line))
        keeps_loop = self._metadata.keeps_loop(line)
        match tokens.take():
            case "ret":
                kind = self._operands.read_type(tokens)
                value = -1 if kind == VOID else self._operands.read_value(tokens, kind)
                return Return(value, self._place)
            case "br" if tokens.peek() == "label":
                return Jump(self._read_target(tokens), self._place, keeps_loop)
            case "br":
                _, condition = self._operands.read_typed_value(tokens)
                tokens.expect(",")
                then = self._read_target(tokens)
                tokens.expect(",")
                return Branch(condition, then, self._read_target(tokens), self._place, keeps_loop)
            case "switch":
                return self._read_switch(tokens)
            case "unreachable":
                return Unreachable(self._place)
            case word:
                raise UnreadableError(f"unknown terminator {word!r}")

    def _read_switch(self, tokens: Tokens) -> Switch:
        kind, value = self._operands.read_typed_value(tokens)
        tokens.expect(",")
        default = self._read_target(tokens)
        tokens.expect("[")
        cases = []
        while not tokens.skip("]"):
            tokens.take()
            number = int(tokens.take())
            tokens.expect(",")
            cases.append((number, self._read_target(tokens)))
        return Switch(value, kind, default, tuple(cases), self._place)

    def _place_of(self, line: str) -> Place:
        match = _PLACE.search(line)
        return self._metadata.place(match[1]) if match is not None else NOWHERE


def _join_switches(lines: Sequence[str]) -> list[str]:
    """Return the lines with the cases of each `switch` joined to its line."""
    joined: list[str] = []
    for line in lines:
        if joined and joined[-1].startswith("switch ") and "]" not in joined[-1]:
            joined[-1] += " " + line
        else:
            joined.append(line)
    return joined


def _without_metadata(line: str) -> str:
    """Return a line without the metadata attached to it; strings in it are left alone."""
    return line.split(", !", 1)[0] if '"' not in line else re.sub(r", ![a-z_.]+ !\d+", "", line)
