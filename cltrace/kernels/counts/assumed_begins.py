"""Assumed contents of arrays with the begins of segments: one segment after another.

A loop over `values[begins[row]] … values[begins[row + 1]]` reads an array in the order of its rows if
`begins` is what it is in a sparse matrix. Its rows are assumed to have between half and three halves of
the average length, by the sizes of both arrays.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.arguments import Argument, BufferArgument
from cltrace.kernels.counts.kernel_analysis import KernelAnalysis
from cltrace.kernels.counts.records import Assumption
from cltrace.kernels.flow.dependencies import UNKNOWN_ROOT, Root
from cltrace.kernels.flow.segments import Segment

_MAX_BEGINS: Final = 1 << 24
"""Begins that are made up at most: 64 MiB of them."""
_MAX_LENGTH: Final = 256
"""Average length of segments up to which they are made up: each of their elements is executed."""
_SPREAD: Final = 0.5


@dataclass(frozen=True, slots=True)
class AssumedBegins:
    """The arguments of a launch with begins that are assumed, and what is assumed."""

    arguments: tuple[Argument, ...]
    assumptions: tuple[Assumption, ...] = ()


def assume_begins(analysis: KernelAnalysis, arguments: Sequence[Argument]) -> AssumedBegins:
    """Return the arguments of a launch, with contents for unknown begins of segments."""
    by_array: dict[int, list[Segment]] = {}
    for segments in analysis.segments.values():
        for segment in segments:
            by_array.setdefault(segment.begins, []).append(segment)
    written = analysis.written_roots if by_array else frozenset()
    if UNKNOWN_ROOT in written:
        return AssumedBegins(tuple(arguments))
    filled = list(arguments)
    assumptions = []
    for array, segments in by_array.items():
        begins = arguments[array]
        if (
            array in written
            or not isinstance(begins, BufferArgument)
            or begins.contents is not None
        ):
            continue
        units = _units(segments, arguments)
        contents = _begins(begins.size_bytes, segments[0].begin_bytes, units)
        if contents is not None:
            filled[array] = replace(begins, contents=contents)
            average = round(units / (len(contents) - 1))
            assumptions += [_describe(segment, average) for segment in segments]
            for lengths, length_bytes in _arrays_of_lengths(segments, written):
                filled[lengths] = _with_lengths(filled[lengths], length_bytes, contents)
    return AssumedBegins(tuple(filled), tuple(dict.fromkeys(assumptions)))


def _units(segments: Sequence[Segment], arguments: Sequence[Argument]) -> int:
    """Return how far begins reach: the end of the smallest array; 0 if they are no indices."""
    ends = []
    for segment in segments:
        elements = arguments[segment.elements]
        if not segment.unit_bytes or segment.begin_bytes != segments[0].begin_bytes:
            return 0
        if isinstance(elements, BufferArgument):
            ends.append(elements.size_bytes // segment.unit_bytes)
    return min(ends, default=0)


def _begins(size_bytes: int, begin_bytes: int, units: int) -> NDArray[np.signedinteger] | None:
    """Return the begins of segments of similar lengths in random order.

    The result is None for segments that have less than an element or very many, and for begins that do
    not fit.
    """
    count = size_bytes // begin_bytes
    if begin_bytes not in (4, 8) or not 2 <= count <= _MAX_BEGINS or units >> (8 * begin_bytes - 1):
        return None
    if not 1 <= units / (count - 1) <= _MAX_LENGTH:
        return None
    ends = np.random.default_rng(0).uniform(1 - _SPREAD, 1 + _SPREAD, count - 1)
    np.cumsum(ends, out=ends)
    ends *= units / ends[-1]
    begins: NDArray[np.signedinteger] = np.zeros(count, f"i{begin_bytes}")
    begins[1:] = ends
    return begins


def _arrays_of_lengths(
    segments: Iterable[Segment], written: frozenset[Root]
) -> set[tuple[int, int]]:
    """Return the arrays with lengths of segments that the launch keeps, and the size of a length."""
    return {
        (segment.lengths, segment.length_bytes)
        for segment in segments
        if segment.lengths is not None and segment.lengths not in written
    }


def _with_lengths(
    lengths: Argument, length_bytes: int, begins: NDArray[np.signedinteger]
) -> Argument:
    """Return an array of lengths that belong to begins, none longer than its integers hold."""
    if not isinstance(lengths, BufferArgument) or lengths.contents is not None:
        return lengths
    kind = np.dtype(f"i{length_bytes}")
    contents = np.zeros(lengths.size_bytes // length_bytes, kind)
    known = np.diff(begins)[: len(contents)]
    contents[: len(known)] = np.minimum(known.astype(np.int64), np.iinfo(kind).max)
    return replace(lengths, contents=contents)


def _describe(segment: Segment, average: int) -> Assumption:
    meaning = (
        f"segments of {average} elements on average by the sizes of the arrays, one after another, "
        "each between half and three halves of that"
    )
    return Assumption(segment.place, "the begins of segments are unknown contents", meaning)
