"""Writing of typed expressions as OpenCL C or C (Pöppl 2014, 3.3).

An expression becomes text. What needs statements, as a nested iteration does, is written before it, so
that nothing is evaluated that Python would not evaluate.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from cltrace.domain.generation.c_types import (
    Dialect,
    c_type,
    function_name,
    literal,
    wrapping_type,
)
from cltrace.domain.language.number_types import NumberType
from cltrace.domain.language.tree import (
    ArrayType,
    Binary,
    Binding,
    Call,
    Choice,
    Comparison,
    Conversion,
    Expression,
    Fold,
    Function,
    Literal,
    Mathematics,
    Read,
    Unary,
    Variable,
    walk,
)

_INDENT: Final = "    "
_LONG_OFFSET: Final = 1 << 31


class Writer:
    """Writer of the statements of a function or kernel."""

    def __init__(
        self,
        dialect: Dialect,
        local_arrays: frozenset[str],
        names: Mapping[str, str],
        level: int = 1,
    ) -> None:
        """`names` are those of the arrays in the code."""
        self.lines: list[str] = []
        self._dialect = dialect
        self._local_arrays = local_arrays
        self._names = names
        self._level = level
        self._temporaries = 0

    def line(self, text: str) -> None:
        """Write a statement."""
        self.lines.append(_INDENT * self._level + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write a block with a head, as `if (…)`."""
        self.line(f"{head} {{")
        self._level += 1
        yield
        self._level -= 1
        self.line("}")

    def write(self, node: Expression) -> str:
        """Return the text of an expression, with parentheses where they are needed."""
        match node:
            case Literal():
                return literal(node.value, node.type)
            case Variable(name=name):
                return name
            case Binary():
                return self._binary(node)
            case Binding():
                self.line(
                    f"const {c_type(node.value.type)} {node.variable.name} = {self.write(node.value)};"
                )
                return self.write(node.body)
            case _:
                write: Callable[[Any, Any], str] = _WRITERS[type(node)]
                return write(self, node)

    def _temporary(self, kind: NumberType, value: str) -> str:
        self._temporaries += 1
        name = f"t{self._temporaries}"
        self.line(f"const {c_type(kind)} {name} = {value};")
        return name

    def _read(self, node: Read) -> str:
        is_long = node.array.size > _LONG_OFFSET
        terms = []
        for index, extent, stride in zip(
            node.indices, node.array.shape, node.array.strides, strict=True
        ):
            text = self._wrapped_index(index, extent)
            if is_long:
                text = f"(long){text}"
            if extent > 1:
                terms.append(text if stride == 1 else f"{text} * {stride}{'L' if is_long else ''}")
        name = self._names[node.array.name]
        return f"{name}[{' + '.join(terms) or '0'}]"

    def _wrapped_index(self, index: Expression, extent: int) -> str:
        """Return an index, counted from the end where it is negative."""
        text = self.write(index)
        if index.range is None or index.range.low >= 0:
            return text
        name = text if isinstance(index, Variable) else self._temporary(index.type, text)
        return f"({name} < 0 ? {name} + {extent} : {name})"

    def _unary(self, node: Unary) -> str:
        operand = self.write(node.operand)
        kind = node.type
        match node.operator:
            case "not":
                return f"(!{operand})"
            case "~":
                return f"(({c_type(kind)})~{operand})"
            case "abs" if kind.is_float:
                return f"{function_name(self._dialect, 'fabs', kind)}({operand})"
            case "abs":
                name = self._temporary(node.operand.type, operand)
                return f"({name} < 0 ? {_negated(name, kind)} : {name})"
            case _:
                return _negated(operand, kind)

    def _binary(self, node: Binary) -> str:
        if node.operator in {"min", "max"}:
            left = self._named(node.left)
            right = self._named(node.right)
            sign = "<" if node.operator == "min" else ">"
            return f"({right} {sign} {left} ? {right} : {left})"
        left, right = self.write(node.left), self.write(node.right)
        if node.operator in {"//", "%"}:
            return _divided(node, left, right)
        kind = node.type
        if node.operator == "<<" or (
            kind.is_integer and not kind.is_plain and node.operator in "+-*"
        ):
            wide = wrapping_type(kind)
            return f"(({c_type(kind)})(({wide}){left} {node.operator} ({wide}){right}))"
        if kind.is_integer and not kind.is_plain:
            return f"(({c_type(kind)})({left} {node.operator} {right}))"
        return f"({left} {node.operator} {right})"

    def _named(self, node: Expression) -> str:
        text = self.write(node)
        return text if isinstance(node, Variable | Literal) else self._temporary(node.type, text)

    def _comparison(self, node: Comparison) -> str:
        if node.operator not in {"and", "or"}:
            return f"({self.write(node.left)} {node.operator} {self.write(node.right)})"
        left = self.write(node.left)
        inner = self._inner()
        right = inner.write(node.right)
        if not inner.lines:
            return f"({left} {'&&' if node.operator == 'and' else '||'} {right})"
        name = self._declare(node.type, left)
        with self.block(f"if ({'' if node.operator == 'and' else '!'}{name})"):
            self.lines += inner.lines
            self.line(f"{name} = {right};")
        return name

    def _inner(self) -> "Writer":
        """Return a writer for a block inside, whose names differ from those here."""
        inner = Writer(self._dialect, self._local_arrays, self._names, self._level + 1)
        inner._temporaries = self._temporaries + 1
        return inner

    def _declare(self, kind: NumberType, value: str) -> str:
        self._temporaries += 1
        name = f"t{self._temporaries}"
        self.line(f"{c_type(kind)} {name}{f' = {value}' if value else ''};")
        return name

    def _conversion(self, node: Conversion) -> str:
        operand = self.write(node.operand)
        if c_type(node.operand.type) == c_type(node.type):
            return operand
        return f"(({c_type(node.type)}){operand})"

    def _choice(self, node: Choice) -> str:
        condition = self.write(node.condition)
        chosen, other = self._inner(), self._inner()
        first, second = chosen.write(node.chosen), other.write(node.other)
        if not chosen.lines and not other.lines:
            return f"({condition} ? {first} : {second})"
        name = self._declare(node.type, "")
        for head, inner, value in (
            (f"if ({condition})", chosen, first),
            ("else", other, second),
        ):
            with self.block(head):
                self.lines += inner.lines
                self.line(f"{name} = {value};")
        return name

    def _mathematics(self, node: Mathematics) -> str:
        name = function_name(self._dialect, node.function, node.type)
        return f"{name}({self.write(node.operand)})"

    def _fold(self, node: Fold) -> str:
        self.line(f"{c_type(node.type)} {node.accumulator.name} = {self.write(node.start)};")
        self._loops(node, 0)
        return node.accumulator.name

    def _loops(self, node: Fold, depth: int) -> None:
        if depth == len(node.loops):
            self.line(f"{node.accumulator.name} = {self.write(node.body)};")
            return
        loop = node.loops[depth]
        name, kind = loop.variable.name, c_type(loop.variable.type)
        start, stop = self.write(loop.start), self._named(loop.stop)
        step = f"{name}++" if loop.step == 1 else f"{name} += {loop.step}"
        with self.block(f"for ({kind} {name} = {start}; {name} < {stop}; {step})"):
            if loop.condition is None:
                self._loops(node, depth + 1)
                return
            with self.block(f"if ({self.write(loop.condition)})"):
                self._loops(node, depth + 1)

    def _call(self, node: Call) -> str:
        values = [self.write(argument) for argument in node.arguments]
        arrays = [self._names[array.name] for array in arrays_of(node.function.body)]
        scalars = [variable.name for variable in scalars_of(node.function)]
        return f"{node.function.name}({', '.join([*values, *arrays, *scalars])})"


