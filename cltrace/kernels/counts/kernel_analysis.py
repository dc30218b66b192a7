"""Static analysis of a kernel: loops, dependencies and operations, without executing it."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final
from weakref import WeakKeyDictionary

from cltrace.errors import KernelError
from cltrace.kernels.builtins.function_kinds import SAME_IN_GROUP
from cltrace.kernels.builtins.mangling import demangle
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.counts.access_places import has_unplaced_accesses, place_accesses
from cltrace.kernels.execute.prepared_kernel import PreparedKernel, prepare_function
from cltrace.kernels.flow.canonical_loops import CanonicalLoop, find_canonical_loops
from cltrace.kernels.flow.dependencies import UNKNOWN_ROOT, DataDependencies, Root, SliceInputs
from cltrace.kernels.flow.group_values import LaneValues, find_lane_values
from cltrace.kernels.flow.segments import Segment, find_segments
from cltrace.kernels.flow.slicing import reduce_to_slice
from cltrace.kernels.flow.taint import Taint, find_taint
from cltrace.kernels.flow.uniformity import NonUniformity, TripMotion
from cltrace.kernels.fold import FoldedKernel, fold_kernel
from cltrace.kernels.fold.instruction_operations import operations_of
from cltrace.kernels.fold.remainders import restore_remainders
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

_ANALYSES: Final[WeakKeyDictionary[Program, dict[tuple[str, CodeForm], "KernelAnalysis"]]] = (
    WeakKeyDictionary()
)
"""Analyses by program. An entry is dropped with its program."""


class KernelAnalysis:
    """Static analysis of a kernel, for counting.

    `full_kernel` has all operations of the kernel. `sliced_kernel` is reduced to the operations that
    decide control and addresses. Blocks have the same numbers in both.
    """

    def __init__(self, full_kernel: PreparedKernel, module: Module, source: str = "") -> None:
        """`source` is the program's text."""
        self.full_kernel = full_kernel
        self._module = module
        self._source = source
        self._taints: dict[frozenset[Root], Taint] = {}
        self._lane_values: dict[
            tuple[frozenset[Root], frozenset[int], frozenset[int]], LaneValues
        ] = {}
        self._folded: dict[Machine, FoldedKernel] = {}

    @cached_property
    def _all_dependencies(self) -> DataDependencies:
        return DataDependencies(self.full_kernel.function, self.full_kernel.graph)

    @cached_property
    def sliced_kernel(self) -> PreparedKernel:
        """The kernel without operations that decide neither control nor addresses."""
        return prepare_function(
            reduce_to_slice(self.full_kernel.function, self._all_dependencies), self._module
        )

    @cached_property
    def dependencies(self) -> DataDependencies:
        """The dependencies between values of the reduced kernel."""
        return DataDependencies(self.sliced_kernel.function, self.sliced_kernel.graph)

    @cached_property
    def mixed_sites(self) -> frozenset[int]:
        """The sites of the reduced kernel whose pointer may point into one of several memory objects."""
        roots = self.dependencies.roots
        return frozenset(
            site.number
            for site in self.sliced_kernel.sites
            if len(roots.get(site.pointer, frozenset())) > 1
        )

    def taint_of(self, unknown: frozenset[Root]) -> Taint:
        """Return the taint by unknown contents, computed once per set of roots."""
        cached = self._taints.get(unknown)
        if cached is None:
            cached = self._taints[unknown] = find_taint(self.dependencies, unknown)
        return cached

    def lane_values_of(
        self,
        unknown: frozenset[Root],
        flat: frozenset[int],
        quotients: frozenset[int] = frozenset(),
    ) -> LaneValues:
        """Return what differs between work-items with the same ids in the dimensions `flat` of a group.

        They have the same values in the slots of `quotients`, too. It is computed once per set of roots,
        dimensions and slots.
        """
        key = (unknown, flat, quotients)
        cached = self._lane_values.get(key)
        if cached is None:
            taint = self.taint_of(unknown)
            cached = find_lane_values(self.dependencies, taint, flat, quotients)
            self._lane_values[key] = cached
        return cached

    @cached_property
    def block_operations(self) -> Mapping[int, Mapping[tuple[str, CostClass], int]]:
        """Per block, the number of operations of each type and cost class."""
        by_block: dict[int, dict[tuple[str, CostClass], int]] = {}
        for number in self.full_kernel.graph.order:
            counts: dict[tuple[str, CostClass], int] = {}
            for item in _items(self.full_kernel, number):
                for kind, cost, count in operations_of(item):
                    counts[kind, cost] = counts.get((kind, cost), 0) + count
            by_block[number] = counts
        return by_block

    def fold(self, machine: Machine) -> FoldedKernel:
        """Return the kernel as the compiler of a machine leaves it, computed once per machine."""
        cached = self._folded.get(machine)
        if cached is None:
            kernel = self.full_kernel
            if not machine.has_item_loops:
                kernel = restore_remainders(kernel, self._source)
            cached = self._folded[machine] = fold_kernel(kernel, machine)
        return cached

    @cached_property
    def segments(self) -> Mapping[int, Sequence[Segment]]:
        """The segments of arrays that loops run over, by the loop's number."""
        return find_segments(self.dependencies)

    @cached_property
    def written_roots(self) -> frozenset[Root]:
        """The roots that the kernel may write."""
        written = (
            self._all_dependencies.writes(item) for _, item in self._all_dependencies.instructions
        )
        return frozenset[Root]().union(*written)

    @cached_property
    def place_operations(self) -> Mapping[int, Sequence[tuple[Place, int]]]:
        """Per block, the number of operations at each place of the source."""
        by_block: dict[int, list[tuple[Place, int]]] = {}
        for number in self.full_kernel.graph.order:
            counts: dict[Place, int] = {}
            for item in _items(self.full_kernel, number):
                item_count = sum(count for _, _, count in operations_of(item))
                counts[item.place] = counts.get(item.place, 0) + item_count
            by_block[number] = list(counts.items())
        return by_block

    @cached_property
    def slice_inputs(self) -> SliceInputs:
        """The parameters and contents that decide control and addresses."""
        return self._all_dependencies.slice_inputs()

    @cached_property
    def loops(self) -> dict[int, CanonicalLoop]:
        """The canonical loops by header. Some of their trips can be skipped."""
        return dict(find_canonical_loops(self.sliced_kernel.function, self.sliced_kernel.graph))

    @cached_property
    def non_uniform_loops(self) -> Mapping[int, NonUniformity]:
        """The canonical loops whose trips are not uniform, by header, with the reason."""
        function, graph = self.sliced_kernel.function, self.sliced_kernel.graph
        reasons: dict[int, NonUniformity] = {}
        for header, loop in self.loops.items():
            inside = graph.loops[loop.number].blocks
            parent = graph.loops[loop.number].parent
            motion = TripMotion(function, graph, loop, self._divergent_slots)
            if motion.control_varies():
                reasons[header] = NonUniformity.CONTROL
            elif self._has_live_out(loop, inside):
                reasons[header] = NonUniformity.LIVE_OUT
            elif parent >= 0 and graph.loops[parent].header in reasons:
                reasons[header] = NonUniformity.ENCLOSING_LOOP
            elif self._depends_on_trips(loop, inside) or self._addresses_vary(motion, inside):
                reasons[header] = NonUniformity.ADDRESSES
        return reasons

    @cached_property
    def _divergent_slots(self) -> frozenset[int]:
        """The slots whose values may differ from lane to lane: ids, and values read from memory."""
        return self.dependencies.forward_slice(_differs_by_lane)

    def _has_live_out(self, loop: CanonicalLoop, inside: frozenset[int]) -> bool:
        """Return True if values or memory left by a loop decide something outside it."""
        blocks = self.sliced_kernel.function.blocks
        criteria = {
            slot
            for site in self.sliced_kernel.sites
            if site.block not in inside
            for slot in (site.pointer, *site.indices)
        }
        for number in self.sliced_kernel.graph.order:
            if number not in inside:
                criteria.update(operands_of(blocks[number].terminator))
        slots, contents = self.dependencies.backward_slice(criteria)
        written: set[Root] = set()
        for number in inside:
            for item in blocks[number].instructions:
                if not isinstance(item, Touch):
                    written |= self.dependencies.writes(item)
        is_read = bool(written) and (UNKNOWN_ROOT in contents | written or bool(contents & written))
        return not slots.isdisjoint(loop.non_affine) or (bool(contents) and is_read)

    def _addresses_vary(self, motion: TripMotion, inside: frozenset[int]) -> bool:
        """Return True if an address does not advance by a constant amount per trip."""
        return any(
            not motion.is_linear(slot)
            for site in self.sliced_kernel.sites
            if site.block in inside
            for slot in (site.pointer, *site.indices)
        )

    def _depends_on_trips(self, loop: CanonicalLoop, inside: frozenset[int]) -> bool:
        """Return True if values of earlier trips or memory contents decide something in the loop."""
        blocks = self.sliced_kernel.function.blocks
        criteria = {
            slot
            for site in self.sliced_kernel.sites
            if site.block in inside
            for slot in (site.pointer, *site.indices)
        }
        for number in inside:
            criteria.update(operands_of(blocks[number].terminator))
        slots, contents = self.dependencies.backward_slice(criteria)
        return not slots.isdisjoint(loop.non_affine) or bool(contents)


