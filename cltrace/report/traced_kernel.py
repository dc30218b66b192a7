"""Kernels of a trace, counted as they were launched."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from cltrace.errors import KernelError
from cltrace.kernels import Machine
from cltrace.kernels.compiler import Compiler
from cltrace.kernels.compiler.confinement import Limits
from cltrace.kernels.counts.traced_launches import TracedLaunch, count_traced, traced_launches
from cltrace.predict.models.thesis import Thesis
from cltrace.report.document import Column, Document, Table, Unit
from cltrace.report.kernel import kernel_report, kernel_tables
from cltrace.trace.reader import Trace

_MOST_KERNELS: Final = 12
_MOST_SECONDS: Final = 20.0
"""What all kernels of a trace may take together in a report of more than them."""
_SHORT: Final = Limits(wall_s=8.0, cpu_s=5)
_SHOWN: Final = ("listing", "sites", "cost_types", "assumptions")


def launch_report(launch: TracedLaunch, machine: Machine, costs: Thesis | None = None) -> Document:
    """The report of a launch, or of why there is none."""
    try:
        program, counts = count_traced(launch, machine, Compiler())
    except KernelError as error:
        return Document(launch.kernel, [], [], [f"{launch.kernel}: {error}"])
    return kernel_report(program, counts, costs)


def understood_kernels(
    trace: Trace, clock: Callable[[], float] = time.monotonic
) -> Sequence[Table]:
    """Tables of what the kernels of a trace have to do, those launched most often first.

    Each is counted in the configuration in which it was launched most. What cannot be counted is in a
    table of its own.
    """
    began = clock()
    compiler = Compiler(limits=_SHORT)
    tables: list[Table] = []
    refused: list[tuple[str, str]] = []
    for number, launch in enumerate(_usual_launches(trace)):
        if number == _MOST_KERNELS or clock() - began > _MOST_SECONDS:
            refused.append((launch.kernel, "`cltrace kernel` counts it by itself"))
            continue
        try:
            tables.extend(_tables(launch, number, compiler))
        except (KernelError, MemoryError) as error:
            refused.append((launch.kernel, str(error)))
    if refused:
        columns = (Column("kernel", "kernel"), Column("why", "why", Unit.PROSE))
        tables.append(Table("kernels_not_counted", "Not counted", columns, refused))
    return tables


def _tables(launch: TracedLaunch, number: int, compiler: Compiler) -> Iterator[Table]:
    program, counts = count_traced(launch, Machine(), compiler)
    found = {table.key: table for table in kernel_tables(program, counts)}
    sizes = " × ".join(map(str, launch.global_size))
    for key in _SHOWN:
        if key in found:
            title = f"{launch.kernel} ({sizes}): {found[key].title}"
            yield replace(found[key], key=f"{key}_{number}", title=title)


def _usual_launches(trace: Trace) -> Sequence[TracedLaunch]:
    """Of each kernel the configuration that was launched most often."""
    usual: dict[str, TracedLaunch] = {}
    for launch in traced_launches(trace):
        known = usual.get(launch.kernel)
        if known is None or launch.calls > known.calls:
            usual[launch.kernel] = launch
    return sorted(usual.values(), key=lambda launch: -launch.calls)
