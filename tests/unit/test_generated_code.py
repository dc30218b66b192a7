"""Code that cltrace generates or rewrites as text: the text is right, and no name in it is undefined."""

import ast
import builtins
import dis
import importlib
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from pytools.py_codegen import PythonCodeGenerator

import cltrace
from cltrace.intercept.hooks.launches import (
    PathLog,
    PathParameter,
    PathShape,
    make_launch_path,
    parameter_of,
    path_source,
)
from cltrace.intercept.hooks.raw_invoker import make_code_generator, make_raw_generator
from cltrace.intercept.tracebacks import is_from_signal_handler

BOOTSTRAP = Path(cltrace.__file__).parent / "intercept" / "bootstrap" / "sitecustomize.py"


def parameters_of(*arguments: Any) -> tuple[PathParameter, ...]:
    """How a path records arguments like these."""
    parameters = tuple(parameter_of(argument) for argument in arguments)
    assert None not in parameters
    return tuple(parameter for parameter in parameters if parameter is not None)


ARGUMENTS = (1, 0.5, np.int32(3), np.zeros(1, "i4,f4")[0], None, cl.LocalMemory(64))
LISTS = [(), *((argument,) for argument in ARGUMENTS), ARGUMENTS]
SHAPES = [
    PathShape(len(arguments), parameters_of(*arguments), depth, is_direct=is_direct)
    for arguments in LISTS
    for depth in (0, 1, 3)
    for is_direct in (True, False)
]


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that are nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def global_names(code: CodeType) -> set[str]:
    return {
        instruction.argval
        for nested in codes(code)
        for instruction in dis.get_instructions(nested)
        if instruction.opname in {"LOAD_GLOBAL", "STORE_GLOBAL"}
    }


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_launch_path_uses_nothing_but_its_own_names_and_builtins(shape: PathShape) -> None:
    source = path_source(shape)
    assert not re.search(r"[{}]", source)
    code = compile(source, "<test>", "exec")
    assert global_names(code) <= set(vars(builtins))
    assert [nested.co_name for nested in codes(code)] == [
        "<module>",
        "make",
        "enqueue",
    ]


def test_a_launch_path_has_the_signature_of_the_function_that_it_replaces() -> None:
    source = path_source(PathShape(2, parameters_of(1, 0.5), 1, is_direct=True))
    make = ast.parse(source).body[0]
    assert isinstance(make, ast.FunctionDef)
    enqueue = make.body[-2]
    assert isinstance(enqueue, ast.FunctionDef)
    assert ast.unparse(enqueue.args) == (
        "self, queue, global_size, local_size, arg0, arg1, global_offset=None, g_times_l=False, "
        "allow_empty_ndrange=False, wait_for=None"
    )


def test_the_text_of_a_path_follows_its_parameters() -> None:
    source = path_source(PathShape(6, parameters_of(*ARGUMENTS), 1, is_direct=True))
    for line in (
        "frame = getframe(1); code = frame.f_code",
        "type(arg0) is type0 and type(arg1) is type1 and type(arg2) is type2 and "
        "type(arg3) is type3 and arg4 is None and type(arg5) is type5:",
        "extend((enter, leave, circumstance, mark, event, "
        "arg0, arg1, arg2, arg3.tobytes(), arg5.size, ))",
    ):
        assert line in source
    assert "if False:" in path_source(PathShape(0, (), 1, is_direct=False))
    assert "code, at = None, 0" in path_source(PathShape(0, (), 0, is_direct=True))
    assert "at = own.get(frame.f_lasti)" in path_source(PathShape(0, (), 2, is_direct=True))


class Owner:
    """The owner of a path that records what the path calls."""

    def __init__(self, parameters: tuple[PathParameter, ...]) -> None:
        self.log = PathLog(parameters, has_arguments=True)
        self.numbered: list[tuple[Any, ...]] = []
        self.slow: list[tuple[Any, ...]] = []
        self.unrecorded = 0

    def number_circumstance(self, *args: Any) -> int:
        self.numbered.append(args)
        return len(self.numbered)

    def record_slowly(self, *args: Any, **_: Any) -> None:
        _span, _event, _queue, sizes, wait_for, arguments = args
        self.slow.append((sizes, wait_for, arguments))

    def launch_unrecorded(self, *_: Any, **__: Any) -> str:
        self.unrecorded += 1
        return "unrecorded"


