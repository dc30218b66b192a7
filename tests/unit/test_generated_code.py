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

import pytest
from pytools.py_codegen import PythonCodeGenerator

import cltrace
from cltrace.intercept.hooks.launches import (
    CircumstanceCache,
    PathShape,
    make_launch_path,
    path_source,
    signed_zero,
)
from cltrace.intercept.hooks.raw_invoker import make_code_generator, make_raw_generator
from cltrace.intercept.objects.arguments import describe
from cltrace.intercept.tracebacks import is_from_signal_handler

BOOTSTRAP = Path(cltrace.__file__).parent / "intercept" / "bootstrap" / "sitecustomize.py"
KINDS = ("address", "value", "real", "size", "other")
SHAPES = [
    PathShape(len(kinds or ()), kinds, depth, is_direct=is_direct)
    for kinds in (None, (), *((kind,) for kind in KINDS), KINDS)
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
        "forget_last",
        "enqueue",
    ]


def test_a_launch_path_has_the_signature_of_the_function_that_it_replaces() -> None:
    source = path_source(PathShape(2, ("address", "value"), 1, is_direct=True))
    make = ast.parse(source).body[0]
    assert isinstance(make, ast.FunctionDef)
    enqueue = make.body[-2]
    assert isinstance(enqueue, ast.FunctionDef)
    assert ast.unparse(enqueue.args) == (
        "self, queue, global_size, local_size, arg0, arg1, global_offset=None, g_times_l=False, "
        "allow_empty_ndrange=False, wait_for=None"
    )


def test_the_text_of_a_key_follows_the_kinds_of_the_arguments() -> None:
    source = path_source(PathShape(5, KINDS, 1, is_direct=True))
    for line in (
        "frame = getframe(1); code = frame.f_code; at = frame.f_lasti",
        "key0 = arg0.int_ptr if type(arg0) is type0 else describe(arg0); "
        "key1 = arg1 if type(arg1) is type1 else describe(arg1); "
        "key2 = (arg2 or signed_zero(arg2)) if type(arg2) is type2 else describe(arg2); "
        "key3 = arg3.size if type(arg3) is type3 else describe(arg3); "
        "key4 = describe(arg4)",
        "if not (key0 == last_key0 and (key1 is last_key1 or key1 == last_key1) and "
        "(key2 is last_key2 or key2 == last_key2) and key3 == last_key3 and key4 == last_key4 and "
        "at == last_at and code is last_code",
        "if not (wait_for or global_offset or g_times_l or allow_empty_ndrange):",
    ):
        assert line in source
    assert "if False:" in path_source(PathShape(0, (), 1, is_direct=False))
    assert "code = at = None" in path_source(PathShape(0, (), 0, is_direct=True))
    assert "at = locate(getframe(1))" in path_source(PathShape(0, (), 2, is_direct=True))


class Owner:
    """The owner of a path that records what the path calls."""

    def __init__(self) -> None:
        self.cache = CircumstanceCache()
        self.interned: list[tuple[Any, ...]] = []
        self.slow: list[tuple[Any, ...]] = []
        self.unrecorded = 0

    def intern(self, *args: Any, **_: Any) -> int:
        key, _queue, _sizes, arguments = args
        self.interned.append(arguments)
        self.cache.circumstances[key] = len(self.interned)
        return len(self.interned)

    def record_slowly(self, *args: Any, **_: Any) -> None:
        _span, _event, _queue, sizes, wait_for, arguments = args
        self.slow.append((sizes, wait_for, arguments))

    def launch_unrecorded(self, *_: Any, **__: Any) -> str:
        self.unrecorded += 1
        return "unrecorded"


class World:
    """A launch path between a stand-in for pyopencl's function and one for the recorder."""

    def __init__(self, kinds: tuple[str, ...], types: tuple[type, ...]) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.gate = [1]
        self.owner = Owner()
        self.faults: list[BaseException] = []
        clock = itertools.count(1, 2).__next__
        recorder = SimpleNamespace(
            gate=self.gate,
            clock=clock,
            add_launch=self.rows.append,
            get_thread=lambda: 7,
            getframe=sys._getframe,
            sites=SimpleNamespace(locate=lambda _: 0),
            describe=describe,
            signed_zero=signed_zero,
            sample_hook_time=lambda _: None,
            launch_failed=lambda error, *_: self.faults.append(error),
            stop_on_fault=self.faults.append,
            is_from_signal_handler=is_from_signal_handler,
        )

        def inner(*args: Any) -> str:
            if args[4] == "fails":
                raise RuntimeError(args[4])
            return "event"

        assert isinstance(inner, FunctionType)
        shape = PathShape(len(kinds), kinds, 0, is_direct=True)
        self.launch = make_launch_path(shape, inner, types, recorder, self.owner)
        self.queue = SimpleNamespace(int_ptr=11)


def test_a_launch_path_interns_a_circumstance_once_and_appends_a_row_each_time() -> None:
    world = World(("value", "real"), (int, float))
    for a, b in ((1, 0.5), (1, 0.5), (2, 0.5), (1, 0.5), (1, 0.0), (1, -0.0)):
        assert world.launch(None, world.queue, (8,), None, a, b) == "event"
    assert world.owner.interned == [(1, 0.5), (2, 0.5), (1, 0.0), (1, -0.0)]
    assert [row[2] for row in world.rows] == [1, 1, 2, 1, 3, 4]
    assert [row[:2] for row in world.rows][:2] == [(1, 3), (5, 7)]
    assert {row[3] for row in world.rows} == {"event"}
    assert not world.owner.slow
    assert not world.faults


def test_a_launch_path_forgets_its_last_launch_with_its_cache() -> None:
    world = World(("value", "real"), (int, float))
    world.launch(None, world.queue, (8,), None, 1, 0.5)
    world.owner.cache.forget()
    world.launch(None, world.queue, (8,), None, 1, 0.5)
    assert len(world.owner.interned) == 2


def test_a_launch_that_is_not_plain_or_has_no_key_is_recorded_slowly() -> None:
    world = World(("value", "real"), (int, float))
    world.launch(None, world.queue, (8,), None, 1, 0.5, wait_for=["event"])
    world.launch(None, world.queue, [8], None, 1, 0.5)
    sizes = [sizes for sizes, _, _ in world.owner.slow]
    assert sizes == [((8,), None, None, False, False), ([8], None, None, False, False)]
    assert not world.rows


def test_a_launch_path_records_nothing_behind_a_closed_gate_and_passes_errors_on() -> None:
    world = World(("value", "real"), (int, float))
    with pytest.raises(RuntimeError, match="fails"):
        world.launch(None, world.queue, (8,), None, "fails", 0.5)
    assert [str(fault) for fault in world.faults] == ["fails"]
    world.gate.clear()
    assert world.launch(None, world.queue, (8,), None, 1, 0.5) == "unrecorded"
    assert world.owner.unrecorded == 1
    assert not world.rows


def test_a_launch_path_has_the_name_of_the_function_that_it_calls() -> None:
    world = World(("value", "real"), (int, float))
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