_WRITERS: Final[Mapping[type, Callable[[Any, Any], str]]] = {
    Read: Writer._read,  # noqa: SLF001 - the table of the class above
    Unary: Writer._unary,  # noqa: SLF001
    Comparison: Writer._comparison,  # noqa: SLF001
    Conversion: Writer._conversion,  # noqa: SLF001
    Choice: Writer._choice,  # noqa: SLF001
    Mathematics: Writer._mathematics,  # noqa: SLF001
    Fold: Writer._fold,  # noqa: SLF001
    Call: Writer._call,  # noqa: SLF001
}


def _negated(operand: str, kind: NumberType) -> str:
    if kind.is_integer and not kind.is_plain:
        return f"(({c_type(kind)})(0{'UL' if wrapping_type(kind) == 'ulong' else 'u'} - {operand}))"
    return f"(-{operand})"


def _divided(node: Binary, left: str, right: str) -> str:
    """Return a quotient rounded down, or a remainder with the divisor's sign."""
    ranges = (node.left.range, node.right.range)
    if all(each is not None and each.low >= 0 for each in ranges):
        sign = "/" if node.operator == "//" else "%"
        return f"({left} {sign} {right})"
    name = "floor_divide" if node.operator == "//" else "floor_remainder"
    return f"{name}_{c_type(node.type)}({left}, {right})"


def arrays_of(node: Expression) -> tuple[ArrayType, ...]:
    """Return the arrays that an expression and the functions that it calls read, by name."""
    arrays = {part.array.name: part.array for part in walk(node) if isinstance(part, Read)}
    return tuple(arrays[name] for name in sorted(arrays))


def scalars_of(function: Function) -> tuple[Variable, ...]:
    """Return the arguments by value of the iteration that a function and those it calls use, by name."""
    used = {
        part.name: part
        for part in walk(function.body)
        if isinstance(part, Variable) and part.name.startswith("arg_")
    }
    return tuple(used[name] for name in sorted(used))


def division_helpers(nodes: Sequence[Expression]) -> Iterator[str]:
    """Yield functions that divide as Python does, for the types of the nodes that need them."""
    needed = set()
    for node in nodes:
        for part in walk(node):
            if isinstance(part, Binary) and part.operator in {"//", "%"}:
                ranges = (part.left.range, part.right.range)
                if not all(each is not None and each.low >= 0 for each in ranges):
                    needed.add((part.operator, c_type(part.type), wrapping_type(part.type)))
    for operator, kind, wide in sorted(needed):
        if operator == "//":
            yield (
                f"{kind} floor_divide_{kind}({kind} a, {kind} b)\n{{\n"
                f"    if (b == -1) return ({kind})(0 - ({wide})a);\n"
                f"    {kind} q = a / b;\n"
                "    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;\n}\n"
            )
        else:
            yield (
                f"{kind} floor_remainder_{kind}({kind} a, {kind} b)\n{{\n"
                "    if (b == -1) return 0;\n"
                f"    {kind} r = a % b;\n"
                "    return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n}\n"
            )
