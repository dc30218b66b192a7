"""Lines of accesses that the compiler merged or moved: those of the code as written.

Where both sides of a branch access the same memory, the compiler does it once, and keeps no line of
either; nor does it where it moves an access in front of a branch. The code as written has them all.
Accesses to the same memory whose lines the optimised code does not have are the ones.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from cltrace.kernels.flow.dependencies import DataDependencies, Root
from cltrace.kernels.ir.instructions import (
    AtomicExchange,
    AtomicUpdate,
    Call,
    Instruction,
    Load,
    Store,
)
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.source_places import NOWHERE, Place, has_own_line

_ACCESSES: Final = (Load, Store, AtomicUpdate, AtomicExchange, Call)


def has_unplaced_accesses(dependencies: DataDependencies) -> bool:
    """Return True if an access of a kernel has no line of its own."""
    return any(
        isinstance(item, _ACCESSES) and not has_own_line(item.place)
        for _, item in dependencies.instructions
    )


def place_accesses(optimised: DataDependencies, written: DataDependencies) -> Function:
    """Return the optimised kernel with the lines of its accesses, as far as they are known."""
    candidates = defaultdict[tuple[Root, str], list[Place]](list)
    for item, root in _accesses(written):
        candidates[root, _kind(item)].append(item.place)
    kept = {
        (root, _kind(item), item.place.file, item.place.line)
        for item, root in _accesses(optimised)
        if has_own_line(item.place)
    }
    places: dict[int, Place] = {}
    for item, root in _accesses(optimised):
        if not has_own_line(item.place):
            kind = _kind(item)
            same = [place for place in candidates[root, kind] if _may_be(place, item.place)]
            gone = [place for place in same if (root, kind, place.file, place.line) not in kept]
            if named := gone or same:
                places[id(item)] = _join([*_known(places.get(id(item))), *named])
            elif not item.place.line:
                places[id(item)] = optimised.function.place
    return _with_places(optimised.function, places)


def _accesses(dependencies: DataDependencies) -> Iterator[tuple[Instruction, Root]]:
    """Yield the accesses of a kernel with each memory that they may access."""
    for _, item in dependencies.instructions:
        if isinstance(item, _ACCESSES):
            for root in dependencies.reads(item) | dependencies.writes(item):
                yield item, root


def _kind(item: Instruction) -> str:
    """Return the kind of an access: calls are told apart by what they call."""
    return item.callee if isinstance(item, Call) else type(item).__name__


def _may_be(place: Place, merged: Place) -> bool:
    """Return True if an access as written may be part of a merged one, which its block encloses."""
    if not place.line or merged == NOWHERE:
        return bool(place.line)
    return place.file == merged.file and place.line >= merged.line


def _known(place: Place | None) -> Sequence[Place]:
    if place is None:
        return ()
    return [replace(place, line=line) for line in (place.line, *place.further_lines)]


def _join(places: Sequence[Place]) -> Place:
    first = min(places, key=lambda place: (place.line, place.column))
    lines = sorted({place.line for place in places} - {first.line})
    return replace(first, is_merged=True, further_lines=tuple(lines))


def _with_places(function: Function, places: Mapping[int, Place]) -> Function:
    """Return a function with other places of some instructions, by their identity."""
    blocks = tuple(
        replace(
            block,
            instructions=tuple(
                replace(item, place=places[id(item)]) if id(item) in places else item
                for item in block.instructions
            ),
        )
        for block in function.blocks
    )
    return replace(function, blocks=blocks)