class World:
    """A launch path between a stand-in for pyopencl's function and one for the recorder."""

    def __init__(self, *arguments: Any) -> None:
        self.gate = [1]
        self.waits: list[tuple[int, Any]] = []
        self.faults: list[BaseException] = []
        clock = itertools.count(1, 2).__next__
        self.active: dict[int, Any] = {}
        recorder = SimpleNamespace(
            gate=self.gate,
            clock=clock,
            threads=SimpleNamespace(number=7),
            getframe=sys._getframe,
            sites=SimpleNamespace(
                program_codes={},
                place=None,
                stacks=SimpleNamespace(activation_type=None, locate=None),
            ),
            memory=SimpleNamespace(numbers={}, observe=None),
            registry=SimpleNamespace(queues={11: 1}, finalised={}, queue_handle=None),
            sink=SimpleNamespace(next_mark=itertools.count(1).__next__, active_logs=self.active),
            add_waits=lambda mark, events: self.waits.append((mark, events)),
            sample_hook_time=lambda _: None,
            launch_failed=lambda error, *_: self.faults.append(error),
            stop_on_fault=self.faults.append,
            lose_command=self.faults.append,
            is_from_signal_handler=is_from_signal_handler,
        )

        def inner(*args: Any) -> str:
            if args[4] == "fails":
                raise RuntimeError(args[4])
            return "event"

        assert isinstance(inner, FunctionType)
        parameters = parameters_of(*arguments)
        self.owner = Owner(parameters)
        shape = PathShape(len(arguments), parameters, 0, is_direct=True)
        types = tuple(map(type, arguments))
        self.launch = make_launch_path(shape, inner, types, recorder, self.owner)
        self.queue = SimpleNamespace(int_ptr=11)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        width, flat = self.owner.log.width, self.owner.log.rows
        return [tuple(flat[at : at + width]) for at in range(0, len(flat), width)]


def test_a_launch_path_appends_a_row_each_time_and_numbers_a_circumstance_once() -> None:
    world = World(1, 0.5)
    for a, b in ((1, 0.5), (1, 0.5), (2, 0.5), (1, 0.0), (1, -0.0)):
        assert world.launch(None, world.queue, (8,), None, a, b) == "event"
    assert world.owner.numbered == [(None, 0, 7, 11, (8,), None, None, False)]
    assert [row[:5] for row in world.rows][:2] == [(1, 3, 1, 0, "event"), (5, 7, 1, 0, "event")]
    assert [repr(row[5:]) for row in world.rows] == [
        "(1, 0.5)",
        "(1, 0.5)",
        "(2, 0.5)",
        "(1, 0.0)",
        "(1, -0.0)",
    ]
    assert list(world.active.values()) == [world.owner.log]
    assert not world.owner.slow
    assert not world.faults


def test_a_launch_path_numbers_each_other_ndrange() -> None:
    world = World(1, 0.5)
    sizes: list[tuple[Any, Any]] = [((8,), None), ((8,), (4,)), ((16,), (4,)), ((16,), (4,))]
    for size, local in sizes:
        world.launch(None, world.queue, size, local, 1, 0.5)
    world.launch(None, world.queue, (16,), (4,), 1, 0.5, (2,))
    assert [row[2] for row in world.rows] == [1, 2, 3, 3, 4]


def test_a_launch_path_compares_no_size_that_the_program_can_change() -> None:
    world = World(1, 0.5)
    size = [8]
    world.launch(None, world.queue, size, None, 1, 0.5)
    size[0] = 16
    world.launch(None, world.queue, size, None, 1, 0.5)
    assert [row[2] for row in world.rows] == [1, 2]


def test_a_launch_path_marks_launches_that_wait() -> None:
    world = World(1, 0.5)
    world.launch(None, world.queue, (8,), None, 1, 0.5, wait_for=["event"])
    world.launch(None, world.queue, (8,), None, 1, 0.5)
    assert [row[3] for row in world.rows] == [1, 0]
    assert world.waits == [(1, ["event"])]


