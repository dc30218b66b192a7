"""Programs that end in every way, fork and execute others: they run as ever, and spools are read."""

import signal
import time
from pathlib import Path
from typing import Final

import pytest

from cltrace.events.apis import Api
from cltrace.events.records import ProcessEnded, ProcessStarted, Queue
from cltrace.events.tables import BUFFERS, CALLS, CIRCUMSTANCES, LAUNCHES, RELEASES, STAMPS
from cltrace.spool.settings import Settings
from tests.native.conftest import Record, Toolbox

pytestmark = pytest.mark.opencl

_ENDS: Final = {
    "return": (2, True),
    "kill": (-signal.SIGKILL, False),
    "fault": (-signal.SIGSEGV, False),
    "handled-fault": (5, False),
    "abort": (-signal.SIGABRT, False),
    "_exit": (4, False),
    "thread": (3, True),
}
"""Status of the program by the way in which it ends, and whether the layer sees the end."""


@pytest.mark.parametrize("way", _ENDS)
def test_an_end_leaves_status_streams_and_rows(record: Record, way: str) -> None:
    run = record("endings", way)
    status, is_seen = _ENDS[way]
    assert run.status == status
    assert run.stdout == ("handled\n" if way == "handled-fault" else "")
    assert run.stderr == ""
    assert run.spool.is_complete == is_seen
    assert run.spool.damaged_lines == 0
    assert len(run.spool.rows(LAUNCHES)) == 50
    assert len(run.spool.rows(STAMPS)) == 50


def test_objects_that_are_released_at_exit_are_recorded(record: Record) -> None:
    run = record("endings", "late-release")
    assert run.status == 2
    assert len(run.spool.rows(RELEASES)) == len(run.spool.rows(BUFFERS)) == 1
    assert run.spool.is_complete


def test_a_program_that_closes_all_descriptors_is_recorded(record: Record) -> None:
    run = record("endings", "daemon")
    assert run.status == 2
    assert len(run.spool.rows(LAUNCHES)) == 75
    assert len(run.spool.rows(STAMPS)) == 75
    assert run.spool.is_complete


def test_a_program_that_replaces_itself_has_two_spools(record: Record) -> None:
    run = record("endings", "exec")
    before, after = run.spools
    assert run.status == 2
    assert before.identity == after.identity
    assert [len(spool.rows(LAUNCHES)) for spool in run.spools] == [50, 50]
    assert [spool.is_complete for spool in run.spools] == [False, True]


def test_a_fork_has_a_spool_of_its_own(record: Record) -> None:
    run = record("endings", "fork")
    assert run.status == 6
    parent, child = run.spools
    parent_facts, child_facts = (spool.records(ProcessStarted)[0] for spool in run.spools)
    assert child_facts.parent_pid == parent_facts.pid
    assert len(parent.rows(LAUNCHES)) == len(parent.rows(STAMPS)) == 60
    assert parent.is_complete
    assert child.is_complete
    calls = [Api(api) for api in child.rows(CALLS)[:, CALLS.index("api")]]
    assert calls == [Api.clCreateBuffer, Api.clReleaseMemObject, Api.clFlush]
    assert len(child.rows(BUFFERS)) == len(child.rows(RELEASES)) == 1
    queue = child.rows(CALLS)[2, CALLS.index("queue_handle")]
    assert [record.handle for record in child.records(Queue)] == [queue]


def test_forks_are_not_recorded_if_the_user_declines(record: Record) -> None:
    run = record("endings", "fork", settings=Settings(follow_children=False))
    assert run.status == 6
    assert len(run.spool.rows(LAUNCHES)) == 60


def test_the_end_tells_the_cost_of_tracing(record: Record) -> None:
    ended = record("endings", "return").spool.records(ProcessEnded)[0]
    assert ended.how == "exit"
    assert ended.hook_calls == 59
    assert ended.memory_peak_bytes == 4096
    assert 0 < ended.unread_events_peak <= 50


def test_a_killed_program_is_readable_up_to_its_end(toolbox: Toolbox, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    program = str(toolbox.program("launches"))
    # The shell's only process is the program, which its parent kills while it launches.
    script = '"$0" 1000000000 1000 & sleep 2; kill -KILL $!; wait $!'
    run = toolbox.record(parts, ["bash", "-c", script, program])
    killed_ns = time.monotonic_ns()
    assert run.status == 128 + signal.SIGKILL
    launches, stamps = run.spool.rows(LAUNCHES), run.spool.rows(STAMPS)
    assert not run.spool.is_complete
    assert run.spool.damaged_lines == 0
    # Rows are written every 20 ms. The margin is for a machine that does other things.
    last_ns = int(launches[-1, LAUNCHES.index("return_host_ns")])
    assert killed_ns - last_ns < 1_500_000_000
    assert len(stamps) > len(launches) // 2
    assert set(launches[:, LAUNCHES.index("circumstance_id")]) <= set(
        run.spool.rows(CIRCUMSTANCES)[:, 0]
    )
