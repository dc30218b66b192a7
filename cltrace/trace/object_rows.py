"""Rows of the trace's tables of memory objects, regions, clocks and captured contents."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.clocks import ClockSegment
from cltrace.events.kinds import RELEASES_UNSEEN, MemoryKind
from cltrace.events.records import Diagnostic, ProcessEnded
from cltrace.events.tables import ANCHORS, BUFFERS, REGIONS, RELEASES
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.renumbering import TraceIds

Int64s = NDArray[np.int64]

_NEVER_NS: Final = int(np.iinfo(np.int64).max)


def buffer_rows(spool: ProcessSpool, ids: TraceIds) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a process's memory objects."""
    releases = {row[0]: (row[1], row[2]) for row in spool.rows(RELEASES).tolist()}
    late = set(spool.released_buffer_ids().tolist()) - releases.keys()
    endings = spool.records(ProcessEnded)
    ended = endings[-1] if endings else None
    exits_ns = [ending.ended_host_ns for ending in endings if ending.how == "exit"]
    exit_begun_ns = min(exits_ns, default=_NEVER_NS)
    is_unseen = any(note.code == RELEASES_UNSEEN for note in spool.records(Diagnostic))
    kinds = {int(kind): kind.name.lower().replace("_", "-") for kind in MemoryKind}
    for row in spool.rows(BUFFERS).tolist():
        buffer = dict(zip(BUFFERS.columns, row, strict=True))
        number = buffer["buffer_id"]
        fate = "unknown" if is_unseen else "alive"
        if number in releases:
            fate = "released" if releases[number][0] <= exit_begun_ns else "at-exit"
        elif number in late:
            fate = "at-exit"
        elif (
            not is_unseen
            and ended is not None
            and ended.how == "exit"
            and buffer["kind"] != MemoryKind.SVM
        ):
            fate = "leaked"
        after, before = releases.get(number, (None, None))
        yield (
            ids.of("buffer", number),
            ids.process_id,
            ids.of("context", buffer["context_id"]),
            kinds.get(buffer["kind"], "unknown"),
            buffer["flags"],
            buffer["size_bytes"],
            ids.of("buffer", buffer["parent_buffer_id"]),
            *(buffer[name] or None for name in ("origin_bytes", "width", "height", "depth")),
            ids.of("site", buffer["site_id"]),
            ids.of("thread", buffer["thread_id"]),
            buffer["known_host_ns"],
            buffer["created_here"],
            after,
            before,
            fate,
        )


def region_columns(spool: ProcessSpool, ids: TraceIds) -> dict[str, Int64s]:
    """Return the columns of a process's regions."""
    rows = spool.rows(REGIONS)
    return {
        "name_string_id": ids.column("string", rows[:, 0]),
        "thread_id": ids.column("thread", rows[:, 1]),
        "enter_host_ns": rows[:, 2],
        "leave_host_ns": rows[:, 3],
    }


def segment_rows(segments: Sequence[ClockSegment], ids: TraceIds) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the segments of a process's clocks."""
    for segment in segments:
        _, *rest = astuple(segment)
        yield ids.of("device", segment.device_id), *rest


def clock_columns(spool: ProcessSpool, ids: TraceIds) -> dict[str, Int64s]:
    """Return the columns of a process's readings of the host's clocks."""
    rows = spool.rows(ANCHORS)
    columns = {name: rows[:, index] for index, name in enumerate(ANCHORS.columns)}
    return {"process_id": np.full(len(rows), ids.process_id), **columns}
