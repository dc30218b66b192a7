"""Statements of a kernel's blocks, with those that record what each work-item does."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.execute.lowering import lower
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.execute.sites import SiteTable
from cltrace.kernels.execute.state import Site
from cltrace.kernels.instrument.c_calls import Calls
from cltrace.kernels.instrument.c_operations import Computation, Computations
from cltrace.kernels.instrument.c_types import (
    SPACE_QUALIFIERS,
    c_type,
    constant,
    has_three,
    read,
    write,
)
from cltrace.kernels.instrument.event_log import record_access, record_barrier, record_bit
from cltrace.kernels.instrument.item_ends import ItemEnds
from cltrace.kernels.instrument.slot_names import SlotNames, stored_type
from cltrace.kernels.ir.instructions import (
    Allocate,
    Binary,
    Branch,
    Call,
    FallThrough,
    Instruction,
    Jump,
    Load,
    Store,
    Switch,
    Terminator,
)
from cltrace.kernels.ir.types import (
    CONSTANT,
    GENERIC,
    PRIVATE,
    PointerType,
    Type,
    alignment_bytes,
    stored_bytes,
)
from cltrace.kernels.ir.uses import operands_of


class BlockWriter:
    """Writer of blocks. The numbers of barriers follow those of the kernel's sites.

    `targets` and `barriers` are as for `instrument`.
    """

    def __init__(
        self,
        kernel: PreparedKernel,
        targets: Mapping[int, Sequence[int]],
        barriers: Sequence[int],
        slots: SlotNames,
        ends: ItemEnds,
    ) -> None:
        self._kernel = kernel
        self._ends = ends
        self._function = kernel.function
        self._targets = targets
        self._barriers = {block: number for number, block in enumerate(barriers)}
        self._slots = slots
        self._computations = Computations(slots.expression, slots.type_of)
        self._calls = Calls(slots.expression, slots.type_of)
        self._sites_of = self._place_sites()
        self._products = _find_products(kernel)

    def _place_sites(self) -> Mapping[tuple[int, int], Sequence[Site]]:
        """Return the sites of each instruction, by block and position in it."""
        kernel, function = self._kernel, self._function
        table = SiteTable(
            len(kernel.variables) + len(function.parameters), function.integer_constants()
        )
        places = {}
        for block in kernel.graph.order:
            for position, item in enumerate(function.blocks[block].instructions):
                first = len(table.sites)
                lower(item, block, table)
                places[block, position] = range(first, len(table.sites))
        return {
            key: [kernel.sites[number] for number in numbers] for key, numbers in places.items()
        }

    def block(self, number: int) -> Iterator[str]:
        """Yield a block: its label, its statements and where it leads."""
        block = self._function.blocks[number]
        yield f"B{number}: ;"
        if number in self._barriers:
            yield record_barrier(len(self._kernel.sites) + self._barriers[number])
        yield self._ends.wait(number)
        for position, item in enumerate(block.instructions):
            yield from self._statements(item, self._sites_of[number, position])
        yield from self._leave(number, block.terminator)

    def _statements(self, item: Instruction, sites: Sequence[Site]) -> Iterator[str]:
        match item:
            case Load() | Store():
                yield record_access(sites[0].number, self._slots.expression(item.pointer))
                yield self._access(item)
            case Allocate(result=result, count=count):
                yield f"v{result} = (in_private)a{result};" if count else ""
            case Call(callee="__translate_sampler_initializer"):
                self._slots.name_sampler(item)
            case Call() if self._ends.is_joined_barrier(item):
                pass
            case Call():
                yield from self._calls.statements(item, sites)
            case _ if isinstance(item, Computation):
                yield from self._compute(item)
            case _:
                raise UnsupportedKernelError(
                    f"{item.place}: a device records no {type(item).__name__}"
                )

    def _compute(self, item: Computation) -> Iterator[str]:
        if item.result in self._slots.handles:
            self._slots.name_copy(item)
        elif isinstance(item, Binary) and item.result in self._products:
            self._slots.name(item.result, self._computations.expression(item))
        elif item.result >= 0:
            yield self._computations.assign(item)

    def _access(self, item: Load | Store) -> str:
        """Return the statement of a read or write."""
        kind, pointer = stored_type(item.type), self._slots.expression(item.pointer)
        qualifiers = self._qualifiers(item.pointer, kind)
        if 0 < item.alignment_bytes < alignment_bytes(kind):
            return self._access_bytes(item, kind, qualifiers)
        if isinstance(item, Load):
            return f"v{item.result} = {read(kind, qualifiers, pointer)};"
        return write(kind, qualifiers, pointer, self._slots.expression(item.value))

    def _access_bytes(self, item: Load | Store, kind: Type, qualifiers: str) -> str:
        """Return the statement of a read or write at an address that fits no value of its type."""
        memory = f"(({qualifiers} uchar *){self._slots.expression(item.pointer)})[at]"
        value = "((__private uchar *)&copied)[at]"
        loop = f"for (uint at = 0; at < {stored_bytes(kind)}; ++at)"
        if isinstance(item, Load):
            return (
                f"{{ {c_type(kind)} copied; {loop} {value} = {memory}; v{item.result} = copied; }}"
            )
        copied = f"{c_type(kind)} copied = {self._slots.expression(item.value)};"
        return f"{{ {copied} {loop} {memory} = {value}; }}"

    def _qualifiers(self, pointer: int, kind: Type) -> str:
        """Return the qualifiers of an access. What other work-items may see is read and written once."""
        own = self._slots.type_of(pointer)
        space = own.space if isinstance(own, PointerType) else GENERIC
        is_plain = space in {PRIVATE, CONSTANT} or has_three(kind)
        return SPACE_QUALIFIERS[space] if is_plain else f"volatile {SPACE_QUALIFIERS[space]}"

    def _leave(self, number: int, terminator: Terminator) -> Iterator[str]:
        match terminator:
            case Jump(target) | FallThrough(target):
                yield self._go(number, target)
            case Branch():
                yield f"if ({self._slots.expression(terminator.condition)})"
                yield f"{{ {self._go(number, terminator.then)} }}"
                yield f"else {{ {self._go(number, terminator.otherwise)} }}"
            case Switch():
                yield f"switch ({self._slots.expression(terminator.value)}) {{"
                for value, target in terminator.cases:
                    case = constant(terminator.type, value, self._slots.symbol)
                    yield f"case {case}: {self._go(number, target)}"
                yield f"default: {self._go(number, terminator.default)} }}"
            case _:
                yield "goto cltrace_leave;"

    def _go(self, source: int, target: int) -> str:
        """Return the statements of an edge: digits of its decisions, values of the target's phis."""
        targets = self._targets.get(source, ())
        bits = ""
        if targets:
            position = list(targets).index(target)
            bits = record_bit(0) * min(position, len(targets) - 1)
            bits += record_bit(1) if position < len(targets) - 1 else ""
        bits = f"{self._ends.trip(source, target)} {bits}"
        moves = [
            (phi.result, self._slots.expression(dict(phi.incoming)[source]))
            for phi in self._function.blocks[target].phis
        ]
        if len(moves) == 1:
            return f"{bits} v{moves[0][0]} = {moves[0][1]}; goto B{target};"
        saved = " ".join(
            f"{c_type(self._slots.type_of(slot))} n{slot} = {text};" for slot, text in moves
        )
        moved = " ".join(f"v{slot} = n{slot};" for slot, _ in moves)
        return (
            f"{bits} {{ {saved} {moved} }} goto B{target};" if moves else f"{bits} goto B{target};"
        )


def _find_products(kernel: PreparedKernel) -> frozenset[int]:
    """Return the products that a sum of the same line uses, and nothing else does.

    They stay in the expression of the sum, as in the source, so that a compiler makes one operation of
    both where it would do so there.
    """
    uses: Counter[int] = Counter()
    sums: dict[int, tuple[int, int]] = {}
    products: dict[int, tuple[int, int]] = {}
    for number in kernel.graph.order:
        block = kernel.function.blocks[number]
        for phi in block.phis:
            uses.update(value for _, value in phi.incoming)
        for item in (*block.instructions, block.terminator):
            uses.update(operands_of(item))
            if isinstance(item, Binary) and item.operator == "fmul":
                products[item.result] = (number, item.place.line)
            elif isinstance(item, Binary) and item.operator in {"fadd", "fsub"}:
                sums.update(dict.fromkeys(operands_of(item), (number, item.place.line)))
    return frozenset(
        slot for slot, place in products.items() if uses[slot] == 1 and sums.get(slot) == place
    )
