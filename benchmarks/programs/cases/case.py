"""Record of a case: calls of one form, and the hooks that see them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyopencl as cl

from benchmarks.programs.cases.environment import Environment

Call = Callable[[], object]

LAUNCH_TARGET_US: Final = 2.0
CALL_TARGET_US: Final = 3.0
"""Target of copies, fills, markers, barriers, maps and waits."""


def _prepare_nothing(count: int) -> None:
    """Prepare no call."""


@dataclass(frozen=True, slots=True)
class Loop:
    """Loop over calls of one form.

    `run` makes a number of calls and returns the objects that must live until the queues have finished.
    `before` prepares as many calls; it is not timed.
    """

    run: Callable[[int], object]
    before: Callable[[int], object] = _prepare_nothing


@dataclass(frozen=True, slots=True)
class Case:
    """Calls of one form: a row of the table.

    Attributes:
        name: the form of the call.
        prepare: creates the objects that the calls need. Raises `UnsupportedError` when the device or
            this build of pyopencl lacks the entry point.
        hooks: the entry points that the call goes through and that a tracer may replace, named as in
            `PatchSet.installed_names`.
        calls: number of calls in a process.
        target_us: upper limit of the CPU time that tracing adds to the calling thread per call.
    """

    name: str
    prepare: Callable[[Environment], Loop]
    hooks: tuple[str, ...]
    calls: int = 1000
    target_us: float | None = None


def repeat(call: Call, before: Callable[[int], object] = _prepare_nothing) -> Loop:
    """Return a loop that drops the result of each call."""

    def run(count: int) -> None:
        for _ in range(count):
            call()

    return Loop(run, before)


def collect(call: Call, before: Callable[[int], object] = _prepare_nothing) -> Loop:
    """Return a loop that keeps the results, as a program keeps the events of its transfers."""

    def run(count: int) -> list[object]:
        results = []
        for _ in range(count):
            results.append(call())  # noqa: PERF401 - every way of calling has the same form
        return results

    return Loop(run, before)


def entry_point(name: str) -> tuple[str, ...]:
    """Return the names of the hooks of a function: in `pyopencl._cl`, and of its copy in `pyopencl`."""
    copies = (f"pyopencl.{name}",) if hasattr(cl, name) else ()
    return (f"pyopencl._cl.{name}", *copies)


INVOKER: Final = ("pyopencl.invoker.generate_enqueue_and_set_args",)
"""Hook of the function that generates the code by which kernel objects launch."""
