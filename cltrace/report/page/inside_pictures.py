"""Memory as pictures on the page of a launch's inside: which work-items write each element."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.events.annotations import Chart
from cltrace.kernels.events.records import EventKind, EventMemory, LaunchEvents
from cltrace.report.untrusted_text import escape_controls

_MAX_PICTURES: Final = 6
_MAX_PIXELS: Final = 1 << 22
_MAX_WRITES: Final = 1 << 20
_WRITES: Final = frozenset({EventKind.WRITE, EventKind.ATOMIC})


@dataclass(frozen=True, slots=True)
class Pictures:
    """Pictures of memory, with their columns by name."""

    values: Sequence[Mapping[str, Any]]
    columns: Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Picture:
    """Pixels of a memory object, row by row, with `per_pixel` elements each.

    `pixel` and `row` are the pairs of a pixel and a work-item that writes it.
    """

    memory: EventMemory
    columns: int
    rows: int
    per_pixel: int
    is_bound: bool
    is_cut: bool
    pixel: NDArray[np.int64]
    row: NDArray[np.int64]


def find_pictures(events: LaunchEvents, max_writes: int = _MAX_WRITES) -> Pictures:
    """Return the pictures of written memory: those that annotations bind come first.

    Together they have at most `max_writes` pairs of an element and a work-item.
    """
    pictures = list(_pictures(events, max_writes))
    columns = {}
    for number, picture in enumerate(pictures):
        columns[f"picture_{number}_row"] = picture.row
        columns[f"picture_{number}_pixel"] = picture.pixel
    return Pictures([_values(picture) for picture in pictures], columns)


def _values(picture: _Picture) -> Mapping[str, Any]:
    return {
        "name": escape_controls(picture.memory.name),
        "columns": picture.columns,
        "rows": picture.rows,
        "per_pixel": picture.per_pixel,
        "is_image": bool(picture.memory.sides),
        "is_bound": picture.is_bound,
        "is_cut": picture.is_cut,
    }


def _pictures(events: LaunchEvents, room: int) -> Iterator[_Picture]:
    widths = {
        binding.names[0]: binding.width
        for binding in events.bindings
        if binding.chart is Chart.IMAGE
    }
    is_write = np.asarray([site.kind in _WRITES for site in events.sites], np.bool_)
    accesses = events.accesses
    written = accesses.memory[is_write[accesses.site]] if len(events.sites) else accesses.memory[:0]
    chosen = [
        number
        for number in np.unique(written).tolist()
        if number >= 0 and events.memories[number].space == "global"
    ]
    chosen.sort(key=lambda number: events.memories[number].name not in widths)
    for number in chosen[:_MAX_PICTURES]:
        positions = np.flatnonzero(is_write[accesses.site] & (accesses.memory == number))
        picture = _picture(events, number, positions, room, widths)
        room -= len(picture.row)
        yield picture


def _picture(
    events: LaunchEvents,
    number: int,
    positions: NDArray[np.int64],
    room: int,
    widths: Mapping[str, int],
) -> _Picture:
    """Return the picture of a memory object that has at most `room` pairs."""
    memory, accesses = events.memories[number], events.accesses
    element_bytes, lengths = _element_bytes(events, memory, positions)
    count = max(-(-memory.size_bytes // element_bytes), 1)
    per_pixel = -(-count // _MAX_PIXELS)
    spans = -(-lengths // element_bytes)
    kept = int(np.searchsorted(np.cumsum(spans), room, "right"))
    positions, spans = positions[:kept], spans[:kept]
    index = np.repeat(np.arange(len(positions)), spans)
    within = np.arange(len(index)) - np.repeat(np.cumsum(spans) - spans, spans)
    element = accesses.offset_bytes[positions][index] // element_bytes + within
    pixel = np.clip(element, 0, count - 1) // per_pixel
    num_items = max(len(events.items.item), 1)
    pairs = np.divmod(np.unique(pixel * num_items + accesses.row[positions][index]), num_items)
    columns, rows = _shape(events, memory, -(-count // per_pixel), widths.get(memory.name, 0))
    return _Picture(
        memory=memory,
        columns=columns,
        rows=rows,
        per_pixel=per_pixel,
        is_bound=memory.name in widths,
        is_cut=kept < len(lengths),
        pixel=pairs[0],
        row=pairs[1],
    )


def _element_bytes(
    events: LaunchEvents, memory: EventMemory, positions: NDArray[np.int64]
) -> tuple[int, NDArray[np.int64]]:
    """Return the size of an element, and the size of each write.

    An element of a buffer is the largest unit that divides all writes. Those of an image are texels.
    """
    if memory.sides:
        return max(memory.element_bytes, 1), np.ones(len(positions), np.int64)
    sizes = np.asarray([max(site.access_bytes, 1) for site in events.sites], np.int64)
    lengths = sizes[events.accesses.site[positions]]
    offsets = events.accesses.offset_bytes[positions]
    return max(int(np.gcd(np.gcd.reduce(offsets), np.gcd.reduce(lengths))), 1), lengths


def _shape(
    events: LaunchEvents, memory: EventMemory, count: int, bound_width: int
) -> tuple[int, int]:
    """Return the columns and rows of a picture.

    A buffer is as wide as its annotation says, or as the NDRange if it has whole rows of that.
    """
    if memory.sides and math.prod(memory.sides) == count:
        return memory.sides[0], count // memory.sides[0]
    width = bound_width
    if not width and len(events.global_size) > 1 and count % events.global_size[0] == 0:
        width = events.global_size[0]
    if not width:
        root = 1 << math.ceil(math.log2(math.sqrt(count)))
        width = max(events.local_size[0], root)
    width = min(width, count)
    return width, -(-count // width)
