"""A recorded program observes what it observes without the layer."""

import subprocess
from pathlib import Path

import pytest

from cltrace.events.apis import Api
from cltrace.events.records import Device, Diagnostic, Queue
from cltrace.events.tables import CALLS, EDGES
from tests.native.conftest import RecordedRun, Toolbox
from tests.patience import HANG_S

pytestmark = pytest.mark.opencl


def observe(toolbox: Toolbox, parts: Path, way: str) -> RecordedRun:
    """Run the program with and without the layer, compare, and return the recorded run."""
    command = [str(toolbox.program("observer")), way]
    plain = subprocess.run(
        command,
        env=toolbox.environment(),
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    run = toolbox.record(parts, command)
    assert (run.status, run.stdout, run.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    return run


@pytest.mark.parametrize("way", ["errno", "small-stack", "fork-in-build", "fail"])
def test_the_layer_is_not_observed(toolbox: Toolbox, way: str, tmp_path: Path) -> None:
    assert observe(toolbox, tmp_path / "parts", way).spools[0].is_complete


def test_a_loader_that_is_closed_and_loaded_again_is_recorded(
    toolbox: Toolbox, tmp_path: Path
) -> None:
    run = observe(toolbox, tmp_path / "parts", "reload")
    apis = run.spool.rows(CALLS)[:, CALLS.index("api")]
    assert list(apis).count(Api.clEnqueueMarkerWithWaitList) == 10


def test_a_child_without_handlers_of_forks_leaves_the_recording_alone(
    toolbox: Toolbox, tmp_path: Path
) -> None:
    run = observe(toolbox, tmp_path / "parts", "raw-fork")
    assert run.spool.is_complete
    apis = run.spool.rows(CALLS)[:, CALLS.index("api")]
    assert list(apis).count(Api.clFinish) == 2


def test_a_wait_for_an_event_that_the_command_overwrites_is_recorded(
    toolbox: Toolbox, tmp_path: Path
) -> None:
    run = observe(toolbox.above("strict_driver"), tmp_path / "parts", "chain")
    calls, edges = run.spool.rows(CALLS), run.spool.rows(EDGES)
    markers = calls[calls[:, CALLS.index("api")] == Api.clEnqueueMarkerWithWaitList]
    events = dict(markers[:, [CALLS.index("mark"), CALLS.index("event_handle")]].tolist())
    made = list(markers[:, CALLS.index("event_handle")])
    awaited = [int(event) for mark, event in edges.tolist() if mark in events]
    assert awaited == made[:-1]


def test_a_child_finds_the_driver_free_and_asks_for_no_facts(
    toolbox: Toolbox, tmp_path: Path
) -> None:
    run = observe(toolbox.above("strict_driver"), tmp_path / "parts", "fork-often")
    parent, *children = run.spools
    assert len(children) == 20
    queues = {(record.id, record.handle) for record in parent.records(Queue)}
    for child in children:
        assert [record.name for record in child.records(Device)] == [
            record.name for record in parent.records(Device)
        ]
        assert {(record.id, record.handle) for record in child.records(Queue)} <= queues


def test_functions_of_extensions_are_given_and_noted(toolbox: Toolbox, tmp_path: Path) -> None:
    extended = toolbox.above("extension_driver")
    run = extended.record(tmp_path / "parts", [str(toolbox.program("extensions"))])
    assert run.stdout == "1110\n"
    notes = [note for note in run.spool.records(Diagnostic) if note.code == "extension-unrecorded"]
    assert len(notes) == 1
    assert "clEnqueueTestEXT" in notes[0].message
