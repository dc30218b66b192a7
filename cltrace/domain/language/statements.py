"""Statements of functions: single assignments, `if`, `return`. A body becomes one expression."""

import ast
from collections.abc import Sequence

from cltrace.domain.language.interfaces import FunctionReading
from cltrace.domain.language.tree import Binding, Choice, Expression, Variable


def read_body(
    reader: FunctionReading, statements: Sequence[ast.stmt], parent: ast.AST
) -> Expression:
    """Return the value that statements return.

    Raises: `IterationSourceError` for a path without `return`, and for other statements.
    """
    if not statements:
        reader.text.places.refuse(parent, "not every path ends with `return`")
    reader.reading.depth += 1
    try:
        return _read_first(reader, statements[0], statements[1:], parent)
    finally:
        reader.reading.depth -= 1


def _read_first(
    reader: FunctionReading, first: ast.stmt, rest: Sequence[ast.stmt], parent: ast.AST
) -> Expression:
    """Return the value of a statement and of those after it."""
    reader.reading.count_node(reader, first)
    match first:
        case ast.Return(value=ast.expr() as value):
            if rest:
                reader.text.places.refuse(rest[0], "this is never reached")
            return reader.expression(value)
        case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
            return read_body(reader, rest, parent)
        case ast.If():
            return _read_if(reader, first, rest)
        case (
            ast.Assign(targets=[ast.Name() as target], value=value)
            | ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value)
        ):
            variable, expression = _assign(reader, target, reader.expression(value))
            return Binding(variable, expression, read_body(reader, rest, parent))
        case _:
            return reader.text.places.refuse(
                first, f"{_statement_text(first)} cannot stand in an iteration"
            )


def _assign(
    reader: FunctionReading, target: ast.Name, value: Expression
) -> tuple[Variable, Expression]:
    """Bind a name to a value. Raises: `IterationSourceError` if the name is bound already."""
    if reader.environment.lookup(target.id) is not None:
        reader.text.places.refuse(
            target, f"{target.id} has a value already: assign each name once, to a new name"
        )
    return reader.environment.bind(target.id, value.type, value.range), value


def _read_if(reader: FunctionReading, node: ast.If, rest: Sequence[ast.stmt]) -> Expression:
    condition = reader.condition(node.test)
    chosen_returns, other_returns = _returns(node.body), _returns(node.orelse)
    if not (chosen_returns or other_returns):
        if _contains_return(node):
            reader.text.places.refuse(
                node, "`return` in all paths of an `if`, or in one whole branch"
            )
        return _read_assignments(reader, node, condition, rest)
    if chosen_returns and other_returns and rest:
        reader.text.places.refuse(rest[0], "this is never reached")
    with reader.assuming(condition, holds=True), reader.environment.scope():
        body = node.body if chosen_returns else [*node.body, *rest]
        chosen = read_body(reader, body, node)
    with reader.assuming(condition, holds=False), reader.environment.scope():
        body = node.orelse if other_returns else [*node.orelse, *rest]
        other = read_body(reader, body, node)
    return _choice(reader, condition, chosen, other, node)


def _choice(
    reader: FunctionReading,
    condition: Expression,
    chosen: Expression,
    other: Expression,
    node: ast.AST,
) -> Expression:
    chosen, other = reader.operations.unified(chosen, other, node)
    held = None
    if chosen.range is not None and other.range is not None:
        held = chosen.range.united(other.range)
    return Choice(condition, chosen, other, chosen.type, held)


def read_conditional(reader: FunctionReading, node: ast.IfExp) -> Expression:
    """Return a conditional expression; each side with the ranges that hold there."""
    condition = reader.condition(node.test)
    with reader.assuming(condition, holds=True):
        chosen = reader.expression(node.body)
    with reader.assuming(condition, holds=False):
        other = reader.expression(node.orelse)
    return _choice(reader, condition, chosen, other, node)


def _read_assignments(
    reader: FunctionReading, node: ast.If, condition: Expression, rest: Sequence[ast.stmt]
) -> Expression:
    """Return the value of statements after an `if` that assigns the same names in both branches."""
    flag = reader.environment.fresh("condition", condition.type, None)
    targets = _assigned(reader, node.body)
    others = _assigned(reader, node.orelse)
    if [name.id for name, _ in targets] != [name.id for name, _ in others]:
        reader.text.places.refuse(
            node,
            "an `if` without `return` assigns the same names, in the same order, in both branches",
        )
    bindings = [(flag, condition)]
    for (target, first), (_, second) in zip(targets, others, strict=True):
        with reader.assuming(condition, holds=True):
            chosen = reader.expression(first)
        with reader.assuming(condition, holds=False):
            other = reader.expression(second)
        value = _choice(reader, flag, chosen, other, node)
        bindings.append(_assign(reader, target, value))
    result = read_body(reader, rest, node)
    for variable, value in reversed(bindings):
        result = Binding(variable, value, result)
    return result


def _assigned(
    reader: FunctionReading, statements: Sequence[ast.stmt]
) -> list[tuple[ast.Name, ast.expr]]:
    """Return the names and values that statements assign. Raises: `IterationSourceError` for others."""
    pairs = []
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name() as target], value=value):
                pairs.append((target, value))
            case ast.Pass():
                continue
            case _:
                reader.text.places.refuse(
                    statement, "an `if` that goes on has assignments only: move this to a function"
                )
    return pairs


def _returns(statements: Sequence[ast.stmt]) -> bool:
    """Return whether every path of statements ends with `return`."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return _returns(last.body) and _returns(last.orelse)
    return isinstance(last, ast.Return)


def _contains_return(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Return) for inner in ast.walk(node))


def _statement_text(statement: ast.stmt) -> str:
    """Return the kind of a statement in the words of Python."""
    words = {
        "For": "a `for` loop (use sum() or reduce())",
        "While": "a `while` loop (use reduce())",
        "AugAssign": "an assignment to the same name",
        "Return": "`return` without a value",
    }
    name = type(statement).__name__
    return words.get(name, f"`{name.lower()}`")
