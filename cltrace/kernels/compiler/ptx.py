"""Register pressure of PTX functions: the number of values that are live at the same time.

PTX has an unlimited number of registers, one per value; a device's compiler allocates real ones. It needs
at least as many as there are live values at any point (register pressure: Poletto and Sarkar, 1999).
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
_REGISTERS_PER_VALUE: Final = {"rs": 1, "h": 1, "r": 1, "f": 1, "hh": 1, "rd": 2, "fd": 2, "rq": 4}
"""32-bit registers per value, by kind of register."""
_WITHOUT_RESULT: Final = frozenset(
    {"st", "bra", "brx", "ret", "exit", "bar", "barrier", "red", "membar", "fence", "call", "trap"}
)
"""Instructions without a result: their first operand is read, or is not a register."""

_Register = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Instruction:
    """An instruction: the registers that it writes and reads, and the labels that it may jump to."""

    written: frozenset[_Register]
    read: frozenset[_Register]
    targets: tuple[str, ...]
    falls_through: bool

    def live_before(self, live: frozenset[_Register]) -> frozenset[_Register]:
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
    instructions: tuple[_Instruction, ...]
    labels: Mapping[str, int]
    calls: frozenset[str]

    def max_live_registers(self) -> int:
        """Return the maximum number of live 32-bit registers at any point, without predicates."""
        max_live = 0
        live_in = self._live_in()
        for block in self._blocks():
            live = frozenset(self._live_out(block, live_in))
            for position in reversed(block):
                instruction = self.instructions[position]
                max_live = max(max_live, _count_registers(live | instruction.written))
                live = instruction.live_before(live)
            max_live = max(max_live, _count_registers(live))
        return max_live

    def _blocks(self) -> list[range]:
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

    def _live_in(self) -> dict[int, frozenset[_Register]]:
        """Return the registers that are live where each block begins, by its first instruction."""
        blocks = list(reversed(self._blocks()))
        live_in: dict[int, frozenset[_Register]] = {block.start: frozenset() for block in blocks}
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
        self, block: range, live_in: Mapping[int, frozenset[_Register]]
    ) -> Iterator[_Register]:
        last = self.instructions[block[-1]]
        if last.falls_through:
            yield from live_in.get(block.stop, ())
        for target in last.targets:
            yield from live_in.get(self.labels.get(target, -1), ())


def read_ptx(text: str) -> Mapping[str, PtxFunction]:
    """Read the functions of a module that have a body, by name."""
    return {match["name"]: _read_function(match) for match in _FUNCTION.finditer(text)}


def _read_function(match: re.Match[str]) -> PtxFunction:
    instructions: list[_Instruction] = []
    labels: dict[str, int] = {}
    private_bytes = 0
    tables = {
        table: tuple(re.findall(r"[$\w]+", targets))
        for table, targets in _TABLE.findall(match["body"])
    }
    for line in _statements(_TABLE.sub("", match["body"])):
        label = _LABEL.match(line)
        depot = _DEPOT.search(line)
        if label is not None:
            labels[label[1]] = len(instructions)
        elif depot is not None:
            private_bytes += int(depot[1])
        elif not line.startswith("."):
            instructions.append(_read_instruction(line, tables))
    is_kernel = match["kind"] == "entry"
    calls = frozenset(_CALL.findall(match["body"]))
    return PtxFunction(match["name"], is_kernel, private_bytes, tuple(instructions), labels, calls)


def _statements(body: str) -> Iterator[str]:
    """Yield the lines with statements. A brace on its own line is the scope of a call's parameters."""
    for line in body.splitlines():
        statement = line.partition("//")[0].strip()
        if statement not in {"", "{", "}"}:
            yield statement


def _read_instruction(line: str, tables: Mapping[str, tuple[str, ...]]) -> _Instruction:
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
    return _Instruction(written, read, targets, falls_through=not leaves)


def _split_operands(operands: str) -> tuple[str, str]:
    """Split off the first operand, which may be a vector in braces."""
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


def _count_registers(registers: Iterable[_Register]) -> int:
    return sum(_REGISTERS_PER_VALUE[kind] for kind, _ in registers)
