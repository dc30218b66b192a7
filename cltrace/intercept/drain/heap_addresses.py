"""Heap of cltrace's own thread in programs whose addresses are limited (`RLIMIT_AS`).

glibc reserves 64 MiB of addresses for the heap of each thread that allocates. A thread whose first
allocation finds the number of heaps at its limit uses the heap of the main thread instead.
"""

import contextlib
import ctypes
import os
import resource
from collections.abc import Iterator
from typing import Final

_M_ARENA_MAX: Final = -8
"""Parameter of `mallopt`, from glibc's malloc.h: the number of heaps, 0 for a default by processors."""


@contextlib.contextmanager
def no_new_heaps() -> Iterator[None]:
    """Let threads that allocate first meanwhile use an existing heap, if addresses are limited.

    Nothing changes for a program that chose the number of heaps itself.

    glibc reads the number once, so later threads of the program share heaps as well: they take fewer
    addresses, and may wait for each other when they allocate. Other C libraries have no such heaps.
    """
    set_parameter = getattr(ctypes.CDLL(None), "mallopt", None)
    is_limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    if set_parameter is None or not is_limited or _has_program_chosen():
        yield
        return
    set_parameter(_M_ARENA_MAX, 1)
    try:
        yield
    finally:
        set_parameter(_M_ARENA_MAX, 0)


def _has_program_chosen() -> bool:
    return "MALLOC_ARENA_MAX" in os.environ or "arena_max" in os.environ.get("GLIBC_TUNABLES", "")
