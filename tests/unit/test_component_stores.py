"""Stores to components of vectors in memory: recorded as writes of these components alone."""

import numpy as np
import pytest

from cltrace.kernels import Argument, BufferArgument, parse
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.races import find_races
from cltrace.kernels.events.recording_request import EventSelection, KernelLaunch
from cltrace.kernels.events.records import LaunchEvents

EVERY = """__kernel void f(__global float4 *x, __global float3 *y, __global char2 *c, int n)
{
    const int i = get_global_id(0);
    STATEMENT;
}
"""


def record(statement: str, form: CodeForm = CodeForm.WRITTEN, items: int = 1) -> LaunchEvents:
    arguments: list[Argument] = [
        BufferArgument(64, np.arange(16, dtype=np.float32)),
        BufferArgument(64, np.arange(16, dtype=np.float32)),
        BufferArgument(8, np.zeros(8, np.int8)),
        3,
    ]
    source = EVERY.replace("STATEMENT", statement)
    return record_events(
        KernelLaunch(parse(source), "f", (items,), (items,), arguments), EventSelection(form=form)
    )


def accesses_of(events: LaunchEvents) -> list[tuple[str, str, int, int]]:
    accesses = events.accesses
    return [
        (
            events.sites[site].kind.label,
            events.memories[memory].name,
            offset,
            events.sites[site].access_bytes,
        )
        for site, memory, offset in zip(
            accesses.site.tolist(),
            accesses.memory.tolist(),
            accesses.offset_bytes.tolist(),
            strict=True,
        )
    ]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x[1].y = n", [("write", "x", 20, 4)]),
        ("x[i].zy = (float2)(1, n)", [("write", "x", 4, 4), ("write", "x", 8, 4)]),
        ("x[i].w += 2", [("read", "x", 0, 16), ("write", "x", 12, 4)]),
        ("x[i][n & 2] = 1", [("write", "x", 8, 4)]),
        ("x[i].x = x[i].y", [("read", "x", 0, 16), ("write", "x", 0, 4)]),
        ("y[1].z = 5", [("write", "y", 24, 4)]),
        ("y[i].xz = (float2)(n)", [("write", "y", 0, 4), ("write", "y", 8, 4)]),
        ("c[2].hi = 1", [("write", "c", 5, 1)]),
        ("y[i].xyz = 2", [("write", "y", 0, 12)]),
        ("x[i] = n", [("write", "x", 0, 16)]),
        ("float4 v = x[i]; v.x = 9; x[i] = v", [("read", "x", 0, 16), ("write", "x", 0, 16)]),
        ("x[i] = x[i].wzyx", [("read", "x", 0, 16), ("write", "x", 0, 16)]),
    ],
)
def test_components_are_written_alone(
    statement: str, expected: list[tuple[str, str, int, int]]
) -> None:
    assert accesses_of(record(statement)) == expected


def test_work_items_that_write_other_components_do_not_race() -> None:
    apart = record("if (i) x[0].y = 1; else x[0].x = 2", items=2)
    assert list(find_races(apart).races) == []
    together = record("if (i) x[0].y = 1; else x[0].xy = 2", items=2)
    assert len(find_races(together).races) == 1
