"""Raw invokers: the functions that pyopencl generates for kernels, generated again to bypass all hooks.

Such a function sets arguments by methods of the kernel, which are hooked. A launch path must not call
the hooks, which would cost more than the launch. So pyopencl generates the function once more, with calls
of functions in place of methods. The replaced text has the same length, so the columns in tracebacks stay
the same.
"""

import re
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, Final

import pyopencl as cl
from pyopencl import _cl

from cltrace.intercept.hooks.circumstances import MAX_KEYS

_SETTER_CALL: Final = re.compile(r"\bself\._(set_arg\w*_multi)\(")
_SETTERS: Final = ("set_arg_multi", "set_arg_buf_multi", "set_arg_buf_pack_multi")
_BODIES: Final = ("generate_generic_arg_handling_body", "generate_specific_arg_handling_body")
_MODULE: Final = "_generate_enqueue_and_set_args_module"


class RawInvokers:
    """Factory of raw invokers. Create it before the hooks are installed."""

    def __init__(self) -> None:
        self._setters = {name: getattr(cl.Kernel, f"_{name}") for name in _SETTERS}
        self._codes: dict[CodeType, CodeType] = {}

    def make(
        self,
        enqueue: FunctionType,
        view: ModuleType,
        generate_again: Callable[[], tuple[FunctionType, Any]],
    ) -> FunctionType:
        """Return a function that does the same as `enqueue`, with `view` in place of `pyopencl._cl`.

        `generate_again` generates `enqueue` once more (`make_raw_generator`). It is called unless a
        function with the same code was made before.
        """
        original = enqueue.__code__
        code = self._codes.get(original)
        if code is None:
            if len(self._codes) >= MAX_KEYS:
                self._codes.clear()
            code = self._codes[original] = generate_again()[0].__code__
        function = copy_with_globals(enqueue, {"_cl": view, **self._setters})
        function.__code__ = code.replace(co_filename=original.co_filename)
        return function


def make_raw_generator(generate: FunctionType) -> FunctionType:
    """Return a copy of pyopencl's `generate_enqueue_and_set_args` that generates raw invokers.

    It emits no warnings and stores nothing in caches: the original does that.
    """
    names = generate.__globals__
    replaced = {
        "PythonCodeGenerator": make_code_generator(names["PythonCodeGenerator"]),
        "warn": do_nothing,
    }
    bodies = {name: copy_with_globals(names[name], replaced) for name in _BODIES}
    without_cache = SimpleNamespace(_PYOPENCL_NO_CACHE=True)
    return copy_with_globals(
        generate,
        {
            "_check_arg_size": do_nothing,
            "cl": without_cache,
            _MODULE: copy_with_globals(names[_MODULE], {**replaced, **bodies}),
        },
    )


def make_code_generator(base: type[Any]) -> type[Any]:
    """Return a subclass of a code generator that calls functions in place of the kernel's setters."""

    class Generator(base):  # type: ignore[misc]
        """Code generator that replaces calls of argument-setting methods by calls of functions."""

        def __call__(self, text: str) -> None:
            super().__call__(_SETTER_CALL.sub(r"\1(self, ", text))

    return Generator


def make_native_view(enqueue: Callable[..., Any]) -> ModuleType:
    """Return a stand-in for the module `pyopencl._cl` whose `enqueue_nd_range_kernel` is `enqueue`."""
    view = ModuleType(_cl.__name__)
    vars(view).update(vars(_cl))
    vars(view)["enqueue_nd_range_kernel"] = enqueue
    return view


def copy_with_globals(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    """Return a copy of `function` with `names` added to its globals.

    The original is not changed: pyopencl may store it in its cache on disk.
    """
    copy = FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__qualname__ = function.__qualname__
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def do_nothing(*_: Any) -> None:
    """Replace a check or a warning that is done elsewhere."""
