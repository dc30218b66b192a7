"""Every entry point of the layer is recorded with its sizes, offsets, flags, handles and status."""

import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from cltrace.events.apis import Api
from cltrace.events.kinds import CallFlag, MemoryKind
from cltrace.events.records import ArgumentForm, Build, Include, Kernel, Program, Site, Text
from cltrace.events.tables import (
    BUFFERS,
    CALLS,
    CIRCUMSTANCES,
    EDGES,
    LAUNCHES,
    RELEASES,
    STAMPS,
    RowTable,
    arguments_table,
)
from cltrace.intercept.native.build import SOURCE_DIRECTORY
from cltrace.spool.reader import ProcessSpool
from tests.native.conftest import RecordedRun, Toolbox

pytestmark = pytest.mark.opencl

Row = dict[str, int]


def rows(spool: ProcessSpool, table: RowTable) -> list[Row]:
    """Return a table's rows as dictionaries."""
    return [
        dict(zip(table.columns, map(int, row), strict=True)) for row in spool.rows(table).tolist()
    ]


@pytest.fixture(scope="module")
def matrix(toolbox: Toolbox, tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    parts = tmp_path_factory.mktemp("matrix") / "parts"
    run = toolbox.record(parts, [str(toolbox.program("matrix"))])
    assert run.status == 0, run.stderr
    return run


@pytest.fixture(scope="module")
def handles(matrix: RecordedRun) -> dict[str, int]:
    """The handles that the program printed, by name; 0 by the name of none."""
    lines = (line.split() for line in matrix.stdout.splitlines())
    return {"none": 0} | {words[0]: int(words[1]) for words in lines if len(words) == 2}


@pytest.fixture(scope="module")
def statuses(matrix: RecordedRun) -> dict[str, int]:
    matches = re.findall(r"^status (.+) (-?\d+)$", matrix.stdout, re.MULTILINE)
    return {name: int(status) for name, status in matches}


_BLOCKING: Final = int(CallFlag.BLOCKING)
_BLOCKING_WRITE: Final = int(CallFlag.BLOCKING | CallFlag.MAP_WRITE)

# Entry point, source, target, size, offset in the source, offset in the target, flags, waits.
_TRANSFERS: Final[list[tuple[Api, str, str, int, int, int, int, int]]] = [
    (Api.clEnqueueWriteBuffer, "none", "buffer", 128, 0, 16, _BLOCKING, 0),
    (Api.clEnqueueReadBuffer, "buffer", "none", 256, 32, 0, _BLOCKING, 0),
    (Api.clEnqueueWriteBuffer, "none", "buffer", 12, 0, 0, 0, 0),
    (Api.clEnqueueReadBuffer, "buffer", "none", 20, 0, 0, 0, 1),
    (Api.clEnqueueCopyBuffer, "buffer", "other", 64, 4, 8, 0, 2),
    (Api.clEnqueueFillBuffer, "none", "other", 80, 0, 40, 0, 0),
    (Api.clEnqueueReadBufferRect, "buffer", "none", 24, 132, 0, _BLOCKING, 0),
    (Api.clEnqueueWriteBufferRect, "none", "buffer", 24, 0, 132, _BLOCKING, 0),
    (Api.clEnqueueCopyBufferRect, "buffer", "other", 24, 132, 0, 0, 0),
    (Api.clEnqueueMigrateMemObjects, "none", "buffer", 4096, 0, 0, 0, 0),
    (Api.clEnqueueMigrateMemObjects, "none", "buffer", 4096, 0, 0, int(CallFlag.TO_HOST), 0),
    (Api.clEnqueueMapBuffer, "buffer", "buffer", 48, 24, 24, _BLOCKING_WRITE, 0),
    (Api.clEnqueueUnmapMemObject, "none", "buffer", 48, 0, 0, 0, 0),
    (Api.clEnqueueMapBuffer, "buffer", "buffer", 96, 0, 0, _BLOCKING, 0),
    (Api.clEnqueueUnmapMemObject, "none", "buffer", 96, 0, 0, 0, 0),
    (Api.clEnqueueWriteImage, "none", "image", 128, 0, 0, _BLOCKING, 0),
    (Api.clEnqueueReadImage, "image", "none", 128, 0, 0, _BLOCKING, 0),
    (Api.clEnqueueCopyImage, "image", "second_image", 128, 0, 0, 0, 0),
    (Api.clEnqueueCopyImageToBuffer, "image", "buffer", 128, 0, 64, 0, 0),
    (Api.clEnqueueCopyBufferToImage, "buffer", "image", 128, 32, 0, 0, 0),
    (Api.clEnqueueFillImage, "none", "image", 128, 0, 0, 0, 0),
    (Api.clEnqueueMapImage, "image", "image", 128, 0, 0, _BLOCKING, 0),
    (Api.clEnqueueUnmapMemObject, "none", "image", 128, 0, 0, 0, 0),
    (Api.clEnqueueSVMMemFill, "none", "svm", 100, 0, 0, 0, 0),
    (Api.clEnqueueSVMMemcpy, "svm", "svm+128", 60, 0, 0, _BLOCKING, 0),
    (Api.clEnqueueSVMMap, "svm", "svm", 512, 0, 0, _BLOCKING_WRITE, 0),
    (Api.clEnqueueSVMUnmap, "svm", "svm", -1, 0, 0, 0, 0),
    (Api.clEnqueueSVMMigrateMem, "none", "svm", -1, 0, 0, 0, 0),
    (Api.clEnqueueSVMFree, "none", "second_svm", -1, 0, 0, 0, 0),
    (Api.clEnqueueMarker, "none", "none", -1, 0, 0, 0, 0),
    (Api.clEnqueueMarkerWithWaitList, "none", "none", -1, 0, 0, 0, 1),
    (Api.clEnqueueBarrier, "none", "none", -1, 0, 0, int(CallFlag.QUEUED_ONLY), 0),
    (Api.clEnqueueBarrierWithWaitList, "none", "none", -1, 0, 0, 0, 0),
    (Api.clEnqueueNativeKernel, "none", "none", -1, 0, 0, 0, 0),
]


def test_enqueues_have_their_sizes_offsets_flags_and_handles(
    matrix: RecordedRun, handles: dict[str, int], statuses: dict[str, int]
) -> None:
    def handle(name: str) -> int:
        base, _, offset = name.partition("+")
        return handles[base] + int(offset or 0)

    edges = np.unique(matrix.spool.rows(EDGES)[:, 0], return_counts=True)
    waits = dict(zip(map(int, edges[0]), map(int, edges[1]), strict=True))
    enqueues = [
        row
        for row in rows(matrix.spool, CALLS)
        if Api(row["api"]).name.startswith("clEnqueue") and row["status"] == 0
    ]
    recorded = [
        (
            Api(row["api"]),
            row["source_handle"],
            row["target_handle"],
            row["size_bytes"],
            row["source_offset_bytes"],
            row["target_offset_bytes"],
            row["flags"],
            waits.get(row["mark"], 0),
        )
        for row in enqueues
    ]
    expected = [
        (api, handle(source), handle(target), *numbers)
        for api, source, target, *numbers in _TRANSFERS
        if statuses.get(api.name, 0) == 0
    ]
    assert recorded == expected
    assert {row["queue_handle"] for row in enqueues} == {handles["queue"]}
    for row in enqueues:
        has_event = not row["flags"] & CallFlag.QUEUED_ONLY
        assert bool(row["event_handle"]) == has_event
        assert row["enter_host_ns"] <= row["return_host_ns"]


def test_wait_lists_name_the_events_of_commands(
    matrix: RecordedRun, handles: dict[str, int]
) -> None:
    edges: dict[int, list[int]] = {}
    for edge in rows(matrix.spool, EDGES):
        edges.setdefault(edge["mark"], []).append(edge["event_handle"])
    calls = rows(matrix.spool, CALLS)
    waiting = {Api(row["api"]): edges.get(row["mark"], []) for row in calls if row["mark"]}
    both = [handles["first_event"], handles["second_event"]]
    assert waiting[Api.clEnqueueCopyBuffer] == both
    assert waiting[Api.clWaitForEvents] == both
    assert waiting[Api.clEnqueueMarkerWithWaitList] == [handles["marker_event"]]
    # A user event belongs to no command.
    assert waiting[Api.clEnqueueBarrierWithWaitList] == []


def test_every_command_has_stamps(matrix: RecordedRun) -> None:
    spool = matrix.spool
    launches = 2 * np.flatnonzero(spool.rows(LAUNCHES)[:, -1])
    calls = 2 * np.flatnonzero(spool.rows(CALLS)[:, -1]) + 1
    stamps = spool.rows(STAMPS)
    assert sorted(stamps[:, 0]) == sorted([*launches, *calls])
    assert (stamps[:, 5] == 0).all()
    assert (np.diff(stamps[:, 1:5], axis=1) >= 0).all()


def test_failures_have_their_status(matrix: RecordedRun, statuses: dict[str, int]) -> None:
    failures = {name.removeprefix("failed "): status for name, status in statuses.items() if status}
    recorded = {
        Api(row["api"]).name: row["status"] for row in rows(matrix.spool, CALLS) if row["status"]
    }
    assert recorded == failures


def test_memory_objects_have_kind_size_parent_geometry_and_release(
    matrix: RecordedRun, handles: dict[str, int]
) -> None:
    buffers = {row["handle"]: row for row in rows(matrix.spool, BUFFERS)}
    ids = {
        name: buffers[handle]["buffer_id"] for name, handle in handles.items() if handle in buffers
    }
    expected: dict[str, dict[str, int]] = {
        "buffer": {"kind": MemoryKind.BUFFER, "size_bytes": 4096},
        "other": {"kind": MemoryKind.BUFFER, "size_bytes": 2048},
        "part": {
            "kind": MemoryKind.SUB_BUFFER,
            "size_bytes": 512,
            "origin_bytes": 1024,
            "parent_buffer_id": ids["buffer"],
        },
        "image": {"kind": MemoryKind.IMAGE, "size_bytes": 2048, "width": 16, "height": 8},
        "svm": {"kind": MemoryKind.SVM, "size_bytes": 512},
        "second_svm": {"kind": MemoryKind.SVM, "size_bytes": 1024},
    }
    for name, facts in expected.items():
        row = buffers[handles[name]]
        assert {column: row[column] for column in facts} == facts, name
        assert row["created_here"] == 1
        assert row["site_id"] > 0
    releases = {row["buffer_id"]: row for row in rows(matrix.spool, RELEASES)}
    assert releases.keys() == {row["buffer_id"] for row in buffers.values()}
    calls = rows(matrix.spool, CALLS)
    for call in calls:
        if call["api"] == Api.clReleaseMemObject:
            # The driver tells of the destruction while it releases the last reference.
            release = releases[call["subject_id"]]["not_before_host_ns"]
            assert call["enter_host_ns"] <= release <= call["return_host_ns"]
        if (
            call["api"] in {Api.clCreateBuffer, Api.clCreateImage, Api.clSVMAlloc}
            and not call["status"]
        ):
            made = next(row for row in buffers.values() if row["buffer_id"] == call["subject_id"])
            assert made["known_host_ns"] == call["return_host_ns"]


def test_launches_have_their_ranges_and_arguments(
    matrix: RecordedRun, handles: dict[str, int]
) -> None:
    spool = matrix.spool
    names = {kernel.id: kernel.name for kernel in spool.records(Kernel)}
    circumstances = {row["circumstance_id"]: row for row in rows(spool, CIRCUMSTANCES)}
    launches = rows(spool, LAUNCHES)
    ranges = [circumstances[row["circumstance_id"]] for row in launches]
    assert [names[row["kernel_id"]] for row in ranges][:4] == ["scale", "plain", "plain", "plain"]
    three, two, task = ranges[1:4]
    assert [three[f"global_size_{axis}"] for axis in range(3)] == [8, 4, 2]
    assert [three[f"local_size_{axis}"] for axis in range(3)] == [4, 2, 1]
    assert [three[f"global_offset_{axis}"] for axis in range(3)] == [1, 2, 3]
    assert (two["global_dimensions"], two["local_dimensions"], two["offset_dimensions"]) == (
        2,
        0,
        0,
    )
    assert (task["global_dimensions"], task["global_size_0"], task["local_size_0"]) == (1, 1, 1)
    # Three launches without a change of the arguments share a list.
    assert len({row["arguments_id"] for row in launches[1:4]}) == 1
    assert arguments_of(spool, launches[1]["arguments_id"]) == [
        ("buffer", [handles["buffer"]], 0),
        ("scalar", [41], 4),
        ("local", [256], 0),
        ("scalar", [42], 8),
    ]
    assert arguments_of(spool, launches[0]["arguments_id"])[0] == ("svm", [handles["svm"]], 0)


def arguments_of(spool: ProcessSpool, arguments_id: int) -> list[tuple[str, list[int], int]]:
    """Return kind, words and size of each argument of a list."""
    forms = {form.id: form.slots for form in spool.records(ArgumentForm)}
    for count in range(64):
        for row in spool.rows(arguments_table(count)).tolist():
            if row[0] == arguments_id:
                words: list[int] = [int(word) for word in row[2:]]
                return [
                    (slot.kind, [words.pop(0) for _ in range(slot.words)], slot.size_bytes)
                    for slot in forms[int(row[1])]
                ]
    raise AssertionError(f"no list {arguments_id}")


def test_programs_have_source_options_and_log(matrix: RecordedRun) -> None:
    spool = matrix.spool
    texts = {text.id: text.text for text in spool.records(Text)} | {0: ""}
    programs = {program.id: program for program in spool.records(Program)}
    builds = [(Api(build.api), build.options, build.status) for build in spool.records(Build)]
    assert builds == [
        (Api.clBuildProgram, "-DUNUSED=1", 0),
        (Api.clCompileProgram, "-w", 0),
        (Api.clLinkProgram, "", 0),
        (Api.clBuildProgram, "", 0),
        (Api.clBuildProgram, "", -11),
    ]
    assert "kernel void scale" in texts[programs[1].source_text_id]
    failed = spool.records(Build)[-1]
    assert "error" in texts[failed.log_text_id]
    assert [include.name for include in spool.records(Include)] == ["factor.h"]
    assert texts[spool.records(Include)[0].text_id] == "#define FACTOR 3\n"
    origins = {program.origin for program in programs.values()}
    assert origins == {"source", "linked", "binary"}
    linked = next(program for program in programs.values() if program.origin == "linked")
    assert [programs[parent].origin for parent in linked.parent_ids] == ["source"]
    binary = next(program for program in programs.values() if program.origin == "binary")
    assert f"binary_bytes {binary.binary_bytes}\n" in matrix.stdout


def test_sites_name_the_program_and_the_offset(matrix: RecordedRun, toolbox: Toolbox) -> None:
    sites = {site.id: site for site in matrix.spool.records(Site)}
    program = str(toolbox.program("matrix"))
    used = {row["site_id"] for row in rows(matrix.spool, CALLS)}
    assert used <= sites.keys()
    for site in sites.values():
        assert re.fullmatch(re.escape(program) + r"\+0x[0-9a-f]+", site.file)
    assert len({site.file for site in sites.values()}) == len(sites)


def test_numbers_of_entry_points_are_those_of_the_vocabulary() -> None:
    text = (SOURCE_DIRECTORY / "apis.h").read_text()
    numbers = {name: int(number) for name, number in re.findall(r"API_(\w+) = (\d+)", text)}
    assert numbers
    assert {name: int(Api[name]) for name in numbers} == numbers
    flags = {name: int(number) for name, number in re.findall(r"CALL_(\w+) = (\d+)", text)}
    assert flags == {flag.name: int(flag) for flag in CallFlag}
    kinds = {name: int(number) for name, number in re.findall(r"MEMORY_(\w+) = (\d+)", text)}
    assert kinds == {kind.name: int(kind) for kind in MemoryKind}


def test_tables_of_the_writer_are_those_of_the_vocabulary() -> None:
    text = (SOURCE_DIRECTORY / "writer.c").read_text()
    widths: dict[str, Any] = {
        name: int(width)
        for name, width in re.findall(r'\.file\.name = "(\w+)\.rows", \.width = (\d+)', text)
    }
    tables = {LAUNCHES, CALLS, CIRCUMSTANCES, EDGES, BUFFERS, RELEASES, STAMPS}
    assert {table.name: table.width for table in tables}.items() <= widths.items()


def test_every_source_is_in_the_package() -> None:
    assert {path.suffix for path in SOURCE_DIRECTORY.iterdir() if path.is_file()} == {".c", ".h"}
    assert Path(SOURCE_DIRECTORY / "dispatch.c").is_file()
