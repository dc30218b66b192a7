"""Stacks of calls: every call has the frames that led to it, without a walk at each call."""

import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from types import CodeType, FrameType
from typing import Any

import pytest

from cltrace.intercept.objects.stacks import Activation, Stacks

Frames = list[str]


class Recorded:
    """Stacks with a recorder that keeps what is recorded."""

    def __init__(self, depth: int = 64) -> None:
        self.frames: dict[int, tuple[str, int]] = {}
        self.lines: dict[int, int] = {}
        self.stacks = Stacks(depth, _is_library, count(1).__next__, self._record)

    def _record(self, number: int, _file: str, line: int, function: str, outer: int) -> None:
        assert number not in self.frames
        assert outer == 0 or outer in self.frames
        self.frames[number] = (function.rpartition(".")[2], outer)
        self.lines[number] = line

    def call(self) -> int:
        """Be a traced call: return the number of its stack."""
        return self.stacks.locate(sys._getframe(1))

    def functions(self, number: int) -> Frames:
        """Return the functions of a stack, the innermost first, up to the test."""
        names = []
        while number:
            name, number = self.frames[number]
            names.append(name)
            if name.startswith("test_"):
                break
        return names


def _is_library(code: CodeType) -> bool:
    return code.co_filename == "library"


def _define(source: str, filename: str, **names: Any) -> dict[str, Any]:
    namespace = dict(names)
    exec(compile(source, filename, "exec"), namespace)
    return namespace


def test_a_line_has_a_stack_for_each_caller() -> None:
    recorded = Recorded()

    def inner() -> int:
        return recorded.call()

    def outer() -> int:
        return inner()

    numbers = set()
    for _ in range(3):
        same_line = (inner(), inner())
        numbers.add((*same_line, outer()))
    assert len(numbers) == 1
    direct, again, nested = numbers.pop()
    assert direct == again != nested
    test = "test_a_line_has_a_stack_for_each_caller"
    assert recorded.functions(direct) == ["inner", test]
    assert recorded.functions(nested) == ["inner", "outer", test]


@pytest.mark.parametrize("levels", [0, 1, 2, 3, 6])
def test_repeated_calls_have_the_stack_of_their_callers(levels: int) -> None:
    recorded = Recorded()

    def down(level: int) -> int:
        return recorded.call() if level == 0 else down(level - 1)

    def one() -> int:
        return down(levels)

    def other() -> int:
        return down(levels)

    for _ in range(3):
        found = {recorded.functions(one())[-2], recorded.functions(other())[-2]}
        assert found == {"one", "other"}
        assert len(recorded.functions(one())) == levels + 3


def test_a_deep_recursion_is_bounded() -> None:
    recorded = Recorded(depth=5)

    def recurse(level: int) -> int:
        return recorded.call() if level == 0 else recurse(level - 1)

    numbers = {recurse(level) for level in range(20, 300)}
    assert len(numbers) == 1
    assert len(recorded.frames) <= 6
    number, frames = numbers.pop(), 0
    while number:
        frames, number = frames + 1, recorded.frames[number][1]
    assert frames == 5


def test_a_stack_that_is_too_deep_keeps_the_programs_own_nearest_frame() -> None:
    recorded = Recorded(depth=4)
    package = _define(
        "def deep(call, level):\n    return call() if not level else deep(call, level - 1)\n",
        "/lib/python3/site-packages/package.py",
    )
    leaf = _define(
        "def leaf():\n    return call()\n", "/x/site-packages/leaf.py", call=recorded.call
    )["leaf"]

    def mine() -> int:
        number: int = package["deep"](leaf, 9)
        return number

    number: int = package["deep"](mine, 9)
    names = []
    while number:
        name, number = recorded.frames[number]
        names.append(name)
    assert names[:2] == ["leaf", "mine"]
    assert len(names) == 4


def test_frames_of_packages_around_the_program_are_left_out() -> None:
    recorded = Recorded()
    program = _define(
        "def main():\n    return launch(call)\n",
        "program.py",
        call=recorded.call,
        **_define("def launch(call):\n    return call()\n", "/x/site-packages/package.py"),
    )
    runner = _define("def run(main):\n    return main()\n", "/x/site-packages/runner.py")

    # In a thread of its own, no frame of this test is around it.
    thread = threading.Thread(target=runner["run"], args=(program["main"],))
    thread.start()
    thread.join()
    assert sorted(recorded.frames.items()) == [(1, ("main", 0)), (2, ("launch", 1))]


def test_frames_of_the_library_are_left_out() -> None:
    recorded = Recorded()
    library = _define(
        "def twice(call):\n    return wrapped(call)\ndef wrapped(call):\n    return call()\n",
        "library",
    )

    def mine() -> int:
        number: int = library["twice"](recorded.call)
        return number

    assert {recorded.functions(mine())[0] for _ in range(3)} == {"mine"}


def test_a_generator_has_the_callers_that_resume_it() -> None:
    recorded = Recorded()

    def generate() -> Iterator[int]:
        while True:
            yield recorded.call()

    values = generate()

    def one() -> int:
        return next(values)

    def other() -> int:
        return next(values)

    for _ in range(3):
        assert recorded.functions(one())[:2] == ["generate", "one"]
        assert recorded.functions(other())[:2] == ["generate", "other"]


def test_an_earlier_recordings_numbers_are_not_taken() -> None:
    first, second = Recorded(), Recorded()
    for recorded in (first, second, first):
        for _ in range(2):
            assert recorded.functions(recorded.call()) == [
                "test_an_earlier_recordings_numbers_are_not_taken"
            ]


def test_a_debugger_is_left_alone() -> None:
    recorded = Recorded()
    seen: list[str] = []

    def trace(_frame: FrameType, event: str, _value: object) -> Callable[..., Any] | None:
        seen.append(event)
        return None

    def loop() -> None:
        for _ in range(2):
            recorded.call()

    before = sys.gettrace()
    try:
        for _ in range(2):
            recorded.call()  # lets this frame carry an activation
        carried = sys._getframe().f_trace
        assert isinstance(carried, Activation) or before is not None
        sys.settrace(trace)
        loop()
        recorded.call()
        sys.settrace(None)
        assert carried is sys._getframe().f_trace
    finally:
        sys.settrace(before)
    assert "call" in seen


def test_no_frame_carries_an_activation_while_something_traces() -> None:
    recorded = Recorded()
    found = []

    def loop() -> None:
        for _ in range(3):
            recorded.call()
        found.append(sys._getframe().f_trace)

    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        loop()
    finally:
        sys.settrace(before)
    loop()
    assert found[0] is None
    assert isinstance(found[1], Activation) or before is not None


def test_threads_have_their_own_stacks() -> None:
    recorded = Recorded()
    found: dict[str, set[str]] = {}

    def inner() -> int:
        return recorded.call()

    def run(name: str) -> None:
        program = _define(
            f"def {name}():\n    return [inner() for _ in range(500)]\n", "p.py", inner=inner
        )
        found[name] = {recorded.functions(number)[2] for number in program[name]()}

    threads = [threading.Thread(target=run, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {name: {name} for name in found}
    assert len(found) == 4
