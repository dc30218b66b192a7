"""Memory objects by handle and time."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cltrace.events.tables import BUFFERS
from cltrace.spool.layout import ProcessIdentity, rows_file
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.handles import MemoryHandles
from cltrace.trace.scratch import MemoryScratch

Registrations = list[tuple[int, int]]


def handles_of(
    registrations: Registrations, directory: Path, part_rows: int = 1000
) -> MemoryHandles:
    """Handles of objects that are numbered from 1, registered at these handles and times."""
    rows = np.zeros((len(registrations), BUFFERS.width), np.int64)
    for at, (handle, since_ns) in enumerate(registrations):
        rows[at, BUFFERS.index("buffer_id")] = at + 1
        rows[at, BUFFERS.index("handle")] = handle
        rows[at, BUFFERS.index("known_host_ns")] = since_ns
    rows.tofile(rows_file(directory, BUFFERS))
    spool = ProcessSpool(directory, ProcessIdentity(1, 1), (), 0)
    return MemoryHandles(spool, MemoryScratch(part_rows=part_rows))


def expected(registrations: Registrations, handle: int, host_ns: int) -> int:
    """The object by a search of all registrations."""
    same = [
        (since_ns, at + 1) for at, (other, since_ns) in enumerate(registrations) if other == handle
    ]
    before = [entry for entry in same if entry[0] <= host_ns]
    return max(before)[1] if before else min(same)[1] if same else 0


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 1000)), max_size=12, unique=True),
    st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1000)), max_size=12), max_size=4),
    st.sampled_from([1, 2, 5, 1000]),
)
def test_a_handle_denotes_the_object_that_was_registered_last(
    registrations: Registrations, questions: list[list[tuple[int, int]]], part_rows: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        handles = handles_of(registrations, Path(directory), part_rows)
        for queries in questions:
            asked = np.array(queries, np.int64).reshape(-1, 2)
            objects = handles.objects(asked[:, 0], asked[:, 1])
            assert objects.tolist() == [expected(registrations, *query) for query in queries]


def test_handles_that_were_reused_are_told(tmp_path: Path) -> None:
    handles = handles_of([(8, 1), (9, 1), (8, 5)], tmp_path)
    assert handles.is_reused(np.array([8, 9, 10])).tolist() == [True, False, False]


def test_no_object_is_registered(tmp_path: Path) -> None:
    assert handles_of([], tmp_path).objects(np.array([8]), np.array([1])).tolist() == [0]
