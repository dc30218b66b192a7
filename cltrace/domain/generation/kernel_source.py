"""Kernels of domain iterations (Pöppl 2014, 3.3 and C.3)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.domain.generation.c_types import C_TYPES, OPENCL, Dialect, c_type
from cltrace.domain.generation.group_sizes import GroupChoice
from cltrace.domain.generation.writer import Writer, arrays_of, division_helpers, scalars_of
from cltrace.domain.language.reader import IterationTree
from cltrace.domain.language.tree import (
    ArrayType,
    Expression,
    Function,
    Mathematics,
    Variable,
    functions_in_order,
    walk,
)
from cltrace.domain.shapes import Box, Domain, ProjectionKind

_INT_ITEMS: Final = 1 << 31
_PRECISE: Final = "-cl-fp32-correctly-rounded-divide-sqrt"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelText:
    """A kernel and what it is launched with.

    Attributes:
        source: the program in OpenCL C.
        name: name of the kernel.
        arrays: the array arguments in order; the result comes last, after `scalars`.
        scalars: the arguments by value, in order.
        group: size of work-groups and global size.
        needs_double: whether the device needs 64-bit floats.
    """

    source: str
    name: str
    arrays: tuple[ArrayType, ...]
    scalars: tuple[Variable, ...]
    group: GroupChoice
    needs_double: bool


def generate_kernel(
    tree: IterationTree, domain: Domain, group: GroupChoice, local_arrays: Sequence[str] = ()
) -> KernelText:
    """Return the kernel of an iteration. `local_arrays` are copied to local memory by each work-group."""
    arrays = arrays_of(tree.value)
    names = array_names(arrays, local_arrays)
    functions = functions_in_order(tree.value)
    needs_double = uses_double(tree.value)
    writer = Writer(OPENCL, frozenset(local_arrays), names)
    for text in _local_copies(arrays, local_arrays, names):
        writer.line(text)
    for text in _positions(tree, domain, group):
        writer.line(text)
    writer.line(f"result[id] = {writer.write(tree.value)};")
    parameters = [f"__global const {C_TYPES[array.dtype]} *{_in_name(array)}" for array in arrays]
    parameters += [f"{c_type(scalar.type)} {scalar.name}" for scalar in tree.scalars]
    parameters.append(f"__global {C_TYPES[tree.result_dtype]} *result")
    name = f"{tree.name if tree.name.isascii() else 'iteration'}_0"
    parts = [
        "#pragma OPENCL FP_CONTRACT OFF\n",
        *(["#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"] if needs_double else []),
        *division_helpers([tree.value]),
        *(
            function_source(function, OPENCL, names, frozenset(local_arrays))
            for function in functions
        ),
        f"__kernel void {name}({', '.join(parameters)})\n{{\n" + "\n".join(writer.lines) + "\n}\n",
    ]
    return KernelText(
        source="\n".join(parts),
        name=name,
        arrays=arrays,
        scalars=tree.scalars,
        group=group,
        needs_double=needs_double,
    )


def array_names(arrays: Sequence[ArrayType], local_arrays: Sequence[str] = ()) -> Mapping[str, str]:
    """Return the names of arrays in code."""
    return {
        array.name: f"local_{_stem(array)}" if array.name in local_arrays else _in_name(array)
        for array in arrays
    }


def uses_double(value: Expression) -> bool:
    """Return whether an expression computes with 64-bit floats, or reads or returns them."""
    return any(part.type.dtype == "float64" for part in walk(value))


def build_options(value: Expression) -> str:
    """Return the build options with which floats are divided and rooted as numpy does."""
    divides = any(
        part.type.dtype == "float32" and getattr(part, "operator", "") == "/"
        for part in walk(value)
    )
    roots = any(
        isinstance(part, Mathematics) and part.function == "sqrt" and part.type.dtype == "float32"
        for part in walk(value)
    )
    return _PRECISE if divides or roots else ""


def function_source(
    function: Function, dialect: Dialect, names: Mapping[str, str], local_arrays: frozenset[str]
) -> str:
    """Return a function, with the arrays and arguments by value that it uses as further parameters."""
    writer = Writer(dialect, local_arrays, names)
    value = writer.write(function.body)
    writer.line(f"return {value};")
    parameters = [f"const {c_type(each.type)} {each.name}" for each in function.parameters]
    for array in arrays_of(function.body):
        is_local = array.name in local_arrays
        space = dialect.local_space if is_local else dialect.global_space
        parameters.append(f"{space}const {C_TYPES[array.dtype]} *{names[array.name]}")
    parameters += [f"{c_type(each.type)} {each.name}" for each in scalars_of(function)]
    return (
        f"{dialect.function_prefix}{c_type(function.body.type)} {function.name}"
        f"({', '.join(parameters) or 'void'})\n{{\n" + "\n".join(writer.lines) + "\n}\n"
    )


def _stem(array: ArrayType) -> str:
    return array.name if array.name.isascii() else "".join(f"u{ord(sign):x}" for sign in array.name)


def _in_name(array: ArrayType) -> str:
    return f"in_{_stem(array)}"


def _local_copies(
    arrays: Sequence[ArrayType], local_arrays: Sequence[str], names: Mapping[str, str]
) -> Iterator[str]:
    """Yield the statements by which a work-group copies arrays to local memory."""
    copied = [array for array in arrays if array.name in local_arrays]
    for array in copied:
        name = names[array.name]
        yield f"__local {C_TYPES[array.dtype]} {name}[{array.size}];"
        yield f"for (uint i = get_local_id(0); i < {array.size}; i += get_local_size(0))"
        yield f"    {name}[i] = {_in_name(array)}[i];"
    if copied:
        yield "barrier(CLK_LOCAL_MEM_FENCE);"


def _positions(tree: IterationTree, domain: Domain, group: GroupChoice) -> Iterator[str]:
    """Yield the statements that compute the position of a work-item from its id (equation 3.14)."""
    is_long = group.global_items > _INT_ITEMS
    kind = "ulong" if is_long else "uint"
    yield f"const {kind} id = get_global_id(0);"
    if group.is_padded(domain.elements):
        yield f"if (id >= {domain.elements}{'UL' if is_long else 'u'})"
        yield "    return;"
    if isinstance(domain, Box):
        yield from _box_positions(tree, domain, "UL" if is_long else "u")
        return
    row, column = (variable.name for variable in tree.indices)
    row_type, column_type = (c_type(variable.type) for variable in tree.indices)
    if domain.kind is ProjectionKind.TRACE:
        yield f"const {row_type} {row} = id;"
        yield f"const {column_type} {column} = id;"
        return
    yield from _triangle_positions(domain.elements, domain.kind, kind)
    last = domain.extent - 1
    is_upper = domain.kind is ProjectionKind.UPPER
    first, second = (f"{last} - r", f"{last} - c") if is_upper else ("r", "c")
    yield f"const {row_type} {row} = {first};"
    yield f"const {column_type} {column} = {second};"


def _box_positions(tree: IterationTree, domain: Box, suffix: str) -> Iterator[str]:
    stride = domain.elements
    for number, (variable, extent) in enumerate(zip(tree.indices, domain.extents, strict=True)):
        stride //= extent
        text = "id" if stride == 1 else f"(id / {stride}{suffix})"
        if number and extent > 1:
            text = f"{text} % {extent}{suffix}"
        yield f"const {c_type(variable.type)} {variable.name} = {text if extent > 1 else '0'};"


def _triangle_positions(elements: int, kind: ProjectionKind, id_type: str) -> Iterator[str]:
    """Yield the row r and column c of an element of the lower triangle; row r begins at r (r - 1) / 2.

    The upper triangle in its order is the lower one from its end. A float gives the row nearly.
    """
    place = f"({elements - 1} - id)" if kind is ProjectionKind.UPPER else "id"
    yield f"const ulong place = {place};"
    yield "ulong r = (ulong)((1.0f + sqrt(1.0f + 8.0f * (float)place)) * 0.5f);"
    yield "while (r * (r - 1) / 2 > place) r--;"
    yield "while (r * (r + 1) / 2 <= place) r++;"
    yield f"const {id_type} c = place - r * (r - 1) / 2;"
