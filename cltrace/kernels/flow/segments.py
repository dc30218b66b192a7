"""Loops over segments of an array, whose begins another array has.

`for (int j = begins[row]; j < begins[row + 1]; j++) sum += values[j];` runs over one of the segments that
`begins` divides `values` into. How long each is, contents decide; how long they are on average, the
sizes of both arrays do.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.builtins.mangling import demangle
from cltrace.kernels.flow.dependencies import DataDependencies, Root
from cltrace.kernels.ir.instructions import (
    Binary,
    Call,
    Convert,
    Copy,
    Instruction,
    Load,
    Offset,
    Phi,
    Touch,
)
from cltrace.kernels.ir.types import size_bytes
from cltrace.kernels.ir.uses import result_of

_SIZE_OF_GROUP: Final = frozenset({"get_local_size", "get_enqueued_local_size"})
_WIDTHS: Final = frozenset({"sext", "zext", "trunc"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The segments that a loop runs over.

    Attributes:
        begins: the array with their begins: its argument's number.
        begin_bytes: the distance of two begins in it.
        elements: the array that they are part of: its argument's number.
        element_bytes: the size of an element.
        step: elements per trip, times the local size in dimension `step_dimension` if it has one.
    """

    begins: int
    begin_bytes: int
    elements: int
    element_bytes: int
    step: int
    step_dimension: int | None


def find_segments(dependencies: DataDependencies) -> Mapping[int, list[Segment]]:
    """Return the segments of each loop that runs over some, by the loop's number."""
    return _SegmentAnalysis(dependencies).run()


class _SegmentAnalysis:
    def __init__(self, dependencies: DataDependencies) -> None:
        self._dependencies = dependencies
        self._graph = dependencies.graph
        self._blocks = dependencies.function.blocks
        self._roots = dependencies.roots
        self._constants = {item.slot: item.value for item in dependencies.function.constants}
        self._definitions: dict[int, Instruction | Phi] = {
            result_of(item): item for _, item in dependencies.instructions
        }
        for number in self._graph.order:
            self._definitions.update({phi.result: phi for phi in self._blocks[number].phis})

    def run(self) -> Mapping[int, list[Segment]]:
        """Look for counters that begin where an array says, and for arrays that they count through."""
        found: dict[int, list[Segment]] = {}
        for number, loop in enumerate(self._graph.loops):
            for phi in self._blocks[loop.header].phis:
                outer = [slot for block, slot in phi.incoming if block not in loop.blocks]
                inner = [slot for block, slot in phi.incoming if block in loop.blocks]
                if len(outer) != 1 or len(inner) != 1:
                    continue
                begin, step = self._find_begin(outer[0]), self._find_step(inner[0], phi.result)
                if begin is None or step is None:
                    continue
                segments = [
                    Segment(
                        begins=begin[0],
                        begin_bytes=begin[1],
                        elements=elements,
                        element_bytes=size,
                        step=step[0],
                        step_dimension=step[1],
                    )
                    for elements, size in self._arrays(number, phi.result)
                    if elements != begin[0]
                ]
                found.setdefault(number, []).extend(segments)
        return {number: segments for number, segments in found.items() if segments}

    def _find_begin(self, slot: int) -> tuple[int, int] | None:
        """Return the array that a counter begins by, and the distance of its elements in bytes."""
        loads = [item for item in self._terms(slot) if isinstance(item, Load)]
        if len(loads) != 1:
            return None
        (load,) = loads
        array = self._array(load.pointer)
        size = max(self._stride(load.pointer) or 0, size_bytes(load.type))
        return None if array is None else (array, size)

    def _find_step(self, slot: int, counter: int) -> tuple[int, int | None] | None:
        """Return what a counter advances by: a number, and the dimension of the local size, if any."""
        item = self._definitions.get(slot)
        if not isinstance(item, Binary) or item.operator != "add":
            return None
        if counter not in (item.left, item.right):
            return None
        step = self._uncast(item.right if item.left == counter else item.left)
        value = self._constants.get(step)
        if isinstance(value, int):
            return (value, None) if value > 0 else None
        call = self._definitions.get(step)
        if isinstance(call, Call) and demangle(call.callee).name in _SIZE_OF_GROUP:
            dimension = self._constants.get(call.arguments[0])
            return (1, dimension) if isinstance(dimension, int) else None
        return None

    def _arrays(self, loop: int, counter: int) -> Iterator[tuple[int, int]]:
        """Yield the arrays that a loop reads where its counter is, with their elements' sizes."""
        for number, item in self._dependencies.instructions:
            if not isinstance(item, Load | Touch) or self._graph.loop_of[number] != loop:
                continue
            pointer = self._definitions.get(item.pointer)
            if not isinstance(pointer, Offset) or len(pointer.terms) != 1:
                continue
            ((index, stride),) = pointer.terms
            array = self._array(item.pointer)
            if array is not None and stride > 0 and counter in self._slots(index):
                yield array, stride

    def _array(self, pointer: int) -> int | None:
        roots: frozenset[Root] = self._roots.get(pointer, frozenset())
        (root,) = roots if len(roots) == 1 else (None,)
        return root if isinstance(root, int) else None

    def _stride(self, pointer: int) -> int | None:
        item = self._definitions.get(pointer)
        if isinstance(item, Offset) and len(item.terms) == 1:
            return item.terms[0][1]
        return None

    def _uncast(self, slot: int) -> int:
        item = self._definitions.get(slot)
        while isinstance(item, Copy) or (isinstance(item, Convert) and item.operator in _WIDTHS):
            slot = item.operand
            item = self._definitions.get(slot)
        return slot

    def _slots(self, slot: int) -> set[int]:
        """Return the summands of a value, by their slots, and the sums in between."""
        seen: set[int] = set()
        waiting = [slot]
        while waiting:
            at = self._uncast(waiting.pop())
            if at in seen:
                continue
            seen.add(at)
            item = self._definitions.get(at)
            if isinstance(item, Binary) and item.operator in {"add", "sub"}:
                waiting += [item.left, item.right]
        return seen

    def _terms(self, slot: int) -> Iterable[Instruction | Phi]:
        """Return the instructions whose results a value is the sum of."""
        for at in self._slots(slot):
            item = self._definitions.get(at)
            if item is not None and not isinstance(item, Binary):
                yield item
