"""Ends of work-items: at the end of their kernel, or at a limit of trips through loops.

A work-item that is stopped must not leave others of its work-group waiting at a barrier. So all barriers
of a kernel whose loops lead to one become a single barrier, at which stopped work-items arrive, too;
behind it the whole work-group ends. The work-group agrees on that by the number of barriers before: a
work-item that is stopped later does not change what others read. As in OpenCL, all work-items of a
work-group have to make the same trips through a loop with a barrier.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from cltrace.kernels.builtins.function_kinds import COLLECTIVE_NAME
from cltrace.kernels.builtins.mangling import demangle
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.instrument.event_log import EXIT, STOPPED, TRIP
from cltrace.kernels.ir.instructions import Call

GROUP_BARRIERS: Final = frozenset({"barrier", "work_group_barrier", "wait_group_events"})
"""Functions that the work-items of a work-group wait in."""
_BOTH_FENCES: Final = 3
_STOP: Final = f"""\
cltrace_stop: ;
cltrace_cut = {STOPPED:#x}u;
atomic_inc(cltrace_stops);"""
_STOP_GROUP: Final = "atomic_max(cltrace_stops + 1 + cltrace_group, ~cltrace_epoch);"


class ItemEnds:
    """Statements where work-items may end.

    `has_limit` is True for a kernel with loops.
    """

    def __init__(self, kernel: PreparedKernel) -> None:
        self._kernel = kernel
        graph = kernel.graph
        self._rank = {block: rank for rank, block in enumerate(graph.order)}
        self._calls = dict(self._find_calls())
        again = [
            target
            for source in graph.order
            for target in graph.successors[source]
            if self._is_trip(source, target)
        ]
        self.has_limit = bool(again)
        self._places: dict[int, int] = {}
        if not self._calls.keys().isdisjoint(self._reached(again, graph.order, ())):
            joins = [*self._calls, *self._joined_headers()]
            self._places = {block: number for number, block in enumerate(joins, 1)}

    def _find_calls(self) -> Iterator[tuple[int, Call]]:
        """Yield the calls for which a work-group has to be complete, by the block that each begins."""
        for number in self._kernel.graph.order:
            instructions = self._kernel.function.blocks[number].instructions
            first = instructions[0] if instructions else None
            if not isinstance(first, Call):
                continue
            name = demangle(first.callee).name
            collective = COLLECTIVE_NAME.fullmatch(name)
            is_of_group = collective is not None and collective["scope"] == "work_group"
            if name in GROUP_BARRIERS or is_of_group:
                yield number, first

    def _is_trip(self, source: int, target: int) -> bool:
        """Return True for an edge back: each way round a loop has one."""
        return self._rank[target] <= self._rank[source]

    def _joined_headers(self) -> Iterator[int]:
        """Yield the headers of loops with barriers in which there is a way round without one.

        The joint barrier leads to several places of such a loop, which would then have no header.
        """
        joins = {*self._calls}
        for loop in reversed(self._kernel.graph.loops):
            if loop.header in joins or loop.blocks.isdisjoint(joins):
                continue
            following = self._kernel.graph.successors[loop.header]
            if loop.header in self._reached(following, loop.blocks, joins):
                joins.add(loop.header)
                yield loop.header

    def _reached(
        self, blocks: Sequence[int], among: Collection[int], ends: Collection[int]
    ) -> set[int]:
        """Return those `among` some blocks that others lead to, without a way through `ends`."""
        reached: set[int] = set()
        waiting = list(blocks)
        while waiting:
            block = waiting.pop()
            if block in among and block not in reached and block not in ends:
                reached.add(block)
                waiting.extend(self._kernel.graph.successors[block])
        return reached

    def trip(self, source: int, target: int) -> str:
        """Return the statement of an edge that limits trips; "" for an edge that is none."""
        return TRIP if self._is_trip(source, target) else ""

    def wait(self, block: int) -> str:
        """Return the statements that join the work-group at the begin of a block; "" for no wait."""
        number = self._places.get(block, 0)
        return (
            f"cltrace_at = {number}u; goto cltrace_wait; cltrace_go_{number}: ;" if number else ""
        )

    def is_joined_barrier(self, call: Call) -> bool:
        """Return True for a barrier in whose place the work-group is joined."""
        return bool(self._places) and demangle(call.callee).name in GROUP_BARRIERS

    def declarations(self) -> Iterator[str]:
        """Yield the variables of the statements, for the begin of a kernel."""
        yield "uint cltrace_cut = 0;"
        if self._places:
            yield "uint cltrace_at = 0, cltrace_epoch = 0;"

    def ways_on(self) -> Iterator[str]:
        """Yield the ways on from the joint barrier, for the place in front of the blocks."""
        if self._places:
            yield "cltrace_begin_epoch: ;"
            yield "switch (cltrace_at) {"
            for number in self._places.values():
                yield f"case {number}: goto cltrace_go_{number};"
            yield "default: break; }"

    def statements(self) -> Iterator[str]:
        """Yield the end of a kernel, behind its blocks, which `goto cltrace_leave` leads to."""
        yield "goto cltrace_leave;"
        if self.has_limit:
            yield _STOP
            yield _STOP_GROUP if self._places else ""
        yield "cltrace_leave: ;"
        if self._places:
            yield from self._joint_barrier()
        yield EXIT

    def _joint_barrier(self) -> Iterator[str]:
        """Yield the barrier of the whole kernel, and the ways on from it."""
        yield "cltrace_at = 0;"
        yield "cltrace_wait: ;"
        yield f"barrier({self._fences()});"
        yield "{"
        yield "const uint stop = ((volatile __global uint *)cltrace_stops)[1 + cltrace_group];"
        yield "const int is_stopped = stop >= ~cltrace_epoch++;"
        yield "if (cltrace_at && !is_stopped) goto cltrace_begin_epoch;"
        yield f"if (cltrace_at) cltrace_cut = {STOPPED:#x}u;"
        yield "}"

    def _fences(self) -> int:
        """Return the flags of all barriers."""
        constants = self._kernel.function.integer_constants()
        flags = _BOTH_FENCES
        for call in self._calls.values():
            if demangle(call.callee).name in {"barrier", "work_group_barrier"}:
                flags |= constants.get(call.arguments[0], 0)
        return flags
