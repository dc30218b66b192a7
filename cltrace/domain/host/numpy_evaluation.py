"""Evaluation of iterations with numpy, many positions at a time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cltrace.domain.language.reader import IterationTree
from cltrace.domain.language.tree import (
    Binary,
    Binding,
    Call,
    Choice,
    Comparison,
    Conversion,
    Expression,
    Fold,
    Literal,
    Loop,
    Mathematics,
    Read,
    Unary,
    Variable,
)
from cltrace.domain.shapes import Box, Domain

Values: TypeAlias = NDArray[Any] | np.generic
"""A value per position, or the same one for all."""
CHUNK: Final = 1 << 15
"""Positions that are evaluated together: their intermediate results stay in the cache."""

_BINARY: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": np.left_shift,
    ">>": np.right_shift,
    "and": np.logical_and,
    "or": np.logical_or,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
_UNARY: Final[Mapping[str, Callable[[Any], Any]]] = {
    "-": np.negative,
    "~": np.invert,
    "not": np.logical_not,
    "abs": np.abs,
}


class StepObserver(Protocol):
    """Observer of the calls of numpy that an evaluation makes."""

    def step(self, name: str, dtype: str, table_bytes: int = 0) -> None:
        """Note a call on all positions of a chunk. `table_bytes` is the size of the array it reads."""


class NoObserver:
    """An observer that notes nothing."""

    def step(self, name: str, dtype: str, table_bytes: int = 0) -> None:
        """Do nothing."""


class ChunkEvaluation:
    """Evaluation of the positions from `first` to before `last`."""

    def __init__(
        self,
        tree: IterationTree,
        domain: Domain,
        arrays: Mapping[str, NDArray[Any]],
        scalars: Mapping[str, np.generic],
        observer: StepObserver,
    ) -> None:
        self._tree = tree
        self._domain = domain
        self._arrays = arrays
        self._scalars = {variable.name: scalars[variable.name] for variable in tree.scalars}
        self._observer = observer
        self._first = self._last = 0
        self._indices = {variable.name: number for number, variable in enumerate(tree.indices)}

    def evaluate(self, first: int, last: int) -> Values:
        """Return the values of the positions from `first` to before `last`, in order."""
        self._first, self._last = first, last
        names: dict[str, Values] = dict(self._scalars)
        positions = self._domain.positions(first, last)
        for variable, values in zip(self._tree.indices, positions, strict=True):
            names[variable.name] = values.astype(variable.type.dtype)
        self._observer.step("positions", str(len(positions)))
        with np.errstate(all="ignore"):
            return self._value(self._tree.value, names)

    def _value(self, node: Expression, names: dict[str, Values]) -> Values:
        match node:
            case Literal():
                constant: np.generic = np.dtype(node.type.dtype).type(node.value)
                return constant
            case Variable(name=name):
                return names[name]
            case Binding():
                names[node.variable.name] = self._value(node.value, names)
                return self._value(node.body, names)
            case _:
                method: Callable[[Any, Any, dict[str, Values]], Values] = _METHODS[type(node)]
                return method(self, node, names)

    def apply(
        self, name: str, dtype: str, function: Callable[..., Any], *operands: Values
    ) -> Values:
        """Apply a function of numpy, and note it if it is one for all positions."""
        if any(isinstance(operand, np.ndarray) for operand in operands):
            self._observer.step(name, dtype)
        result: Values = function(*operands)
        return result

    def _operation(self, node: Binary | Comparison, names: dict[str, Values]) -> Values:
        left, right = self._value(node.left, names), self._value(node.right, names)
        dtype = node.left.type.dtype
        if node.operator in {"min", "max"}:
            compare = np.less if node.operator == "min" else np.greater
            return self.apply(
                node.operator, dtype, lambda a, b: np.where(compare(b, a), b, a), left, right
            )
        return self.apply(node.operator, dtype, _BINARY[node.operator], left, right)

    def _unary(self, node: Unary, names: dict[str, Values]) -> Values:
        operand = self._value(node.operand, names)
        return self.apply(node.operator, node.operand.type.dtype, _UNARY[node.operator], operand)

    def _conversion(self, node: Conversion, names: dict[str, Values]) -> Values:
        operand, dtype = self._value(node.operand, names), node.type.dtype
        if operand.dtype == dtype:
            return operand
        return self.apply(
            f"to {dtype}", node.operand.type.dtype, lambda a: a.astype(dtype), operand
        )

    def _choice(self, node: Choice, names: dict[str, Values]) -> Values:
        condition = self._value(node.condition, names)
        chosen, other = self._value(node.chosen, names), self._value(node.other, names)
        return self.apply("where", node.type.dtype, np.where, condition, chosen, other)

    def _mathematics(self, node: Mathematics, names: dict[str, Values]) -> Values:
        operand = self._value(node.operand, names)
        return self.apply(node.function, node.type.dtype, getattr(np, node.function), operand)

    def _call(self, node: Call, names: dict[str, Values]) -> Values:
        inner: dict[str, Values] = dict(self._scalars)
        for parameter, argument in zip(node.function.parameters, node.arguments, strict=True):
            inner[parameter.name] = self._value(argument, names)
        return self._value(node.function.body, inner)

    def _read(self, node: Read, names: dict[str, Values]) -> Values:
        array = self._arrays[node.array.name].reshape(-1)
        if self._is_own(node):
            return array[self._first : self._last]
        offset: Values = np.int64(0)
        for index, extent, stride in zip(
            node.indices, node.array.shape, node.array.strides, strict=True
        ):
            place = self._value(index, names)
            if index.range is not None and index.range.low < 0:
                place = self.apply(
                    "wrap",
                    index.type.dtype,
                    lambda i, d: np.where(i < 0, i + d, i),
                    place,
                    np.int32(extent),
                )
            place = self.apply("offset", index.type.dtype, _scaled, place, np.int64(stride))
            offset = (
                place if offset is np.int64(0) else self.apply("+", "int64", np.add, offset, place)
            )
        if isinstance(offset, np.ndarray):
            self._observer.step("take", node.array.dtype, node.array.size_bytes)
            return array.take(offset, mode="clip")
        element: np.generic = array[min(max(int(offset), 0), len(array) - 1)]
        return element

    def _is_own(self, node: Read) -> bool:
        """Return whether a read is of the element at the position itself."""
        if not isinstance(self._domain, Box) or node.array.shape != self._domain.extents:
            return False
        own = [index.name if isinstance(index, Variable) else "" for index in node.indices]
        return own == list(self._indices)

    def _fold(self, node: Fold, names: dict[str, Values]) -> Values:
        names[node.accumulator.name] = self._value(node.start, names)
        self._loop(node, node.loops, names, np.bool_(1))
        return names[node.accumulator.name]

    def _loop(
        self, node: Fold, loops: Sequence[Loop], names: dict[str, Values], active: Values
    ) -> None:
        """Evaluate the inner loops of a fold for the positions that are active."""
        if not loops:
            value, before = self._value(node.body, names), names[node.accumulator.name]
            if not isinstance(active, np.bool_):
                value = self.apply("where", node.type.dtype, np.where, active, value, before)
            elif not active:
                value = before
            names[node.accumulator.name] = value
            return
        loop = loops[0]
        start, stop = self._value(loop.start, names), self._value(loop.stop, names)
        for round_number in range(_max_rounds(start, stop, loop.step)):
            step = np.int64(round_number * loop.step)
            number = np.add(start, step).astype(loop.variable.type.dtype)
            names[loop.variable.name] = number
            inner = active
            if isinstance(start, np.ndarray) or isinstance(stop, np.ndarray):
                inside = self.apply("<", loop.variable.type.dtype, np.less, number, stop)
                inner = self.apply("and", "bool", np.logical_and, inner, inside)
            if loop.condition is not None:
                condition = self._value(loop.condition, names)
                inner = self.apply("and", "bool", np.logical_and, inner, condition)
            self._loop(node, loops[1:], names, inner)


_METHODS: Final[Mapping[type, Callable[..., Values]]] = {
    Binary: ChunkEvaluation._operation,  # noqa: SLF001 - the table of the class above
    Comparison: ChunkEvaluation._operation,  # noqa: SLF001
    Unary: ChunkEvaluation._unary,  # noqa: SLF001
    Conversion: ChunkEvaluation._conversion,  # noqa: SLF001
    Choice: ChunkEvaluation._choice,  # noqa: SLF001
    Mathematics: ChunkEvaluation._mathematics,  # noqa: SLF001
    Call: ChunkEvaluation._call,  # noqa: SLF001
    Read: ChunkEvaluation._read,  # noqa: SLF001
    Fold: ChunkEvaluation._fold,  # noqa: SLF001
}


def evaluate_with_numpy(
    tree: IterationTree,
    domain: Domain,
    arrays: Mapping[str, NDArray[Any]],
    scalars: Mapping[str, np.generic],
) -> NDArray[Any]:
    """Return the result of an iteration, in the shape of its domain's result.

    `arrays` are by their names, row-major; `scalars` by the names of their variables.
    """
    result = np.empty(domain.elements, tree.result_dtype)
    evaluation = ChunkEvaluation(tree, domain, arrays, scalars, NoObserver())
    for first in range(0, domain.elements, CHUNK):
        last = min(first + CHUNK, domain.elements)
        result[first:last] = evaluation.evaluate(first, last)
    return result.reshape(domain.result_shape)


def _wrapped(place: Values, extent: np.generic) -> Values:
    """Return indices counted from the start, also where they are negative."""
    wrapped: Values = np.where(np.less(place, 0), np.add(place, extent), place)
    return wrapped


def _scaled(place: Values, stride: np.int64) -> Values:
    scaled: Values = np.multiply(place, stride, dtype=np.int64)
    return scaled


def _max_rounds(start: Values, stop: Values, step: int) -> int:
    """Return the greatest number of rounds of a loop over all positions."""
    extent = int(np.max(np.asarray(stop, np.int64) - np.asarray(start, np.int64)))
    return max(0, -(-extent // step))
