"""Register pressure of PTX functions: the number of values that are live at the same time.

PTX has an unlimited number of registers, one per value; a device's compiler allocates real ones. It needs
at least as many as there are live values at any point (register pressure: Poletto and Sarkar, 1999).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_FUNCTION: Final = re.compile(
    r"^(?:\.visible |\.weak )?\.(?P<kind>entry|func) (?:\([^)]*\) )?(?P<name>[\w$.]+)\s*\("
    r"[^{;]*\)[^{;]*\{\n(?P<body>.*?)^\}",
    re.MULTILINE | re.DOTALL,
)
_LABEL: Final = re.compile(r"^([$\w]+):$")
_DEBUG_LABEL: Final = re.compile(r"^\$L__(?:tmp|func_)\w+:$")
_TABLE: Final = re.compile(r"^([$\w]+):\s*\.branchtargets\s+([^;]*);", re.MULTILINE)
_CALL: Final = re.compile(r"\bcall(?:\.uni)?\s+(?:\([^)]*\),\s*)?([\w$.]+)")
_REGISTER: Final = re.compile(r"%(rs|rd|rq|fd|r|f|h|hh)(\d+)\b")
_GUARD: Final = re.compile(r"^@!?%p\d+\s+")
_FILE: Final = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_LOCATION: Final = re.compile(r"^\.loc\s+(\d+)\s+(\d+)")
_DEPOT: Final = re.compile(r"\.local\s.*?\[(\d+)\];")
_REGISTERS_PER_VALUE: Final = {"rs": 1, "h": 1, "r": 1, "f": 1, "hh": 1, "rd": 2, "fd": 2, "rq": 4}
"""32-bit registers per value, by kind of register."""
_WITHOUT_RESULT: Final = frozenset(
    {"st", "bra", "brx", "ret", "exit", "bar", "barrier", "red", "membar", "fence", "call", "trap"}
)
"""Instructions without a result: their first operand is read, or is not a register."""

Register = tuple[str, int]
"""A virtual register: its kind and number."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction: the registers that it writes and reads, and the labels that it may jump to.

    `place` is its file and line in the source, ("", 0) if they are not known.
    """

    written: frozenset[Register]
    read: frozenset[Register]
    targets: tuple[str, ...]
    falls_through: bool
    place: tuple[str, int] = ("", 0)

    def live_before(self, live: frozenset[Register]) -> frozenset[Register]:
        """Return the registers that are live before this instruction; `live` are those after it."""
        return (live - self.written) | self.read


@dataclass(frozen=True, slots=True)
class PtxFunction:
    """A function.

    `private_bytes` is the memory per work-item for variables outside of registers. `calls` are the names
    of the functions that it calls.
    """

    name: str
    is_kernel: bool
    private_bytes: int
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    calls: frozenset[str]

    def max_live_registers(self) -> int:
        """Return the maximum number of live 32-bit registers at any point, without predicates."""
        live_in = self.live_in()
        return max(
            (
                count_registers(live)
                for block in self.blocks()
                for live in self.live(block, live_in)
            ),
            default=0,
        )

    def live(
        self, block: range, live_in: Mapping[int, frozenset[Register]]
    ) -> Iterator[frozenset[Register]]:
        """Yield the registers that are live at each point of a block, from its end."""
        live = frozenset(self._live_out(block, live_in))
        for position in reversed(block):
            instruction = self.instructions[position]
            yield live | instruction.written
            live = instruction.live_before(live)
        yield live

    def successors(self, block: range) -> Iterator[int]:
        """Yield the first instructions of the blocks that may follow a block."""
        last = self.instructions[block[-1]]
        if last.falls_through:
            yield block.stop
        yield from (self.labels[target] for target in last.targets if target in self.labels)

    def blocks(self) -> list[range]:
        """Return the basic blocks as ranges of instruction numbers."""
        starts = {0, *self.labels.values()}
        starts.update(
            number + 1
            for number, instruction in enumerate(self.instructions)
            if instruction.targets or not instruction.falls_through
        )
        ordered = sorted(start for start in starts if start < len(self.instructions))
        ends = [*ordered[1:], len(self.instructions)]
        return [range(start, end) for start, end in zip(ordered, ends, strict=True)]

    def live_in(self) -> dict[int, frozenset[Register]]:
        """Return the registers that are live where each block begins, by its first instruction."""
        blocks = list(reversed(self.blocks()))
        live_in: dict[int, frozenset[Register]] = {block.start: frozenset() for block in blocks}
        changed = True
        while changed:
            changed = False
            for block in blocks:
                live = frozenset(self._live_out(block, live_in))
                for position in reversed(block):
                    live = self.instructions[position].live_before(live)
                if len(live) != len(live_in[block.start]):
                    live_in[block.start] = live
                    changed = True
        return live_in

    def _live_out(
        self, block: range, live_in: Mapping[int, frozenset[Register]]
    ) -> Iterator[Register]:
        for successor in self.successors(block):
            yield from live_in.get(successor, ())


def read_ptx(text: str, name_file: Callable[[str], str] = str) -> Mapping[str, PtxFunction]:
    """Read the functions of a module that have a body, by name. `name_file` returns a file's own name."""
    files = {int(number): name_file(path) for number, path in _FILE.findall(text)}
    return {match["name"]: _read_function(match, files) for match in _FUNCTION.finditer(text)}


