"""What a lane calls: the function that pyopencl generates for a kernel, past all hooks.

That function sets arguments by methods of the kernel, which are hooked. A lane's own must not meet the
hooks, which would cost more than the launch: pyopencl is had to generate it once more, to call functions
in place of methods. These have names of such lengths that columns in tracebacks stay what they are.
"""

import re
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, Final

import pyopencl as cl
from pyopencl import _cl

from cltrace.intercept.hooks.configurations import MOST_KEYS

_SETTER: Final = re.compile(r"\bself\._(set_arg\w*_multi)\(")
_SETTERS: Final = ("set_arg_multi", "set_arg_buf_multi", "set_arg_buf_pack_multi")
_BODIES: Final = ("generate_generic_arg_handling_body", "generate_specific_arg_handling_body")
_MODULE: Final = "_generate_enqueue_and_set_args_module"


class Unseen:
    """Makes functions that set arguments and enqueue past hooks. To be made before there are any."""

    def __init__(self) -> None:
        self._setters = {name: getattr(cl.Kernel, f"_{name}") for name in _SETTERS}
        self._codes: dict[CodeType, CodeType] = {}

    def function(
        self, enqueue: FunctionType, view: ModuleType, again: Callable[[], tuple[FunctionType, Any]]
    ) -> FunctionType:
        """What does as `enqueue` does, with `view` in the place of `pyopencl._cl`.

        `again` generates `enqueue` once more (`generator`), if none like it was made before.
        """
        seen = enqueue.__code__
        code = self._codes.get(seen)
        if code is None:
            if len(self._codes) >= MOST_KEYS:
                self._codes.clear()
            code = self._codes[seen] = again()[0].__code__
        function = with_namespace(enqueue, {"_cl": view, **self._setters})
        function.__code__ = code.replace(co_filename=seen.co_filename)
        return function


def generator(generate: FunctionType) -> FunctionType:
    """What generates as `generate_enqueue_and_set_args` of pyopencl does, but functions for `Unseen`.

    It warns of nothing and keeps nothing in caches: the original does.
    """
    names = generate.__globals__
    told = {"PythonCodeGenerator": _code_generator(names["PythonCodeGenerator"]), "warn": accept}
    bodies = {name: with_namespace(names[name], told) for name in _BODIES}
    without_cache = SimpleNamespace(_PYOPENCL_NO_CACHE=True)
    return with_namespace(
        generate,
        {
            "_check_arg_size": accept,
            "cl": without_cache,
            _MODULE: with_namespace(names[_MODULE], {**told, **bodies}),
        },
    )


def _code_generator(base: type[Any]) -> type[Any]:
    class Generator(base):  # type: ignore[misc]
        """Writes calls of functions for calls of methods that set arguments."""

        def __call__(self, text: str) -> None:
            super().__call__(_SETTER.sub(r"\1(self, ", text))

    return Generator


def native_view(enqueue: Callable[..., Any]) -> ModuleType:
    """A stand-in for the module `pyopencl._cl` in which `enqueue_nd_range_kernel` is `enqueue`."""
    view = ModuleType(_cl.__name__)
    vars(view).update(vars(_cl))
    vars(view)["enqueue_nd_range_kernel"] = enqueue
    return view


def with_namespace(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    """A copy of `function` that sees `names` among its globals.

    The original is not touched: pyopencl may store it in its cache on disk.
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


def accept(*_: Any) -> None:
    """Stands for a check that is done elsewhere."""
