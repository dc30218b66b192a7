"""Table of memory that devices use after one another."""

from collections.abc import Mapping

import numpy as np

from cltrace.report.document import Column, Table, Unit, Value
from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.grouping import groups
from cltrace.timeline.memory_moves import HOST, MemoryMoves


def moves_table(activity: Activity, moves: MemoryMoves, top: int | None) -> Table:
    """Return the moves by route and kind of command, those that took longest first."""
    names = {**activity.names.devices, HOST: "host"}
    kinds = activity.commands.kind[moves.command]
    # A number for each route and kind.
    routes, route = np.unique(
        np.stack([moves.origin, moves.target, kinds]), axis=1, return_inverse=True
    )
    rows = [
        _row(names, routes[:, number].tolist(), moves, members)
        for number, members in groups(np.asarray(route).reshape(-1))
    ]
    return Table(
        key="memory_moves",
        title="Memory used on another device than before",
        columns=(
            Column("origin", "from"),
            Column("target", "to"),
            Column("kind", "by", keep=96),
            Column("moves", "times", Unit.COUNT, 80),
            Column("size_bytes", "size", Unit.BYTES, 85),
            Column("call_ns", "in the calls", Unit.NS, 100),
            Column("bytes_per_s", "rate", Unit.BYTES_PER_S, 95),
        ),
        rows=sorted(rows, key=lambda row: -int(row[5] or 0))[:top],
        note="in the calls: in those that enqueued, without waiting for other commands; the driver may "
        "have moved the memory there",
    )


def _row(
    names: Mapping[int, str], route: list[int], moves: MemoryMoves, members: np.ndarray
) -> tuple[Value, ...]:
    origin, target, kind = route
    size, call_ns = int(moves.size_bytes[members].sum()), int(moves.call_ns[members].sum())
    return (
        names.get(origin, ""),
        names.get(target, ""),
        KINDS[kind],
        len(members),
        size,
        call_ns,
        size / call_ns * 1e9 if call_ns else None,
    )
