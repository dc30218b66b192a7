"""Static analysis of a kernel: loops, dependencies and operations, known before it is executed."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final
from weakref import WeakKeyDictionary

from cltrace.kernels.builtins.mangling import demangled
from cltrace.kernels.compiler import Form
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.execute.prepared_kernel import Prepared, prepared_of
from cltrace.kernels.flow.canonical_loops import CanonicalLoop, canonical_loops
from cltrace.kernels.flow.dependencies import ANYWHERE, Dependencies, Reaching, Root
from cltrace.kernels.flow.slicing import reduced
from cltrace.kernels.flow.taint import Tainted, tainted
from cltrace.kernels.flow.uniformity import Movement, Unevenness
from cltrace.kernels.fold import FoldedBlock, folded_blocks
from cltrace.kernels.fold.instruction_costs import operations_of
from cltrace.kernels.ir.instructions import (
    AtomicExchange,
    AtomicUpdate,
    Call,
    Instruction,
    Load,
    Terminator,
    Touch,
)
from cltrace.kernels.ir.module import Module
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.ir.uses import operands_of
from cltrace.kernels.machine import Machine
from cltrace.kernels.program import Program

_SAME_FOR_ALL: Final = frozenset(
    {
        "get_global_size", "get_local_size", "get_num_groups", "get_group_id", "get_work_dim",
        "get_global_offset", "get_enqueued_local_size", "get_num_sub_groups", "get_sub_group_size",
    }
)  # fmt: skip
"""What all work-items of a work-group are told alike."""


class KernelAnalysis:
    """A kernel as it is counted.

    `whole` has all its operations, `prepared` not those that only compute results. Blocks have the same
    numbers in both.
    """

    def __init__(self, whole: Prepared, module: Module) -> None:
        self.whole = whole
        self._module = module
        self._tainted: dict[frozenset[Root], Tainted] = {}
        self._folded: dict[Machine, Mapping[int, FoldedBlock]] = {}

    @cached_property
    def _all(self) -> Dependencies:
        return Dependencies(self.whole.function, self.whole.graph)

    @cached_property
    def prepared(self) -> Prepared:
        """The kernel without what decides neither control nor accesses."""
        return prepared_of(reduced(self.whole.function, self._all), self._module)

    @cached_property
    def dependencies(self) -> Dependencies:
        """Which values of the reduced kernel depend on which."""
        return Dependencies(self.prepared.function, self.prepared.graph)

    def tainted(self, unknown: frozenset[Root]) -> Tainted:
        """What depends on contents that are not known, worked out once for each set of them."""
        known = self._tainted.get(unknown)
        if known is None:
            known = self._tainted[unknown] = tainted(self.dependencies, unknown)
        return known

    @cached_property
    def block_operations(self) -> Mapping[int, Mapping[tuple[str, CostClass], int]]:
        """By block: how many operations of each type and class its instructions are."""
        found: dict[int, dict[tuple[str, CostClass], int]] = {}
        for number in self.whole.graph.order:
            counts: dict[tuple[str, CostClass], int] = {}
            for item in _items(self.whole, number):
                for kind, cost, many in operations_of(item):
                    counts[kind, cost] = counts.get((kind, cost), 0) + many
            found[number] = counts
        return found

    def folded(self, machine: Machine) -> Mapping[int, FoldedBlock]:
        """By block: what the compiler of such a machine leaves of it."""
        known = self._folded.get(machine)
        if known is None:
            known = self._folded[machine] = folded_blocks(self.whole, machine)
        return known

    @cached_property
    def place_operations(self) -> Mapping[int, Sequence[tuple[Place, int]]]:
        """By block: how many operations stand at each place."""
        found: dict[int, list[tuple[Place, int]]] = {}
        for number in self.whole.graph.order:
            counts: dict[Place, int] = {}
            for item in _items(self.whole, number):
                many = sum(count for _, _, count in operations_of(item))
                counts[item.place] = counts.get(item.place, 0) + many
            found[number] = list(counts.items())
        return found

    @cached_property
    def reaching(self) -> Reaching:
        """What decides control and addresses."""
        return self._all.reaching()

    @cached_property
    def loops(self) -> dict[int, CanonicalLoop]:
        """The loops whose trips need not all be run."""
        return dict(canonical_loops(self.prepared.function, self.prepared.graph))

    @cached_property
    def inexact(self) -> Mapping[int, Unevenness]:
        """By header: what is not even in a loop that would otherwise move evenly."""
        function, graph = self.prepared.function, self.prepared.graph
        found: dict[int, Unevenness] = {}
        for header, loop in self.loops.items():
            inside = graph.loops[loop.number].blocks
            around = graph.loops[loop.number].parent
            movement = Movement(function, graph, loop, self._by_lane)
            if movement.control_varies():
                found[header] = Unevenness.CONTROL
            elif self._leaves_behind(loop, inside):
                found[header] = Unevenness.BEHIND
            elif around >= 0 and graph.loops[around].header in found:
                found[header] = Unevenness.AROUND
            elif self._carries(loop, inside) or self._addresses_vary(movement, inside):
                found[header] = Unevenness.ADDRESSES
        return found

    @cached_property
    def _by_lane(self) -> frozenset[int]:
        """The values that may differ from lane to lane: those of ids, and what is read."""
        return self.dependencies.forward(_differs_by_lane)

    def _leaves_behind(self, loop: CanonicalLoop, inside: frozenset[int]) -> bool:
        """Whether what a loop carries from trip to trip, or writes, decides something outside of it."""
        blocks = self.prepared.function.blocks
        wanted = {
            slot
            for site in self.prepared.sites
            if site.block not in inside
            for slot in (site.pointer, *site.indices)
        }
        for number in self.prepared.graph.order:
            if number not in inside:
                wanted.update(operands_of(blocks[number].terminator))
        slots, contents = self.dependencies.slice(wanted)
        written: set[Root] = set()
        for number in inside:
            for item in blocks[number].instructions:
                if not isinstance(item, Touch):
                    written |= self.dependencies.writes(item)
        is_read = bool(written) and (ANYWHERE in contents | written or bool(contents & written))
        return not slots.isdisjoint(loop.kept) or (bool(contents) and is_read)

    def _addresses_vary(self, movement: Movement, inside: frozenset[int]) -> bool:
        """Whether an address does not move by the same amount in each trip."""
        return any(
            not movement.is_linear(slot)
            for site in self.prepared.sites
            if site.block in inside
            for slot in (site.pointer, *site.indices)
        )

    def _carries(self, loop: CanonicalLoop, inside: frozenset[int]) -> bool:
        """Whether a value that is carried from trip to trip, or contents of memory, decide."""
        blocks = self.prepared.function.blocks
        wanted = {
            slot
            for site in self.prepared.sites
            if site.block in inside
            for slot in (site.pointer, *site.indices)
        }
        for number in inside:
            wanted.update(operands_of(blocks[number].terminator))
        slots, contents = self.dependencies.slice(wanted)
        return not slots.isdisjoint(loop.kept) or bool(contents)


def _differs_by_lane(item: Instruction) -> bool:
    """Whether an instruction's result differs from lane to lane though its operands do not."""
    if isinstance(item, Call):
        return demangled(item.callee).name not in _SAME_FOR_ALL
    return isinstance(item, Load | AtomicUpdate | AtomicExchange)


def _items(whole: Prepared, number: int) -> Sequence[Instruction | Terminator]:
    block = whole.function.blocks[number]
    return (*block.instructions, block.terminator)


_ANALYSES: WeakKeyDictionary[Program, dict[tuple[str, Form], KernelAnalysis]] = WeakKeyDictionary()
"""Analyses by program; they go with it."""


def analysis_of(program: Program, kernel: str, form: Form) -> KernelAnalysis:
    """Return the analysis of a kernel, made once per program and form.

    Raises: `UnsupportedKernelError`; `ValueError` if the program has no such kernel.
    """
    analyses = _ANALYSES.setdefault(program, {})
    analysis = analyses.get((kernel, form))
    if analysis is None:
        analysis = KernelAnalysis(program.prepared(kernel, form), program.module(form))
        analyses[kernel, form] = analysis
    return analysis
