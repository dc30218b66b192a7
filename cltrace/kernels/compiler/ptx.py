"""PTX as far as registers are concerned: which values live at once.

PTX names as many registers as there are values; a device's compiler puts them into real ones. At least
as many are needed as values live at once (a definition of register pressure: Poletto and Sarkar, 1999).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_FUNCTION: Final = re.compile(
    r"^(?:\.visible |\.weak )?\.(?P<kind>entry|func) (?:\([^)]*\) )?(?P<name>[\w$.]+)\s*\("
    r"[^{;]*\)[^{;]*\{\n(?P<body>.*?)^\}",
    re.MULTILINE | re.DOTALL,
)
_LABEL: Final = re.compile(r"^([$\w]+):$")
_TABLE: Final = re.compile(r"^([$\w]+):\s*\.branchtargets\s+([^;]*);", re.MULTILINE)
_CALL: Final = re.compile(r"\bcall(?:\.uni)?\s+(?:\([^)]*\),\s*)?([\w$.]+)")
_REGISTER: Final = re.compile(r"%(rs|rd|rq|fd|r|f|h|hh)(\d+)\b")
_GUARD: Final = re.compile(r"^@!?%p\d+\s+")
_DEPOT: Final = re.compile(r"\.local\s.*?\[(\d+)\];")
_WORDS: Final = {"rs": 1, "h": 1, "r": 1, "f": 1, "hh": 1, "rd": 2, "fd": 2, "rq": 4}
"""How many registers of 32 bits a value of a kind takes."""
_NOTHING_WRITTEN: Final = frozenset(
    {"st", "bra", "brx", "ret", "exit", "bar", "barrier", "red", "membar", "fence", "call", "trap"}
)
"""Instructions whose first operand is read, or no register."""

_Register = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Instruction:
    """What an instruction writes and reads of registers, and where it may go besides the next one."""

    written: frozenset[_Register]
    read: frozenset[_Register]
    targets: tuple[str, ...]
    falls_through: bool

    def before(self, live: frozenset[_Register]) -> frozenset[_Register]:
        """What lives before this instruction, of which `live` lives after it."""
        return (live - self.written) | self.read


@dataclass(frozen=True, slots=True)
class PtxFunction:
    """A function. `private_bytes` is what a work-item has of memory for variables in no register.

    `calls` names the functions that it calls.
    """

    name: str
    is_kernel: bool
    private_bytes: int
    instructions: tuple[_Instruction, ...]
    labels: Mapping[str, int]
    calls: frozenset[str]

    def most_live_registers(self) -> int:
        """How many registers of 32 bits live at once at most. Predicates are none."""
        most = 0
        live_in = self._live_in()
        for block in self._blocks():
            live = frozenset(self._live_out(block, live_in))
            for position in reversed(block):
                instruction = self.instructions[position]
                most = max(most, _width(live | instruction.written))
                live = instruction.before(live)
            most = max(most, _width(live))
        return most

    def _blocks(self) -> list[range]:
        """Runs of instructions that are entered at their first and left at their last."""
        starts = {0, *self.labels.values()}
        starts.update(
            number + 1
            for number, instruction in enumerate(self.instructions)
            if instruction.targets or not instruction.falls_through
        )
        ordered = sorted(start for start in starts if start < len(self.instructions))
        ends = [*ordered[1:], len(self.instructions)]
        return [range(start, end) for start, end in zip(ordered, ends, strict=True)]

    def _live_in(self) -> dict[int, frozenset[_Register]]:
        """What lives at the beginning of each block, by its first instruction."""
        blocks = list(reversed(self._blocks()))
        live_in: dict[int, frozenset[_Register]] = {block.start: frozenset() for block in blocks}
        changed = True
        while changed:
            changed = False
            for block in blocks:
                live = frozenset(self._live_out(block, live_in))
                for position in reversed(block):
                    live = self.instructions[position].before(live)
                if len(live) != len(live_in[block.start]):
                    live_in[block.start] = live
                    changed = True
        return live_in

    def _live_out(
        self, block: range, live_in: Mapping[int, frozenset[_Register]]
    ) -> Iterator[_Register]:
        last = self.instructions[block[-1]]
        if last.falls_through:
            yield from live_in.get(block.stop, ())
        for target in last.targets:
            yield from live_in.get(self.labels.get(target, -1), ())


def read_ptx(text: str) -> Mapping[str, PtxFunction]:
    """The functions of a module that have a body, by name."""
    return {found["name"]: _function(found) for found in _FUNCTION.finditer(text)}


def _function(found: re.Match[str]) -> PtxFunction:
    instructions: list[_Instruction] = []
    labels: dict[str, int] = {}
    private = 0
    tables = {
        table: tuple(re.findall(r"[$\w]+", targets))
        for table, targets in _TABLE.findall(found["body"])
    }
    for line in _statements(_TABLE.sub("", found["body"])):
        label = _LABEL.match(line)
        depot = _DEPOT.search(line)
        if label is not None:
            labels[label[1]] = len(instructions)
        elif depot is not None:
            private += int(depot[1])
        elif not line.startswith("."):
            instructions.append(_instruction(line, tables))
    kind = found["kind"] == "entry"
    calls = frozenset(_CALL.findall(found["body"]))
    return PtxFunction(found["name"], kind, private, tuple(instructions), labels, calls)


def _statements(body: str) -> Iterator[str]:
    """The lines that say something. A line of one brace is the scope of a call's parameters."""
    for line in body.splitlines():
        bare = line.partition("//")[0].strip()
        if bare not in {"", "{", "}"}:
            yield bare


def _instruction(line: str, tables: Mapping[str, tuple[str, ...]]) -> _Instruction:
    bare = _GUARD.sub("", line).rstrip(";")
    opcode, _, operands = bare.replace("\t", " ").partition(" ")
    name = opcode.split(".")[0]
    first, rest = _split(operands)
    written = frozenset() if name in _NOTHING_WRITTEN else _registers([first])
    read = _registers([first, rest] if name in _NOTHING_WRITTEN else [rest])
    targets: tuple[str, ...] = ()
    if name == "bra":
        targets = (operands.strip(),)
    elif name == "brx":
        targets = tables.get(operands.rpartition(",")[2].strip(), ())
    ends = name in {"ret", "exit", "trap", "bra", "brx"} and not line.startswith("@")
    return _Instruction(written, read, targets, not ends)


def _split(operands: str) -> tuple[str, str]:
    """The first operand, which may be a vector in braces, and the others."""
    stripped = operands.strip()
    if stripped.startswith("{"):
        first, _, rest = stripped.partition("}")
        return first, rest
    first, _, rest = stripped.partition(",")
    return first, rest


def _registers(operands: Iterable[str]) -> frozenset[_Register]:
    return frozenset(
        (kind, int(number)) for text in operands for kind, number in _REGISTER.findall(text)
    )


def _width(registers: Iterable[_Register]) -> int:
    return sum(_WORDS[kind] for kind, _ in registers)
