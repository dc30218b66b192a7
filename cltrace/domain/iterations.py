"""A domain iteration: a function, its domain and the types of its arguments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.domain.generation.group_sizes import choose_group
from cltrace.domain.generation.kernel_source import KernelText, build_options, generate_kernel
from cltrace.domain.language.number_types import ARRAY_DTYPES, NumberType
from cltrace.domain.language.reader import Arguments, IterationTree, read_iteration
from cltrace.domain.language.scopes import FunctionText
from cltrace.domain.language.tree import ArrayType
from cltrace.domain.shapes import MAX_RANK, Domain
from cltrace.errors import IterationError
from cltrace.events.workloads import BufferInput, Workload

MAX_LOCAL_BYTES: Final = 32 << 10
"""Limit on the arrays that a work-group copies to local memory: every device has as much."""


@dataclass(frozen=True)
class Iteration:
    """A function over a domain, for arguments of certain types.

    Attributes:
        function: text of the function.
        domain: the positions.
        arguments: arrays and numbers by name.
        local_arrays: names of the arrays that each work-group copies to local memory.
    """

    function: FunctionText
    domain: Domain
    arguments: Arguments
    local_arrays: tuple[str, ...] = ()

    @cached_property
    def tree(self) -> IterationTree:
        """The function's value as a typed tree. Raises: `IterationError`."""
        self._check_local()
        try:
            return read_iteration(self.function, self.domain.extents, self.arguments)
        except RecursionError as error:
            place = self.function.places.place(self.function.node)
            raise IterationError(f"{place}: {self.function.name} is nested too deeply") from error

    @property
    def result_type(self) -> ArrayType:
        """Type and shape of the result."""
        return ArrayType("result", self.tree.result_dtype, self.domain.result_shape)

    def kernel(self, max_group_items: int) -> KernelText:
        """Return the kernel for a device with a largest size of work-groups."""
        group = choose_group(self.domain.elements, max_group_items)
        return generate_kernel(self.tree, self.domain, group, self.local_arrays)

    def workload(
        self, max_group_items: int, contents: Mapping[str, NDArray[Any]] | None = None
    ) -> Workload:
        """Return the launch of the kernel, with the contents of arrays where they are given."""
        kernel, given = self.kernel(max_group_items), contents or {}
        inputs: list[BufferInput | np.generic] = [
            BufferInput(array.size_bytes, _constant(given.get(array.name)))
            for array in kernel.arrays
        ]
        inputs += [np.dtype(scalar.type.dtype).type(1) for scalar in kernel.scalars]
        inputs.append(BufferInput(self.result_type.size_bytes))
        return Workload(
            kernel.source,
            kernel.name,
            (kernel.group.global_items,),
            (kernel.group.group_items,),
            inputs,
            self.options,
        )

    @cached_property
    def options(self) -> str:
        """Build options with which devices divide as numpy does, where they can."""
        return build_options(self.tree.value)

    def _check_local(self) -> None:
        sizes = {name: self.arguments.arrays.get(name) for name in self.local_arrays}
        absent = [name for name, array in sizes.items() if array is None]
        if absent:
            raise IterationError(f"{absent[0]} is no array argument: it cannot be in local memory")
        total_bytes = sum(array.size_bytes for array in sizes.values() if array is not None)
        if total_bytes > MAX_LOCAL_BYTES:
            raise IterationError(
                f"the arrays in local memory have {total_bytes:,} bytes, more than {MAX_LOCAL_BYTES:,}"
            )


def _constant(value: NDArray[Any] | None) -> Callable[[], NDArray[Any]] | None:
    return None if value is None else lambda: value


def array_type(name: str, dtype: str, shape: Sequence[int]) -> ArrayType:
    """Return the type of an array argument. Raises: `IterationError` for one that kernels cannot read."""
    if dtype not in ARRAY_DTYPES:
        raise IterationError(
            f"{name} has elements of {dtype}: use one of {', '.join(ARRAY_DTYPES)}"
        )
    if not 1 <= len(shape) <= MAX_RANK or 0 in shape:
        raise IterationError(
            f"{name} has the shape {tuple(shape)}: give 1 to {MAX_RANK} dimensions"
        )
    return ArrayType(name, dtype, tuple(int(extent) for extent in shape))


def arguments_of(values: Mapping[str, Any]) -> Arguments:
    """Return the types of arguments: arrays, numpy's numbers, and plain numbers.

    Raises: `IterationError` for other values.
    """
    arrays, scalars, constants = {}, {}, {}
    for name, value in values.items():
        if hasattr(value, "dtype") and hasattr(value, "shape") and value.shape != ():
            arrays[name] = array_type(name, str(np.dtype(value.dtype)), value.shape)
        elif isinstance(value, np.generic) and str(value.dtype) in ARRAY_DTYPES:
            scalars[name] = NumberType(str(value.dtype))
        elif isinstance(value, (int, float)) and not isinstance(value, (bool, np.generic)):
            constants[name] = value
        else:
            raise IterationError(f"{name} is {type(value).__name__}: give an array or a number")
    return Arguments(arrays, scalars, constants)


def scalar_values(iteration: Iteration, values: Mapping[str, Any]) -> list[np.generic]:
    """Return the numbers that the kernel takes by value, in order."""
    return [values[variable.name.removeprefix("arg_")] for variable in iteration.tree.scalars]
