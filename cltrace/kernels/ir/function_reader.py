"""A function, from its lines of LLVM IR."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from cltrace.kernels.ir.instruction_reader import read_attributes, read_instruction
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
from cltrace.kernels.ir.module import Block, Function, Head, Parameter
from cltrace.kernels.ir.operands import Operands
from cltrace.kernels.ir.source_places import NOWHERE, Place
from cltrace.kernels.ir.tokens import Tokens, UnreadableError, symbol_name
from cltrace.kernels.ir.types import VOID, Type

_LABEL: Final = re.compile(r'^([-\w.$]+|"[^"]*"):')
_PLACE: Final = re.compile(r"!dbg !(\d+)")
_RESULT: Final = re.compile(r'^(%(?:"[^"]*"|[-\w.$]+)) = ')
_BEFORE_TYPE: Final = frozenset(
    {
        "define", "dso_local", "internal", "private", "linkonce_odr", "linkonce", "weak",
        "weak_odr", "hidden", "protected", "spir_func", "spir_kernel", "fastcc",
        "local_unnamed_addr", "unnamed_addr", "available_externally",
    }
)  # fmt: skip


class FunctionReader:
    """Reads one function. Blocks and slots are numbered as they are met."""

    def __init__(self, named: Mapping[str, Type], metadata: Metadata) -> None:
        self._metadata = metadata
        self._operands = Operands(named)
        self._blocks: dict[str, int] = {}
        self._place = NOWHERE

    def head(self, line: str) -> Head:
        """What the line with which a function begins says."""
        tokens = Tokens(line)
        self._place = self._place_of(line)
        tokens.skip_any(_BEFORE_TYPE)
        read_attributes(tokens, self._operands)
        self._operands.type(tokens)
        name = symbol_name(tokens.take())
        parameters = self._parameters(tokens)
        facts = self._metadata.kernel_facts(line) if " !kernel_arg_" in line else None
        return Head(name, parameters, facts, self._place)

    def read(self, lines: Sequence[str]) -> Function:
        """The function whose lines these are, from `define` to the closing brace."""
        head = self.head(lines[0])
        blocks = self._read_blocks(lines[1:-1])
        return Function(
            name=head.name,
            parameters=head.parameters,
            blocks=tuple(blocks),
            constants=self._operands.constants,
            slots=self._operands.count,
            kernel=head.kernel,
            place=head.place,
            types=tuple(self._operands.types),
        )

    def _parameters(self, tokens: Tokens) -> tuple[Parameter, ...]:
        tokens.expect("(")
        found: list[Parameter] = []
        while not tokens.skip(")"):
            if tokens.skip("..."):
                continue
            kind = self._operands.type(tokens)
            pointee = read_attributes(tokens, self._operands)
            name = tokens.take() if tokens.peek().startswith("%") else f"%{len(found)}"
            slot = self._operands.slot(name)
            self._operands.types[slot] = kind
            found.append(Parameter(slot, kind, pointee))
            tokens.skip(",")
        return tuple(found)

    def _read_blocks(self, lines: Sequence[str]) -> list[Block]:
        """The blocks in their order in the text. Targets are numbered by this order."""
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
        return [self._block(_joined(group)) for group in groups]

    def _name_entry(self, groups: list[list[str]]) -> None:
        """The first block may have no label: it then has the first number that is free."""
        if "" in self._blocks:
            taken = self._operands.count
            self._blocks[str(taken)] = self._blocks.pop("")
        if not groups:
            raise UnreadableError("a function without blocks")

    def _block(self, lines: Sequence[str]) -> Block:
        phis: list[Phi] = []
        instructions: list[Instruction] = []
        for line in lines[:-1]:
            self._place = self._place_of(line)
            name = _RESULT.match(line)
            body = line[name.end() :] if name is not None else line
            tokens = Tokens(_without_metadata(body))
            if tokens.peek() == "phi":
                phis.append(self._phi(tokens, name[1] if name is not None else ""))
                continue
            defined = name[1] if name is not None else None
            instruction = read_instruction(tokens, self._operands, defined, self._place)
            if instruction is not None:
                instructions.append(instruction)
        self._place = self._place_of(lines[-1])
        return Block(tuple(phis), tuple(instructions), self._terminator(lines[-1]))

    def _phi(self, tokens: Tokens, name: str) -> Phi:
        tokens.take()
        tokens.skip_any(
            frozenset(["fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"])
        )
        kind = self._operands.type(tokens)
        slot = self._operands.slot(name)
        self._operands.types[slot] = kind
        incoming = []
        while tokens.skip("["):
            value = self._operands.value(tokens, kind)
            tokens.expect(",")
            incoming.append((self._label(tokens), value))
            tokens.expect("]")
            tokens.skip(",")
        return Phi(slot, kind, tuple(incoming), self._place)

    def _label(self, tokens: Tokens) -> int:
        word = tokens.take()[1:].strip('"')
        if word not in self._blocks:
            raise UnreadableError(f"there is no block {word!r}")
        return self._blocks[word]

    def _target(self, tokens: Tokens) -> int:
        tokens.expect("label")
        return self._label(tokens)

    def _terminator(self, line: str) -> Terminator:
        tokens = Tokens(_without_metadata(line))
        match tokens.take():
            case "ret":
                kind = self._operands.type(tokens)
                value = -1 if kind == VOID else self._operands.value(tokens, kind)
                return Return(value, self._place)
            case "br" if tokens.peek() == "label":
                return Jump(self._target(tokens), self._place)
            case "br":
                _, condition = self._operands.typed(tokens)
                tokens.expect(",")
                then = self._target(tokens)
                tokens.expect(",")
                return Branch(condition, then, self._target(tokens), self._place)
            case "switch":
                return self._switch(tokens)
            case "unreachable":
                return Unreachable(self._place)
            case word:
                raise UnreadableError(f"a block ends with {word!r}")

    def _switch(self, tokens: Tokens) -> Switch:
        kind, value = self._operands.typed(tokens)
        tokens.expect(",")
        default = self._target(tokens)
        tokens.expect("[")
        cases = []
        while not tokens.skip("]"):
            tokens.take()
            number = int(tokens.take())
            tokens.expect(",")
            cases.append((number, self._target(tokens)))
        return Switch(value, kind, default, tuple(cases), self._place)

    def _place_of(self, line: str) -> Place:
        found = _PLACE.search(line)
        return self._metadata.place(found[1]) if found is not None else NOWHERE


def _joined(lines: Sequence[str]) -> list[str]:
    """Lines, with the cases of a `switch` put on its line."""
    joined: list[str] = []
    for line in lines:
        if joined and joined[-1].startswith("switch ") and "]" not in joined[-1]:
            joined[-1] += " " + line
        else:
            joined.append(line)
    return joined


def _without_metadata(line: str) -> str:
    """A line without what is attached to it, but for strings within."""
    return line.split(", !", 1)[0] if '"' not in line else re.sub(r", ![a-z_.]+ !\d+", "", line)
