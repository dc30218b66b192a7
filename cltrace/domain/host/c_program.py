"""Iterations as C, compiled by the system's compiler or zig, and run in threads."""

import ctypes
import math
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.domain.generation.c_types import C_TYPES, HOST_C, c_type
from cltrace.domain.generation.kernel_source import array_names, function_source
from cltrace.domain.generation.writer import Writer, arrays_of, division_helpers
from cltrace.domain.language.reader import IterationTree
from cltrace.domain.language.tree import functions_in_order
from cltrace.domain.shapes import Box, Domain, ProjectionKind
from cltrace.errors import IterationError
from cltrace.intercept.native.build import find_compilers

_FUNCTION: Final = "cltrace_iterate"
_FLAGS: Final = (
    *("-O3", "-march=native", "-std=c11", "-shared", "-fPIC", "-w"),
    *("-ffp-contract=off", "-fno-math-errno", "-fwrapv", "-fsigned-char"),
)
_TIMEOUT_S: Final = 60
_MIN_PART: Final = 1 << 16
"""Positions of a thread: fewer are not worth one."""
_HEAD: Final = """#include <math.h>
typedef unsigned char uchar; typedef unsigned short ushort;
typedef unsigned int uint; typedef unsigned long ulong;
"""


_C_NUMBERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


class CProgram:
    """A compiled iteration. Calls release the lock of the interpreter, so that threads share the work."""

    def __init__(self, tree: IterationTree, domain: Domain) -> None:
        """Raises: `IterationError` where there is no compiler, or it fails."""
        self._tree = tree
        self._domain = domain
        self._arrays = arrays_of(tree.value)
        self._function = _compiled(c_source(tree, domain))
        self._threads = _num_threads()

    def runner(
        self,
        arrays: Mapping[str, NDArray[Any]],
        scalars: Mapping[str, np.generic],
        result: NDArray[Any],
    ) -> Callable[[int, int], None]:
        """Return a function that computes the rows from a first to before a last one into `result`."""
        pointers = [arrays[array.name].ctypes.data_as(ctypes.c_void_p) for array in self._arrays]
        numbers = [_c_number(scalars[variable.name]) for variable in self._tree.scalars]
        target = result.ctypes.data_as(ctypes.c_void_p)

        def run(first: int, last: int) -> None:
            positions = int((last - first) * self.row_positions)
            parts = max(1, min(self._threads, last - first, positions // _MIN_PART))
            edges = [first + (last - first) * part // parts for part in range(parts + 1)]
            ranges = list(pairwise(edges))
            if parts == 1:
                self._call(pointers, numbers, target, ranges[0])
                return
            list(_pool().map(lambda each: self._call(pointers, numbers, target, each), ranges))

        return run

    @property
    def rows(self) -> int:
        """Number of values of the first index."""
        return self._domain.extents[0]

    @property
    def row_positions(self) -> float:
        """Mean number of positions of a value of the first index."""
        return self._domain.elements / self.rows

    def evaluate(
        self, arrays: Mapping[str, NDArray[Any]], scalars: Mapping[str, np.generic]
    ) -> NDArray[Any]:
        """Return the result of the iteration, in the shape of its domain's result."""
        result = np.empty(self._domain.result_shape, self._tree.result_dtype)
        self.runner(arrays, scalars, result)(0, self.rows)
        return result

    def _call(
        self, pointers: list[Any], numbers: list[Any], target: Any, rows: tuple[int, int]
    ) -> None:
        self._function(*pointers, *numbers, target, ctypes.c_long(rows[0]), ctypes.c_long(rows[1]))


def _num_threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads that all programs share: to start them takes longer than small iterations."""
    return ThreadPoolExecutor(_num_threads(), thread_name_prefix="cltrace-domain")


def c_source(tree: IterationTree, domain: Domain) -> str:
    """Return the iteration in C, as a function of its arrays, numbers, result and rows."""
    arrays = arrays_of(tree.value)
    names = array_names(arrays)
    parameters = [f"const {C_TYPES[array.dtype]} *restrict {names[array.name]}" for array in arrays]
    parameters += [f"{c_type(scalar.type)} {scalar.name}" for scalar in tree.scalars]
    parameters += [f"{C_TYPES[tree.result_dtype]} *restrict result", "long first", "long last"]
    writer = Writer(HOST_C, frozenset(), names)
    _write_loops(writer, tree, domain)
    functions = functions_in_order(tree.value)
    return "\n".join(
        [
            _HEAD,
            *(f"static inline {text}" for text in division_helpers([tree.value])),
            *(function_source(function, HOST_C, names, frozenset()) for function in functions),
            f"void {_FUNCTION}({', '.join(parameters)})\n{{\n" + "\n".join(writer.lines) + "\n}\n",
        ]
    )


def _write_loops(writer: Writer, tree: IterationTree, domain: Domain) -> None:
    """Write the loops over the positions, with the result's place in `id`."""
    row = tree.indices[0]
    columns = tree.indices[1:]
    writer.line(f"for ({c_type(row.type)} {row.name} = first; {row.name} < last; {row.name}++) {{")
    if isinstance(domain, Box):
        inner = math.prod(domain.extents[1:])
        writer.line(f"long id = (long){row.name} * {inner};")
        for variable, extent in zip(columns, domain.extents[1:], strict=True):
            writer.line(
                f"for ({c_type(variable.type)} {variable.name} = 0; {variable.name} < {extent}; "
                f"{variable.name}++) {{"
            )
        depth = len(domain.extents)
    else:
        (column,) = columns
        begin, end, place = _projection_bounds(domain.kind, row.name, domain.extent)
        writer.line(f"long id = {place};")
        writer.line(
            f"for ({c_type(column.type)} {column.name} = {begin}; {column.name} < {end}; "
            f"{column.name}++) {{"
        )
        depth = 2
    writer.line(f"result[id] = {writer.write(tree.value)};")
    writer.line("id++;")
    writer.line("}" * depth)


def _projection_bounds(kind: ProjectionKind, row: str, extent: int) -> tuple[str, str, str]:
    """Return the first column of a row, the one after its last, and the place of its first element."""
    match kind:
        case ProjectionKind.TRACE:
            return row, f"{row} + 1", row
        case ProjectionKind.LOWER:
            return "0", row, f"(long){row} * ({row} - 1L) / 2"
        case ProjectionKind.UPPER:
            return f"{row} + 1", str(extent), f"(long){row} * (2L * {extent} - {row} - 1) / 2"


def _c_number(value: np.generic) -> Any:
    return _C_NUMBERS[str(value.dtype)](value.item())


def _compiled(source: str) -> Any:
    """Compile a source and return its function. Raises: `IterationError`."""
    compiler = next(find_compilers(), None)
    if compiler is None:
        raise IterationError("there is no C compiler on this host")
    with tempfile.TemporaryDirectory(prefix="cltrace-domain-") as directory:
        path, library = Path(directory, "iteration.c"), Path(directory, "iteration.so")
        path.write_text(source, encoding="utf-8")
        command = [*compiler.command, *_FLAGS, "-o", str(library), str(path), "-lm"]
        try:
            result = subprocess.run(
                command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise IterationError(f"{compiler.command[0]} does not run: {error}") from error
        if result.returncode:
            lines = result.stderr.strip().splitlines() or ["no message"]
            raise IterationError(f"{compiler.command[0]} cannot compile the iteration: {lines[0]}")
        function = ctypes.CDLL(str(library))[_FUNCTION]
        function.restype = None
        return function
