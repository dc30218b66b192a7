"""Circumstances of launches: kernel, call site, thread, queue and NDRange under one number."""

from itertools import count
from types import CodeType
from typing import Any, Final

from cltrace.intercept.objects.callsites import CallSites
from cltrace.intercept.sink import Sink

MAX_KEYS: Final = 65_536
"""Size at which a table is cleared: a program that launches differently each time must not fill the
memory. What was cleared gets a new number when it occurs again."""

_AXES: Final = 3


class Circumstances:
    """Numbers of circumstances. A new one is stored as it is seen; the drain makes a row of it."""

    def __init__(self, sink: Sink) -> None:
        self._extend = sink.circumstances.extend
        self._next_id = count(1).__next__
        self._numbers: dict[tuple[Any, ...], int] = {}

    def number(
        self,
        kernel_id: int,
        code: CodeType | None,
        instruction: int,
        thread_id: int,
        queue_handle: int,
        global_size: tuple[Any, ...],
        local_size: tuple[Any, ...] | None,
        global_offset: tuple[Any, ...] | None,
        is_multiplied: Any,
        flags: int = 0,
    ) -> int:
        """Return the number of a circumstance, and store it if it is new.

        `code` and `instruction` are the place of the call. Sizes are as the program passed them, as
        tuples. `is_multiplied` is pyopencl's `g_times_l`: the global size counts work-groups.
        """
        # fmt: off
        key = (kernel_id, id(code), instruction, thread_id, queue_handle, flags,
               global_size, local_size, global_offset, is_multiplied)
        number = self._numbers.get(key)
        if number is None:
            if len(self._numbers) >= MAX_KEYS:
                self._numbers.clear()
            number = self._numbers[key] = self._next_id()
            self._extend((number, kernel_id, code, instruction, thread_id, queue_handle,
                          global_size, local_size, global_offset, is_multiplied, flags))
        # fmt: on
        return number


def to_tuple(sizes: Any) -> tuple[Any, ...] | None:
    """Return sizes that a program passed as a tuple; `None` for `None`."""
    return sizes if sizes is None or type(sizes) is tuple else tuple(sizes)


def is_empty_range(global_size: Any, local_size: Any) -> bool:
    """Return whether a range has no work-items. pyopencl enqueues a marker in its place if allowed."""
    return 0 in (*global_size, *(local_size or ()))


class CircumstanceRows:
    """Maker of rows of `CIRCUMSTANCES` from what hooks store."""

    def __init__(self, sites: CallSites) -> None:
        self._sites = sites
        self._extents: dict[tuple[Any, ...], tuple[int, ...]] = {}

    def row(
        self,
        number: int,
        kernel_id: int,
        code: CodeType | None,
        instruction: int,
        thread_id: int,
        queue_handle: int,
        global_size: tuple[Any, ...],
        local_size: tuple[Any, ...] | None,
        global_offset: tuple[Any, ...] | None,
        is_multiplied: Any,
        flags: int,
    ) -> tuple[int, ...]:
        """Return the row of a circumstance (`sink.RAW_CIRCUMSTANCE_WIDTH`)."""
        sizes = (global_size, local_size, global_offset, is_multiplied)
        extents = self._extents.get(sizes)
        if extents is None:
            if len(self._extents) >= MAX_KEYS:
                self._extents.clear()
            extents = self._extents[sizes] = to_extents(*sizes)
        site_id = self._sites.number(code, instruction)
        return (number, kernel_id, site_id, thread_id, queue_handle, flags, *extents)


def to_extents(
    global_size: tuple[Any, ...],
    local_size: tuple[Any, ...] | None,
    global_offset: tuple[Any, ...] | None,
    is_multiplied: Any,
) -> tuple[int, ...]:
    """Return the dimensions of global size, local size and offset, and three extents of each.

    As pyopencl does, the shorter of global and local size is padded with ones.
    """
    size, local, offset = (
        _to_integers(sizes) for sizes in (global_size, local_size, global_offset)
    )
    if local:
        axes = max(len(local), len(size))
        size = (*size, *(1,) * (axes - len(size)))
        local = (*local, *(1,) * (axes - len(local)))
        if is_multiplied:
            size = tuple(a * b for a, b in zip(size, local, strict=True))
            offset = tuple(a * b for a, b in zip(offset, local, strict=False))
    dimensions = tuple(min(len(sizes), _AXES) for sizes in (size, local, offset))
    padded = (extent for sizes in (size, local, offset) for extent in (*sizes, 0, 0, 0)[:_AXES])
    return (*dimensions, *padded)


def _to_integers(sizes: Any) -> tuple[int, ...]:
    return () if sizes is None else tuple(int(size) for size in sizes)
