"""Threads, queues, callbacks and settings of recorded programs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cltrace.events.apis import Api
from cltrace.events.records import (
    Build,
    Context,
    Device,
    Diagnostic,
    Kernel,
    Program,
    Queue,
    Redaction,
    Text,
    Thread,
)
from cltrace.events.tables import (
    BUFFERS,
    CALLS,
    CIRCUMSTANCES,
    EDGES,
    LAUNCHES,
    RELEASES,
    STAMPS,
    arguments_table,
)
from cltrace.spool.layout import untraced_reasons
from cltrace.spool.settings import Settings
from tests.native.conftest import BuiltLayers, Record, Toolbox

pytestmark = pytest.mark.opencl


def test_threads_contexts_and_parts_of_devices_are_told_apart(record: Record) -> None:
    run = record("threads")
    spool = run.spool
    assert run.status == 0, run.stderr
    assert len(spool.rows(LAUNCHES)) == 6 * 500 + 1
    calls = spool.rows(CALLS)
    fills = calls[calls[:, CALLS.index("api")] == Api.clEnqueueFillBuffer]
    assert len(fills) == 2 * 500
    assert len(spool.rows(STAMPS)) == 8 * 500 + 1
    assert len(spool.rows(EDGES)) == 4 * 499
    launching = spool.rows(CIRCUMSTANCES)[:, CIRCUMSTANCES.index("thread_id")]
    assert len(set(launching)) == 6 + 1
    threads = {thread.id for thread in spool.records(Thread)}
    assert set(launching) | set(calls[:, CALLS.index("thread_id")]) <= threads
    assert len(spool.records(Context)) == 9 + 2
    parts = [device for device in spool.records(Device) if device.parent_device_id]
    assert len(parts) == 2  # PoCL tells of parts by their queues only, not by their contexts
    devices = {queue.handle: queue.device_id for queue in spool.records(Queue)}
    of_fills = {devices[int(handle)] for handle in fills[:, CALLS.index("queue_handle")]}
    assert of_fills == {part.id for part in parts}
    properties = [queue.properties for queue in spool.records(Queue)]
    assert sorted(properties) == [0] * 5 + [1] * 6
    assert len(spool.rows(BUFFERS)) == len(spool.rows(RELEASES)) == 9 + 2


def test_a_changed_argument_makes_a_list(record: Record) -> None:
    spool = record("threads").spool
    lists = spool.rows(arguments_table(2))
    # Four threads change the factor before each launch; the two others share a kernel object.
    changed = 4 * 500
    assert changed <= len(lists) <= changed + 2
    assert len(np.unique(lists[:, 0])) == len(lists)
    launches = spool.rows(LAUNCHES)
    assert set(launches[:, LAUNCHES.index("arguments_id")]) <= set(lists[:, 0])
    circumstances = set(spool.rows(CIRCUMSTANCES)[:, 0])
    assert set(launches[:, LAUNCHES.index("circumstance_id")]) == circumstances


_SEEN_PROPERTIES = [
    "plain 0 array",
    "plain-profiling 2 array",
    "out-of-order 1 array 4243 1 0",
    "profiling 2 array 4243 2 0",
    "nothing 0 array 0",
    "null 0 array",
]


def test_forced_profiling_is_hidden_from_the_program(record: Record) -> None:
    run = record("queues")
    assert run.stdout.splitlines() == _SEEN_PROPERTIES
    queues = run.spool.records(Queue)[1:]  # the first is another one
    assert all(queue.profiling for queue in queues)
    assert [queue.profiling_forced for queue in queues] == [True, False, True, False, True, True]
    assert [queue.properties for queue in queues] == [0, 2, 1, 2, 0, 0]


def test_profiling_is_not_forced_if_the_user_declines(record: Record) -> None:
    run = record("queues", settings=Settings(force_profiling=False))
    assert run.stdout.splitlines() == _SEEN_PROPERTIES
    assert [queue.profiling for queue in run.spool.records(Queue)] == [
        *(False, False, True, False, True, False, False)
    ]
    unstamped = record("launches", "10", settings=Settings(force_profiling=False)).spools[-1]
    assert len(unstamped.rows(STAMPS)) == 11
    assert (unstamped.rows(STAMPS)[:, 1:5] == -(2**63)).all()


def test_callbacks_of_the_program_are_called(record: Record) -> None:
    run = record("callbacks")
    assert run.stdout == "1 1 1\n"
    spool = run.spool
    build = spool.records(Build)[1]
    assert (build.options, build.status) == ("-DASYNC", 0)
    assert build.enter_host_ns < build.return_host_ns
    sizes = spool.rows(BUFFERS)[:, BUFFERS.index("size_bytes")]
    assert list(sizes) == [4096, 333]
    assert len(spool.rows(RELEASES)) == 2


def test_redacted_facts_are_nowhere_in_the_spool(record: Record) -> None:
    settings = Settings(record_source=False, record_arguments=False, record_environment=False)
    spool = record("matrix", settings=settings).spool
    files = b"".join(path.read_bytes() for path in spool.directory.iterdir())
    assert b"kernel void" not in files
    assert b"-DUNUSED" not in files
    assert not spool.records(Text)
    assert {build.options for build in spool.records(Build)} == {""}
    assert {program.source_text_id for program in spool.records(Program)} == {0}
    assert (spool.rows(LAUNCHES)[:, LAUNCHES.index("arguments_id")] == 0).all()
    redacted = {redaction.what for redaction in spool.records(Redaction)}
    assert redacted == {"source", "arguments", "environment"}


def test_kernels_are_chosen_by_name(record: Record) -> None:
    spool = record("matrix", settings=Settings(exclude_kernels=("pl*",))).spool
    names = {kernel.id: kernel.name for kernel in spool.records(Kernel)}
    launched = spool.rows(CIRCUMSTANCES)[:, CIRCUMSTANCES.index("kernel_id")]
    assert {names[int(kernel)] for kernel in launched} == {"scale"}


def test_recording_starts_paused_and_stops_at_a_limit(record: Record) -> None:
    paused = record("launches", "100", settings=Settings(start_paused=True)).spool
    assert not len(paused.rows(LAUNCHES))
    assert paused.records(Queue)  # objects are registered
    limited = record("launches", "300000", "100", settings=Settings(max_commands=2000)).spools[-1]
    count = len(limited.rows(LAUNCHES)) + len(limited.rows(CALLS))
    assert 2000 <= count < 300000
    codes = [note.code for note in limited.records(Diagnostic)]
    assert codes == ["recorded-by-layer", "limit-reached"]


def test_a_million_launches_are_recorded_whole(record: Record) -> None:
    spool = record("launches", "1000000", "5000").spool
    assert len(spool.rows(LAUNCHES)) == 1_000_001
    stamps = spool.rows(STAMPS)
    assert len(stamps) == 1_000_001
    assert len(np.unique(stamps[:, 0])) == len(stamps)
    assert (np.diff(stamps[:, 1:5], axis=1) >= 0).all()
    assert len(spool.rows(CIRCUMSTANCES)) == 2
    assert len(spool.rows(arguments_table(2))) == 1


def test_a_file_that_cannot_grow_ends_the_recording_not_the_program(
    toolbox: Toolbox, tmp_path: Path
) -> None:
    limited = ["sh", "-c", 'ulimit -f 16384; exec "$0" "$@"']
    program = [str(toolbox.program("launches")), "400000"]
    run = toolbox.record(tmp_path / "parts", [*limited, *program])
    assert run.status == 0, run.stderr
    assert run.stderr == ""
    assert "ns per launch" in run.stdout
    assert not run.spool.is_complete
    reasons = untraced_reasons(run.parts)
    assert [lines[0].startswith("tracing stopped: the spool") for lines in reasons.values()] == [
        True
    ]


def test_without_settings_nothing_is_recorded(toolbox: Toolbox, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    program = str(toolbox.program("launches"))
    remove = 'rm "$CLTRACE_SESSION/layer.settings"; exec "$0" "$@"'
    run = toolbox.record(parts, ["sh", "-c", remove, program, "10"])
    assert run.status == 0
    assert run.spools == []


@pytest.mark.parametrize("program", [["launches", "100000", "700"], ["matrix"], ["threads"]])
def test_stamps_are_read_between_commands_of_an_exclusive_driver(
    toolbox: Toolbox, layers: BuiltLayers, tmp_path: Path, program: list[str]
) -> None:
    layer = layers.find(toolbox.compiler, ("-DEXCLUSIVE_DRIVER=true", *toolbox.extra))
    name, *words = program
    command = [str(toolbox.program(name)), *words]
    usual = toolbox.record(tmp_path / "usual", command)
    assert usual.status == 0, usual.stderr
    run = replace(toolbox, layer=layer).record(tmp_path / "parts", command)
    assert (run.status, run.stderr) == (0, usual.stderr)
    stamps, expected = run.spool.rows(STAMPS), usual.spool.rows(STAMPS)
    assert len(np.unique(stamps[:, 0])) == len(stamps) == len(expected) > 0
    has_stamps = stamps[:, 1] > 0
    assert (np.diff(stamps[has_stamps, 1:5], axis=1) >= 0).all()
    assert run.spool.is_complete


@pytest.mark.parametrize("busy_ms", [0, 20, 50])
def test_stamps_that_the_program_has_read_at_its_end_are_written(
    toolbox: Toolbox, layers: BuiltLayers, tmp_path: Path, busy_ms: int
) -> None:
    """The reader sleeps meanwhile: nobody else writes them."""
    asleep = ("-DEXCLUSIVE_DRIVER=true", "-DPOLITE_PERIOD_NS=(60 * NS_PER_S)")
    layer = layers.find(toolbox.compiler, (*asleep, *toolbox.extra))
    command = [str(toolbox.program("launches")), "300", "100", "0", str(busy_ms)]
    spool = replace(toolbox, layer=layer).record(tmp_path / "parts", command).spool
    assert len(np.unique(spool.rows(STAMPS)[:, 0])) == len(spool.rows(LAUNCHES)) == 301
