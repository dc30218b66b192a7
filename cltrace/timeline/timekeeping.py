"""Clocks of all devices of a process, and faults of its commands' stamps."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cltrace.events.clocks import ClockSegment, ProcessClocks
from cltrace.events.kinds import FAULT_SHIFT
from cltrace.timeline.columns import Int64s
from cltrace.timeline.stored_clocks import fit_stored_clocks
from cltrace.trace import writer
from cltrace.trace.commands import HostCalls, QueueFacts, StoredHostCalls
from cltrace.trace.progress import Progress, no_progress
from cltrace.trace.scratch import PART_ROWS, MemoryScratch, Scratch, StoredRows
from cltrace.trace.stored_columns import StoredColumns
from cltrace.trace.writer import FinalisedTrace


def finalise(
    parts: Path,
    path: Path,
    *,
    progress: Progress = no_progress,
    part_rows: int = PART_ROWS,
) -> FinalisedTrace:
    """Write the trace at `path` from the spools in `parts`, with the devices on the host's clock.

    `progress` shows the state of a long task. `part_rows` rows are processed at once.
    Raises: `SpoolError` when the parts cannot be read, `OutputError` when the trace cannot be written.
    """
    return writer.finalise(parts, path, fit_stored_clocks, progress=progress, part_rows=part_rows)


def fit_device_clocks(host_calls: HostCalls, queues: QueueFacts) -> ProcessClocks:
    """Fit the clocks of one process's devices, and find the faults of its commands' stamps.

    Device and queue numbers are those of `host_calls` and `queues`.
    """
    scratch = MemoryScratch()
    flags = host_calls.commands["flags"] & ((1 << FAULT_SHIFT) - 1)
    stored = StoredHostCalls(
        _store(scratch, {**host_calls.commands, "flags": flags}),
        _store(scratch, host_calls.calls),
        StoredRows(scratch, 2),
        StoredRows(scratch, 2),
        0,
    )
    stored.waits.append(host_calls.waits)
    segments: tuple[ClockSegment, ...] = fit_stored_clocks(stored, queues)
    faults = [part["flags"] >> FAULT_SHIFT for part in stored.commands.parts(["flags"])]
    return ProcessClocks(segments, np.concatenate([np.empty(0, np.int64), *faults]))


def _store(scratch: Scratch, columns: Mapping[str, Int64s]) -> StoredColumns:
    stored = StoredColumns(scratch)
    count = len(columns["api"])
    for begin in range(0, count, scratch.part_rows):
        end = begin + scratch.part_rows
        stored.append({name: column[begin:end] for name, column in columns.items()})
    return stored
