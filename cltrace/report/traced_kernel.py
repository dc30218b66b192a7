"""Work of the kernels of a trace, counted in the configurations in which they were launched."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from cltrace.errors import KernelError
from cltrace.kernels import Machine
from cltrace.kernels.compiler.confinement import ProcessLimits
from cltrace.kernels.counts.traced_launches import TracedLaunch, traced_launches
from cltrace.kernels.launches.counter import TracedLaunchCounter
from cltrace.predict.models.thesis import Thesis
from cltrace.report.document import Column, Document, Table, Unit
from cltrace.report.kernel import kernel_report, kernel_tables
from cltrace.trace.reader import Trace

_MAX_KERNELS: Final = 12
_MAX_SECONDS: Final = 20.0
"""Time for counting all kernels of a trace, where they are a part of a larger report."""
_SHORT_LIMITS: Final = ProcessLimits(wall_s=8.0, cpu_s=5)
_TABLE_KEYS: Final = ("listing", "sites", "cost_types", "assumptions")


def launch_report(
    launch: TracedLaunch, counter: TracedLaunchCounter, costs: Thesis | None = None
) -> Document:
    """Return the report of a launch, or a note that says why there is none."""
    try:
        return kernel_report(counter.code(launch), counter.count(launch), costs)
    except (KernelError, MemoryError) as error:
        return Document(launch.kernel, [], [], [f"{launch.kernel}: {error}"])


def traced_kernel_tables(
    trace: Trace, clock: Callable[[], float] = time.monotonic
) -> Sequence[Table]:
    """Return tables of the work of a trace's kernels, those launched most often first.

    Each is counted in the configuration in which it was launched most. Kernels that cannot be counted are
    in a table of their own.
    """
    began = clock()
    counter = TracedLaunchCounter(Machine(), limits=_SHORT_LIMITS, targets=())
    tables: list[Table] = []
    refused: list[tuple[str, str]] = []
    launches = _usual_launches(trace)
    counter.count_all(launches[:_MAX_KERNELS], max_s=_MAX_SECONDS - (clock() - began))
    for number, launch in enumerate(launches):
        is_late = clock() - began > _MAX_SECONDS and not counter.is_counted(launch)
        if number >= _MAX_KERNELS or is_late:
            refused.append((launch.kernel, "`cltrace kernel` counts it by itself"))
            continue
        try:
            tables.extend(_tables(launch, number, counter))
        except (KernelError, MemoryError) as error:
            refused.append((launch.kernel, str(error)))
    if refused:
        columns = (Column("kernel", "kernel"), Column("why", "why", Unit.PROSE))
        tables.append(
            Table(key="kernels_not_counted", title="Not counted", columns=columns, rows=refused)
        )
    return tables


def _tables(launch: TracedLaunch, number: int, counter: TracedLaunchCounter) -> Iterator[Table]:
    tables = kernel_tables(counter.code(launch), counter.count(launch))
    by_key = {table.key: table for table in tables}
    sizes = " × ".join(map(str, launch.global_size))
    for key in _TABLE_KEYS:
        if key in by_key:
            title = f"{launch.kernel} ({sizes}): {by_key[key].title}"
            yield replace(by_key[key], key=f"{key}_{number}", title=title)


def _usual_launches(trace: Trace) -> Sequence[TracedLaunch]:
    """Return of each kernel the configuration that was launched most often."""
    usual: dict[str, TracedLaunch] = {}
    for launch in traced_launches(trace):
        best = usual.get(launch.kernel)
        if best is None or launch.calls > best.calls:
            usual[launch.kernel] = launch
    return sorted(usual.values(), key=lambda launch: -launch.calls)
