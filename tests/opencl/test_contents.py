"""Contents of buffers that the host wrote, as `run` records them and counting takes them."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import cltrace
from cltrace.kernels.arguments import BufferArgument
from cltrace.kernels.counts.traced_launches import TracedLaunch, traced_launches
from cltrace.kernels.launches.counter import TracedLaunchCounter
from cltrace.kernels.launches.settings import CountingSettings
from cltrace.kernels.machine import Machine
from tests.conftest import Runner

pytestmark = pytest.mark.opencl

HEAD = """
import os, sys
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
source = '''
kernel void use(global float *y, global const int *n) {
    for (int k = 0; k < n[0]; k++) y[get_global_id(0)] += k;
}
kernel void change(global int *n) { n[get_global_id(0)] = 3; }
'''
program = cl.Program(context, source).build()
use, change = program.use, program.change
flags = cl.mem_flags
y = cl.Buffer(context, flags.READ_WRITE, 64 << 10)
def ints(value, count=4):
    return np.full(count, value, np.int32)
def filled(value, count=4):
    return cl.Buffer(context, flags.COPY_HOST_PTR, hostbuf=ints(value, count))
def launch(n, items=1024):
    use(queue, (items,), (64,), y, n)
"""

Contents = dict[tuple[str, int], list[NDArray[np.uint8] | None]]
Launches = Callable[..., list[TracedLaunch]]


@pytest.fixture
def launches(run: Runner, tmp_path: Path) -> Launches:
    """A function that records code and returns its launch configurations."""

    def record(code: str, *flags: str) -> list[TracedLaunch]:
        (tmp_path / "a.py").write_text(HEAD + code)
        path = tmp_path / "a.cltrace"
        done = run("run", "-q", "-f", *flags, "-o", path, sys.executable, tmp_path / "a.py")
        assert done.status == 0, done.stderr
        with cltrace.load(path) as trace:
            return list(traced_launches(trace))

    return record


def first_numbers(launches: list[TracedLaunch]) -> dict[int, int | None]:
    """The first number in the last argument of `use`, by the first global size."""
    numbers: dict[int, int | None] = {}
    for launch in launches:
        argument = launch.arguments[-1]
        assert isinstance(argument, BufferArgument)
        if launch.kernel == "use":
            contents = argument.contents
            numbers[launch.global_size[0]] = (
                None if contents is None else int(contents.view(np.int32)[0])
            )
    return numbers


LARGE = 1 << 18


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((), {1024: 5, 512: 6}),
        (("--capture-buffers", "4"), {1024: 5, 512: 6}),
        (("--capture-buffers", "4", "--layer", "off"), {1024: 5, 512: 6}),
        (("--capture-buffers", "0"), {1024: None, 512: None}),
        (("--no-args",), {}),
    ],
    ids=["default", "large", "hooks", "none", "no-args"],
)
def test_contents_are_recorded_as_flags_say(
    flags: tuple[str, ...], expected: dict[int, int | None], launches: Launches
) -> None:
    code = f"launch(filled(5)); launch(filled(6, {LARGE}), 512); queue.finish()\n"
    assert first_numbers(launches(code, *flags)) == expected


INDICES = "np.arange(1, COUNT + 1, dtype=np.int32)"
MANY = {
    "indices": (INDICES, 1),
    "long indices": ("np.arange(1, COUNT + 1, dtype=np.int64)", 1),
    "negative": ("-np.arange(1, COUNT + 1, dtype=np.int32)", 1),
    "one of four members": (
        f"np.where(np.arange(COUNT) % 4, 1 << 30, {INDICES}).astype(np.int32)",
        1,
    ),
    "one of three members": (
        f"np.where(np.arange(COUNT) % 3 != 1, 1 << 30, {INDICES}).astype(np.int32)",
        1,
    ),
    "two of six members, 1.5 MiB": (
        "np.where(np.arange(6 * COUNT) % 6 > 1, 1 << 30, np.arange(6 * COUNT) + 1).astype(np.int32)",
        1,
    ),
    "one of eight members": (
        f"np.where(np.arange(COUNT) % 8, 1 << 30, {INDICES}).astype(np.int32)",
        None,
    ),
    "floats": ("np.arange(1, COUNT + 1, dtype=np.float32)", None),
    "doubles": ("np.arange(1, COUNT + 1) / 3", None),
    "keys": ("np.random.default_rng(1).integers(0, 1 << 32, COUNT, np.uint32)", None),
    "zeros": ("np.zeros(COUNT, np.int32)", None),
    "too large": (f"np.tile({INDICES}, 80)", None),
}


@pytest.mark.parametrize("name", MANY)
def test_large_contents_are_recorded_if_they_are_indices(name: str, launches: Launches) -> None:
    numbers, expected = MANY[name]
    code = (
        f"COUNT = {LARGE // 4}\ndata = np.ascontiguousarray({numbers})\n"
        "data.view(np.int32)[0] = 1  # of trips\n"
        "n = cl.Buffer(context, flags.COPY_HOST_PTR, hostbuf=data)\nlaunch(n)\nqueue.finish()\n"
    )
    assert first_numbers(launches(code)) == {1024: expected}


def test_the_first_contents_of_large_buffers_are_recorded(launches: Launches) -> None:
    code = (
        f"n = cl.Buffer(context, flags.READ_WRITE, {4 * LARGE})\n"
        f"cl.enqueue_copy(queue, n, ints(5, {LARGE})); launch(n); launch(n, 512)\n"
        f"cl.enqueue_copy(queue, n, ints(6, {LARGE})); launch(n, 256)\n"
        "cl.enqueue_copy(queue, n, ints(7, 1)); launch(n, 128); queue.finish()\n"
    )
    assert first_numbers(launches(code)) == {1024: 5, 512: 5, 256: None, 128: None}


@pytest.mark.parametrize(("writes", "expected"), [(3, 1), (4, None)])
def test_a_buffer_of_other_contents_is_looked_at_four_times(
    writes: int, expected: int | None, launches: Launches
) -> None:
    code = (
        f"n = cl.Buffer(context, flags.READ_WRITE, {LARGE})\n"
        f"for _ in range({writes}):\n"
        f"    cl.enqueue_copy(queue, n, np.zeros({LARGE // 4}, np.int32))\n"
        f"cl.enqueue_copy(queue, n, ints(1, {LARGE // 4})); launch(n); queue.finish()\n"
    )
    assert first_numbers(launches(code)) == {1024: expected}


def test_parts_that_are_written_before_a_launch_join_large_contents(launches: Launches) -> None:
    code = (
        f"n = filled(5, {LARGE}); cl.enqueue_copy(queue, n, ints(7, 1)); launch(n)\n"
        "cl.enqueue_copy(queue, n, ints(8, 1)); launch(n, 512); queue.finish()\n"
    )
    assert first_numbers(launches(code)) == {1024: 7, 512: None}


def test_indices_have_a_limited_room(launches: Launches) -> None:
    code = (
        "for step in range(5):\n    launch(filled(step + 1, 1 << 21), 64 * (step + 1))\n"
        "launch(filled(9), 1024); queue.finish()\n"
    )
    assert first_numbers(launches(code)) == {64: 1, 128: 2, 192: 3, 256: 4, 320: None, 1024: 9}


WRITES = {
    "whole": ("cl.enqueue_copy(queue, n, ints(9))", 9),
    "same": ("cl.enqueue_copy(queue, n, ints(5))", 5),
    "begin": ("cl.enqueue_copy(queue, n, ints(7, 1))", 7),
    "end": ("cl.enqueue_copy(queue, n, ints(7, 1), dst_offset=12)", 5),
    "copied": ("cl.enqueue_copy(queue, n, filled(8))", None),
    "filled": ("cl.enqueue_fill_buffer(queue, n, np.int32(2), 0, 16)", None),
    "mapped": (
        "cl.enqueue_map_buffer(queue, n, cl.map_flags.WRITE, 0, (4,), np.int32)[0].base.release()",
        None,
    ),
    "read by mapping": (
        "cl.enqueue_map_buffer(queue, n, cl.map_flags.READ, 0, (4,), np.int32)[0].base.release()",
        5,
    ),
    "divided": ("part = n[0:4]", None),
    "rectangle": (
        "cl.enqueue_copy(queue, n, ints(4), buffer_origin=(0, 0), host_origin=(0, 0), region=(4, 1))",
        None,
    ),
    "released": (
        "del n; queue.finish(); n = cl.Buffer(context, flags.READ_WRITE, 16)\n"
        "cl.enqueue_fill_buffer(queue, n, np.int32(2), 0, 16)",
        None,
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_contents_follow_what_writes_a_buffer(name: str, launches: Launches) -> None:
    write, expected = WRITES[name]
    code = f"n = filled(5); launch(n)\n{write}\nlaunch(n, 512); queue.finish()\n"
    assert first_numbers(launches(code)) == {1024: 5, 512: expected}


def test_writes_that_no_launch_waits_for_are_not_recorded(launches: Launches) -> None:
    code = (
        "n = filled(5)\nfor step in range(100):\n"
        "    cl.enqueue_copy(queue, n, ints(step)); launch(n)\n"
        "launch(n, 512); queue.finish()\n"
    )
    assert first_numbers(launches(code)) == {1024: 0, 512: 99}


def test_contents_that_change_for_ever_new_configurations_are_not_recorded_for_ever(
    launches: Launches,
) -> None:
    code = (
        "n = filled(5)\nfor step in range(100):\n"
        "    cl.enqueue_copy(queue, n, ints(step)); launch(n, 64 * (step + 1))\n"
        "queue.finish()\n"
    )
    numbers = first_numbers(launches(code))
    assert [numbers[64 * (step + 1)] for step in range(64)] == list(range(64))
    assert {numbers[64 * (step + 1)] for step in range(64, 100)} == {None}


def test_room_for_large_contents_is_what_was_asked_for(launches: Launches) -> None:
    code = (
        f"for step in range(4):\n    launch(filled(step, {LARGE}), 64 * (step + 1))\n"
        f"launch(filled(0, {LARGE}), 1024); queue.finish()\n"
    )
    numbers = first_numbers(launches(code, "--capture-buffers", "2"))
    assert numbers == {64: 0, 128: 1, 192: None, 256: None, 1024: 0}


def test_a_forked_child_records_its_own_buffers(launches: Launches) -> None:
    code = (
        "n = filled(5); launch(n); queue.finish()\n"
        "if os.fork() == 0:\n    os._exit(0)\n"
        "os.wait(); launch(filled(6), 512); queue.finish()\n"
    )
    assert first_numbers(launches(code)) == {1024: 5, 512: 6}


def counted_trips(launches: list[TracedLaunch], tmp_path: Path) -> dict[int, bool]:
    """Whether the trips of `use` are known, by the first global size."""
    counter = TracedLaunchCounter(Machine(), CountingSettings(cache=tmp_path / "counts"))
    return {
        launch.global_size[0]: not counter.count(launch).assumptions
        for launch in launches
        if launch.kernel == "use"
    }


@pytest.mark.parametrize(
    "flags", [(), ("--capture-buffers", "4", "--layer", "off")], ids=["layer", "hooks"]
)
def test_contents_that_a_kernel_may_have_written_are_not_counted_with(
    flags: tuple[str, ...], launches: Launches, tmp_path: Path
) -> None:
    code = (
        "n = filled(5); launch(n); launch(n, 512)\n"
        "change(queue, (4,), None, n); launch(n, 256)\n"
        "cl.enqueue_copy(queue, n, ints(9)); launch(n, 128); queue.finish()\n"
    )
    recorded = launches(code, *flags)
    assert first_numbers(recorded) == {1024: 5, 512: 5, 256: 5, 128: 9}
    assert counted_trips(recorded, tmp_path) == {1024: True, 512: True, 256: False, 128: True}


def test_a_kernel_of_another_program_may_have_written_contents(
    launches: Launches, tmp_path: Path
) -> None:
    code = (
        "other = cl.Program(context, 'kernel void fill(global int *n) { n[get_global_id(0)] = 1; }')\n"
        "n = filled(5); launch(n); other.build().fill(queue, (4,), None, n); launch(n, 512)\n"
        "queue.finish()\n"
    )
    assert counted_trips(launches(code), tmp_path) == {1024: True, 512: False}


@pytest.mark.parametrize(
    ("code", "flags"),
    [
        ("change(queue, (4,), None, n)\n", ("--exclude-kernel", "change")),
        (
            "import cltrace\ncltrace.pause()\nchange(queue, (4,), None, n)\ncltrace.resume()\n",
            (),
        ),
    ],
    ids=["excluded", "paused"],
)
def test_a_launch_that_is_not_recorded_may_have_written_contents(
    code: str, flags: tuple[str, ...], launches: Launches
) -> None:
    program = f"n = filled(5); launch(n)\n{code}launch(n, 512); queue.finish()\n"
    assert first_numbers(launches(program, *flags)) == {1024: 5, 512: None}


def test_what_the_program_may_change_without_a_call_is_not_recorded(launches: Launches) -> None:
    code = (
        "data = ints(5, 1024)\n"
        "n = cl.Buffer(context, flags.USE_HOST_PTR, hostbuf=data)\n"
        "data[:] = 9; launch(n); queue.finish()\n"
    )
    assert first_numbers(launches(code)) == {1024: None}


def test_buffers_that_come_and_go_have_their_own_contents(launches: Launches) -> None:
    code = (
        "for step in range(60):\n"
        "    launch(filled(step), 64 * (step + 1)); queue.finish()\n"
        "for step in range(60):\n"
        "    launch(filled(100 + step)); queue.finish()\n"
    )
    recorded = launches(code)
    numbers = first_numbers(recorded)
    assert [numbers[64 * (step + 1)] for step in range(60) if step != 15] == [
        step for step in range(60) if step != 15
    ]
    known = [launch.arguments[-1] for launch in recorded if launch.kernel == "use"]
    assert all(isinstance(n, BufferArgument) and n.contents is not None for n in known)


def test_a_kernel_that_ran_before_a_write_and_after_a_launch_changed_nothing(
    launches: Launches, tmp_path: Path
) -> None:
    code = (
        "n = filled(5)\nfor step in range(4):\n"
        "    cl.enqueue_copy(queue, n, ints(step)); launch(n, 64 * (step + 1))\n"
        "    change(queue, (4,), None, n)\n"
        "queue.finish()\n"
    )
    recorded = launches(code)
    assert first_numbers(recorded) == {64: 0, 128: 1, 192: 2, 256: 3}
    assert set(counted_trips(recorded, tmp_path).values()) == {True}


def test_room_is_left_for_the_smallest_buffers(launches: Launches) -> None:
    code = (
        "kept = [filled(1, 1 << 14) for _ in range(80)]\n"
        "launch(filled(5)); launch(kept[-1], 512); queue.finish()\n"
    )
    assert first_numbers(launches(code)) == {1024: 5, 512: None}


def test_a_limit_on_the_size_of_files_does_not_end_the_program(run: Runner, tmp_path: Path) -> None:
    code = HEAD + (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100 << 10, resource.RLIM_INFINITY))\n"
        "for step in range(8):\n"
        "    launch(filled(step, 1 << 14), 64 * (step + 1))\n"
        "queue.finish()\nprint('ended')\n"
    )
    (tmp_path / "a.py").write_text(code)
    done = run("run", "-q", "-o", tmp_path / "a.cltrace", sys.executable, tmp_path / "a.py")
    assert done.status == 0, done.stderr
    assert done.stdout == "ended\n"