def test_a_launch_with_arguments_of_other_types_or_an_empty_range_is_recorded_slowly() -> None:
    world = World(1, 0.5)
    world.launch(None, world.queue, (8,), None, 1, 2)
    world.launch(None, world.queue, (0,), None, 1, 0.5, allow_empty_ndrange=True)
    sizes = [sizes for sizes, _, _ in world.owner.slow]
    assert sizes == [((8,), None, None, False, False), ((0,), None, None, False, True)]
    assert not world.rows


def test_a_launch_path_records_nothing_behind_a_closed_gate_and_passes_errors_on() -> None:
    world = World(1, 0.5)
    with pytest.raises(RuntimeError, match="fails"):
        world.launch(None, world.queue, (8,), None, "fails", 0.5)
    assert [str(fault) for fault in world.faults] == ["fails"]
    world.gate.clear()
    assert world.launch(None, world.queue, (8,), None, 1, 0.5) == "unrecorded"
    assert world.owner.unrecorded == 1
    assert not world.rows


def test_a_launch_path_has_the_name_of_the_function_that_it_calls() -> None:
    world = World(1, 0.5)
    assert world.launch.__name__ == world.launch.__code__.co_name == "inner"
    with pytest.raises(TypeError, match="inner"):
        world.launch(None)


@pytest.mark.parametrize("name", ["set_arg_multi", "set_arg_buf_multi", "set_arg_buf_pack_multi"])
def test_a_raw_invoker_calls_functions_in_text_of_the_same_length(name: str) -> None:
    generator = make_code_generator(PythonCodeGenerator)()
    line = f"self._{name}((0, arg0,), )"
    generator(line)
    (written,) = generator.get().splitlines()
    assert written == f"{name}(self, (0, arg0,), )"
    assert len(written) == len(line)


@pytest.mark.parametrize(
    "line", ["self._set_arg_null(0)", "pass", "assert arg0.queue == queue", "self.set_arg(0, arg0)"]
)
def test_a_raw_invoker_keeps_all_other_text(line: str) -> None:
    generator = make_code_generator(PythonCodeGenerator)()
    generator(line)
    assert generator.get().splitlines() == [line]


@pytest.mark.parametrize(
    ("types", "setters"),
    [
        (None, {"set_arg_multi"}),
        ((None, "int32", "float64"), {"set_arg_multi", "set_arg_buf_pack_multi"}),
        ((None, "V12", "int32"), {"set_arg_multi", "set_arg_buf_multi", "set_arg_buf_pack_multi"}),
    ],
    ids=["generic", "declared", "structure"],
)
def test_pyopencl_generates_raw_invokers_that_call_no_method_of_the_kernel(
    types: tuple[Any, ...] | None, setters: set[str]
) -> None:
    invoker = importlib.import_module("pyopencl.invoker")
    generate = make_raw_generator(invoker.generate_enqueue_and_set_args)
    enqueue, set_args = generate("k", 3, 3, types, False, False, ())
    assert enqueue.__name__ == "enqueue_knl_k"
    for function in (enqueue, set_args):
        names = set(function.__code__.co_names)
        assert (
            setters
            == {name for name in names if "set_arg" in name}
            <= global_names(function.__code__)
        )


def test_the_bootstrap_has_no_syntax_that_python_2_lacks() -> None:
    """Python 2.7 cannot be run here: what its grammar lacks is looked for by name."""
    text = BOOTSTRAP.read_bytes()
    text.decode("ascii")  # Python 2 wants a declaration for anything else
    for node in ast.walk(ast.parse(text)):
        assert not isinstance(node, (ast.Starred, ast.YieldFrom, ast.Await, ast.Nonlocal))
        assert not isinstance(node, (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.MatMult))
        if isinstance(node, ast.FunctionDef):
            assert node.returns is None
            assert not [one for one in node.args.args if one.annotation is not None]
        if isinstance(node, ast.ClassDef):
            assert not node.keywords
        if isinstance(node, ast.Raise):
            assert node.cause is None
