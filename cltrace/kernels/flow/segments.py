"""Loops over segments of an array, whose begins another array has.

`for (int j = begins[row]; j < begins[row + 1]; j++) sum += values[j];` runs over one of the segments that
`begins` divides `values` into. How long each is, contents decide; how long they are on average, the
sizes of both arrays do. So does `for (int j = 0; j < lengths[row]; j++) sum += values[begins[row] + j];`,
whose lengths are in an array of their own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cltrace.kernels.builtins.mangling import demangle
from cltrace.kernels.flow.dependencies import DataDependencies
from cltrace.kernels.flow.linear_factors import LinearFactors, uncast
from cltrace.kernels.flow.loops import Loop
from cltrace.kernels.ir.instructions import (
    Binary,
    Branch,
    Call,
    Compare,
    ExtractElement,
    Load,
    Offset,
    Phi,
    Touch,
)
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.ir.types import IntegerType, size_bytes
from cltrace.kernels.ir.uses import result_of
from cltrace.kernels.limits import check_cpu_limit

_SIZE_OF_GROUP: Final = frozenset({"get_local_size", "get_enqueued_local_size"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The segments that a loop runs over.

    Attributes:
        begins: the array with their begins: its argument's number.
        begin_bytes: the distance of two begins in it.
        elements: the array that they are part of: its argument's number.
        trip_bytes: what a trip advances by in it, times `step`.
        step: what a trip advances by besides.
        unit_bytes: the size of what a begin counts; 0 if begins are no array of integers that count.
        place: where the array with the begins is read.
        lengths: the array with their lengths: its argument's number; None if a segment ends where the
            next one begins.
        length_bytes: the size of a length.
    """

    begins: int
    begin_bytes: int
    elements: int
    trip_bytes: int
    step: "Step"
    unit_bytes: int
    place: Place
    lengths: int | None = None
    length_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """What a counter advances by: a number, times what the launch gives.

    That is the local size in dimension `dimension`, or the argument of number `argument`; neither if both
    are None.
    """

    number: int
    dimension: int | None = None
    argument: int | None = None


def find_segments(dependencies: DataDependencies) -> Mapping[int, list[Segment]]:
    """Return the segments of each loop that runs over some, by the loop's number."""
    return _SegmentAnalysis(dependencies).run()


@dataclass(frozen=True, slots=True)
class _Begin:
    """A read of an array, an argument, by which segments begin, and the distance of its elements."""

    array: int
    element_bytes: int
    load: Load


def _segment(
    begin: _Begin, elements: int, factor: int, step: Step, *, is_index: bool = True
) -> Segment:
    """Return segments of an array in which one more is `factor` bytes, by a counter that `is_index`."""
    size = begin.element_bytes
    counts = is_index and isinstance(begin.load.type, IntegerType)
    return Segment(
        begins=begin.array,
        begin_bytes=size,
        elements=elements,
        trip_bytes=abs(factor * step.number),
        step=step,
        unit_bytes=abs(factor) if counts and size_bytes(begin.load.type) == size else 0,
        place=begin.load.place,
    )


