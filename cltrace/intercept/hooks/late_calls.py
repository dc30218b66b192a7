"""Counts of commands that a program enqueues when its tracing has ended, because the interpreter ends.

Exit functions, finalizers of global objects and daemon threads still run then, while Python takes the
modules apart. So these functions use nothing but what they keep themselves.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyopencl as cl

from cltrace.events.apis import COMMAND_KINDS
from cltrace.intercept.hooks.hook_table import ENQUEUES, in_both, on_class
from cltrace.intercept.hooks.patching import Patch, PatchSet
from cltrace.intercept.tallies import Tallies


def count_late_calls(page: memoryview, tallies: Tallies) -> None:
    """Count commands in the words of a stop page from now on, until the process has ended.

    `tallies` are those of the hooks that were removed: the program may have kept some of them.
    """
    count = tallies.count_late = _make_counter(page)
    PatchSet().install(_patches(_make_wrap(count)))


def _patches(wrap: Callable[[Any], Any]) -> Iterator[Patch]:
    yield from in_both("enqueue_nd_range_kernel", wrap)
    for name, api, _ in ENQUEUES:
        if api in COMMAND_KINDS:
            yield from in_both(name, wrap)
    yield Patch(cl.MemoryMap, "release", wrap)
    yield from on_class("SVMAllocation", "enqueue_release", wrap)


def _make_counter(page: memoryview) -> Callable[[], None]:
    clock = time.perf_counter_ns

    def count() -> None:
        if not page[0]:
            page[0] = clock()
        page[1] += 1

    return count


def _make_wrap(count: Callable[[], None]) -> Callable[[Any], Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def function(*args: Any, **kwargs: Any) -> Any:
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                trace = error.__traceback__
                error.__traceback__ = None if trace is None else trace.tb_next
                raise
            count()
            return result

        return function

    return wrap