def _read_function(match: re.Match[str], files: Mapping[int, str]) -> PtxFunction:
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    private_bytes, place = 0, ("", 0)
    tables = {
        table: tuple(re.findall(r"[$\w]+", targets))
        for table, targets in _TABLE.findall(match["body"])
    }
    for line in _statements(_TABLE.sub("", match["body"])):
        label = _LABEL.match(line)
        depot, location = _DEPOT.search(line), _LOCATION.match(line)
        if label is not None and not _DEBUG_LABEL.match(line):
            labels[label[1]] = len(instructions)
        elif depot is not None:
            private_bytes += int(depot[1])
        elif location is not None:
            place = files.get(int(location[1]), ""), int(location[2])
        elif label is None and not line.startswith("."):
            instructions.append(_read_instruction(line, tables, place))
    is_kernel = match["kind"] == "entry"
    calls = frozenset(_CALL.findall(match["body"]))
    return PtxFunction(match["name"], is_kernel, private_bytes, tuple(instructions), labels, calls)


def _statements(body: str) -> Iterator[str]:
    """Yield the lines with statements. A brace on its own line is the scope of a call's parameters."""
    for line in body.splitlines():
        statement = line.partition("//")[0].strip()
        if statement not in {"", "{", "}"}:
            yield statement


def _read_instruction(
    line: str, tables: Mapping[str, tuple[str, ...]], place: tuple[str, int]
) -> Instruction:
    unguarded = _GUARD.sub("", line).rstrip(";")
    opcode, _, operands = unguarded.replace("\t", " ").partition(" ")
    name = opcode.split(".")[0]
    first, rest = _split_operands(operands)
    written = frozenset() if name in _WITHOUT_RESULT else _registers([first])
    read = _registers([first, rest] if name in _WITHOUT_RESULT else [rest])
    targets: tuple[str, ...] = ()
    if name == "bra":
        targets = (operands.strip(),)
    elif name == "brx":
        targets = tables.get(operands.rpartition(",")[2].strip(), ())
    leaves = name in {"ret", "exit", "trap", "bra", "brx"} and not line.startswith("@")
    return Instruction(written, read, targets, not leaves, place)


def _split_operands(operands: str) -> tuple[str, str]:
    """Split off the first operand, which may be a vector in braces."""
    stripped = operands.strip()
    if stripped.startswith("{"):
        first, _, rest = stripped.partition("}")
        return first, rest
    first, _, rest = stripped.partition(",")
    return first, rest


def _registers(operands: Iterable[str]) -> frozenset[Register]:
    return frozenset(
        (kind, int(number)) for text in operands for kind, number in _REGISTER.findall(text)
    )


def count_registers(registers: Iterable[Register]) -> int:
    """Return the number of 32-bit registers for virtual ones."""
    return sum(_REGISTERS_PER_VALUE[kind] for kind, _ in registers)