class _SegmentAnalysis:
    def __init__(self, dependencies: DataDependencies) -> None:
        self._dependencies = dependencies
        self._definitions = dependencies.definitions
        self._graph = dependencies.graph
        self._constants = dependencies.function.integer_constants()
        self._factors = LinearFactors(dependencies)
        self._parameters = {
            item.slot: index for index, item in enumerate(dependencies.function.parameters)
        }

    def run(self) -> Mapping[int, list[Segment]]:
        """Look for counters that begin where an array says, and for arrays that they count through."""
        found: dict[int, list[Segment]] = {}
        for number, loop in enumerate(self._graph.loops):
            for phi in self._dependencies.function.blocks[loop.header].phis:
                segments = list(self._segments(number, loop, phi))
                if segments:
                    found.setdefault(number, []).extend(segments)
        return found

    def _segments(self, number: int, loop: Loop, phi: Phi) -> Iterator[Segment]:
        """Yield the segments that a value of a loop's header counts through."""
        outer = [slot for block, slot in phi.incoming if block not in loop.blocks]
        inner = [slot for block, slot in phi.incoming if block in loop.blocks]
        if len(outer) != 1 or len(inner) != 1:
            return
        begin, step = self._find_begin(outer[0]), self._find_step(inner[0], phi.result)
        if step is None:
            return
        if begin is None:
            if self._is_zero(outer[0]):
                yield from self._segments_with_lengths(number, phi.result, step)
            return
        is_index = isinstance(phi.type, IntegerType)
        for elements, factor in self._arrays(number, phi.result):
            if elements != begin.array:
                yield _segment(begin, elements, factor, step, is_index=is_index)

    def _is_zero(self, slot: int) -> bool:
        return self._constants.get(uncast(slot, self._definitions)) == 0

    def _segments_with_lengths(self, number: int, counter: int, step: Step) -> Iterator[Segment]:
        """Yield the segments of a loop that counts from zero to a length that it has read.

        They begin where what the counter is added to says.
        """
        bound = self._find_length(number, counter)
        lengths = None if bound is None else self._array(bound.pointer)
        if bound is None or lengths is None:
            return
        for load, factor in self._reads(number, counter):
            begin, elements = self._find_begin(load.pointer), self._array(load.pointer)
            if begin is None or elements is None or len({begin.array, elements, lengths}) < 3:
                continue
            if self._factors.of([begin.load.result]).get(load.pointer, 0) == factor:
                yield replace(
                    _segment(begin, elements, factor, step),
                    lengths=lengths,
                    length_bytes=size_bytes(bound.type),
                )

    def _find_length(self, number: int, counter: int) -> Load | None:
        """Return the read, before a loop, of the number that its counter is compared with."""
        blocks = self._graph.loops[number].blocks
        function, factors = self._dependencies.function, self._factors.of([counter])
        inside = {
            result_of(item) for block in blocks for item in function.blocks[block].instructions
        }
        for block in blocks:
            branch = function.blocks[block].terminator
            if not isinstance(branch, Branch) or {branch.then, branch.otherwise} <= blocks:
                continue
            test = self._definitions.get(branch.condition)
            if not isinstance(test, Compare):
                continue
            for counted, limit in ((test.left, test.right), (test.right, test.left)):
                bound = self._definitions.get(uncast(limit, self._definitions))
                if factors.get(counted) and isinstance(bound, Load) and bound.result not in inside:
                    return bound if isinstance(bound.type, IntegerType) else None
        return None

    def _find_begin(self, slot: int) -> "_Begin | None":
        """Return what a value begins by that is the sum of one read and of others."""
        loads = self._summed_loads(slot)
        array = self._array(loads[0].pointer) if len(loads) == 1 else None
        if array is None:
            return None
        pointer = self._definitions.get(loads[0].pointer)
        strides = [stride for _, stride in pointer.terms] if isinstance(pointer, Offset) else []
        return _Begin(array, max([*strides, size_bytes(loads[0].type)]), loads[0])

    def _find_step(self, slot: int, counter: int) -> Step | None:
        """Return what a counter advances by."""
        match self._definitions.get(slot):
            case Binary(_, "add", _, left, right) if counter in (left, right):
                return self._read_step(right if left == counter else left)
            case Offset(_, pointer, constant_bytes, ()) if pointer == counter:
                return Step(constant_bytes) if constant_bytes else None
            case Offset(_, pointer, 0, ((index, stride),)) if pointer == counter:
                step = self._read_step(index)
                return None if step is None else replace(step, number=step.number * stride)
            case _:
                return None

    def _read_step(self, slot: int) -> Step | None:
        step = uncast(slot, self._definitions)
        value = self._constants.get(step, 0)
        if value:
            return Step(value)
        if step in self._parameters:
            return Step(1, argument=self._parameters[step])
        call = self._definitions.get(step)
        if isinstance(call, Call) and demangle(call.callee).name in _SIZE_OF_GROUP:
            dimension = self._constants.get(call.arguments[0])
            return None if dimension is None else Step(1, dimension)
        return None

    def _arrays(self, loop: int, counter: int) -> Iterator[tuple[int, int]]:
        """Yield the arrays that a loop reads as its counter says, and the bytes that one of it makes."""
        for item, factor in self._reads(loop, counter):
            array = self._array(item.pointer)
            if array is not None:
                yield array, factor

    def _reads(self, loop: int, counter: int) -> Iterator[tuple[Load | Touch, int]]:
        """Yield the reads of a loop at places that its counter says, and the bytes that one makes."""
        check_cpu_limit()
        factors = self._factors.of([counter])
        for number, item in self._dependencies.instructions:
            if isinstance(item, Load | Touch):
                factor = factors.get(item.pointer, 0)
                if factor and self._graph.loop_of[number] == loop:
                    yield item, factor

    def _array(self, pointer: int) -> int | None:
        roots = self._dependencies.roots.get(pointer, frozenset())
        (root,) = roots if len(roots) == 1 else (None,)
        return root if isinstance(root, int) else None

    def _summed_loads(self, slot: int) -> list[Load]:
        """Return the reads whose results, or elements of them, a value is the sum of."""
        loads: list[Load] = []
        seen: set[int] = set()
        waiting = [slot]
        while waiting:
            at = uncast(waiting.pop(), self._definitions)
            if at in seen:
                continue
            seen.add(at)
            match self._definitions.get(at):
                case Binary(_, "add" | "sub", _, left, right):
                    waiting += [left, right]
                case Offset() as item:
                    waiting += [item.pointer, *(index for index, _ in item.terms)]
                case ExtractElement() as item:
                    waiting.append(item.vector)
                case Load() as item:
                    loads.append(item)
                case _:
                    pass
        return loads