def analyse_kernel(program: Program, kernel: str, form: CodeForm) -> KernelAnalysis:
    """Return the analysis of a kernel, made once per program and form.

    Raises: `UnsupportedKernelError`; `ValueError` if the program has no such kernel.
    """
    analyses = _ANALYSES.setdefault(program, {})
    analysis = analyses.get((kernel, form))
    if analysis is None:
        prepared, module = program.prepare(kernel, form), program.module(form)
        if form is CodeForm.OPTIMISED:
            prepared = _place_accesses(program, prepared, module)
        analysis = analyses[kernel, form] = KernelAnalysis(prepared, module, program.source)
    return analysis


def _place_accesses(program: Program, prepared: PreparedKernel, module: Module) -> PreparedKernel:
    """Return a kernel all of whose accesses have lines, if its code as written can be read."""
    optimised = DataDependencies(prepared.function, prepared.graph)
    if not has_unplaced_accesses(optimised):
        return prepared
    try:
        written = program.prepare(prepared.function.name, CodeForm.WRITTEN)
    except KernelError:
        return prepared
    dependencies = DataDependencies(written.function, written.graph)
    return prepare_function(place_accesses(optimised, dependencies), module)


def _differs_by_lane(item: Instruction) -> bool:
    """Return True if an instruction's result differs between lanes even for equal operands."""
    if isinstance(item, Call):
        return demangle(item.callee).name not in SAME_IN_GROUP
    return isinstance(item, Load | AtomicUpdate | AtomicExchange)


def _items(full_kernel: PreparedKernel, number: int) -> Sequence[Instruction | Terminator]:
    block = full_kernel.function.blocks[number]
    return (*block.instructions, block.terminator)
