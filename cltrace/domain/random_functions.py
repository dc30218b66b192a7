"""Random domain iterations as Python functions (Pöppl 2014, 6.1.1 and D.1).

The trees are those of `cltrace.suite.domain_iterations`. Every operation has the type that it has in
their kernels: floats of 32 bits, and unsigned indices that wrap.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from cltrace.errors import UsageError
from cltrace.suite.domain_iterations import (
    MAX_NODES,
    DomainIteration,
    Node,
    NodeKind,
    Rules,
    generate_domain_iterations,
)

FUNCTION: Final = "iteration"
"""Name of the function in a generated file."""
MAX_EXAMPLES: Final = 100_000
_SIMPLE_INDEX: Final = 2
"""Nodes of an index that is not complex, as in the thesis's restricted set."""
_PREFIX: Final = "edu.tum.funky.codegen."
_LINE: Final = re.compile(r"\s*([^#!=:\s]+)\s*[=:]\s*(.*?)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorSettings:
    """The six settings of the generator (appendix D.1).

    Attributes:
        allow_complex: whether indices have more than two nodes.
        allow_float_div: whether floats are divided.
        min_nodes, max_nodes: limits of the nodes of a tree, those of indices included.
        generated_examples: the number of functions.
        output_path: the directory of their files.
    """

    allow_complex: bool = True
    allow_float_div: bool = True
    min_nodes: int = 2
    max_nodes: int = 50
    generated_examples: int = 10
    output_path: str = ""

    @property
    def rules(self) -> Rules:
        """The rules of the trees. Raises: `UsageError` for limits that no tree satisfies."""
        if not 1 <= self.min_nodes <= self.max_nodes <= MAX_NODES:
            raise UsageError(
                f"{self.min_nodes} to {self.max_nodes} nodes: give limits from 1 to {MAX_NODES}, the "
                "lower one first"
            )
        if not 1 <= self.generated_examples <= MAX_EXAMPLES:
            raise UsageError(f"{self.generated_examples} examples: give 1 to {MAX_EXAMPLES:,}")
        index_nodes = self.max_nodes if self.allow_complex else _SIMPLE_INDEX
        return Rules(
            self.min_nodes, self.max_nodes, index_nodes, "+-*/" if self.allow_float_div else "+-*"
        )


SETTING_KEYS: Final = (
    *("allow-complex", "allow-float-div", "min-nodes", "max-nodes"),
    *("generated-examples", "output-path"),
)
"""Names of the settings in a properties file, after their prefix, and of the flags."""


def parse_properties(text: str, place: str) -> Mapping[str, Any]:
    """Return the settings of a properties file, by the names of `GeneratorSettings`.

    Raises: `UsageError` for other keys and for values of the wrong kind; `place` names the file.
    """
    values: dict[str, Any] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        match = _LINE.fullmatch(line)
        key = match[1].removeprefix(_PREFIX) if match is not None else ""
        if match is None or key not in SETTING_KEYS:
            listed = ", ".join(SETTING_KEYS)
            raise UsageError(f"{place}:{number}: write {_PREFIX}KEY=VALUE, with a key of {listed}")
        values[key.replace("-", "_")] = _parsed(key, match[2], f"{place}:{number}")
    return values


def _parsed(key: str, text: str, place: str) -> bool | int | str:
    if key.startswith("allow-"):
        if text.lower() not in {"true", "false"}:
            raise UsageError(f"{place}: {key} is true or false, not {text!r}")
        return text.lower() == "true"
    if key == "output-path":
        return text
    if not (text.isascii() and text.isdecimal()) or len(text) > 9 or not int(text):
        raise UsageError(f"{place}: {key} is a number of 1 or more, not {text!r}")
    return int(text)


@dataclass(frozen=True, slots=True)
class RandomFunction:
    """A generated function.

    Attributes:
        iteration: its tree.
        text: the file, in Python.
        nodes: nodes of the tree with those of indices.
        value_nodes: nodes of the tree without those of indices, the other reading of the thesis.
    """

    iteration: DomainIteration
    text: str
    nodes: int
    value_nodes: int


def random_functions(settings: GeneratorSettings, seed: int) -> Iterator[RandomFunction]:
    """Yield random functions; the same settings and seed always give the same. Raises: `UsageError`."""
    rules = settings.rules
    for iteration in generate_domain_iterations(rules, settings.generated_examples, seed):
        yield python_function(iteration)


def python_function(iteration: DomainIteration) -> RandomFunction:
    """Return a random domain iteration as a function of two indices, a matrix and a local array."""
    nodes, value_nodes = iteration.tree.size, _value_nodes(iteration.tree)
    uses_local = any(node.kind is NodeKind.LOCAL for node in _all_nodes(iteration.tree))
    parameters = 'x, y, matrix: "float32"'
    if uses_local:
        parameters += ', shared: "local float32[128]"'
    text = (
        f'"""Random domain iteration {iteration.seed:x}: {nodes} nodes, {value_nodes} without those of '
        'indices."""\n\n'
        "from numpy import float32, uint32\n\n\n"
        f"def {FUNCTION}({parameters}):\n"
        f"    return {_text(iteration.tree)}\n"
    )
    return RandomFunction(iteration, text, nodes, value_nodes)


def restricted(settings: GeneratorSettings) -> GeneratorSettings:
    """Return the settings of the thesis's restricted set (6.3.2), with the same number and place."""
    return replace(settings, allow_complex=False, allow_float_div=False, min_nodes=2, max_nodes=6)


def _all_nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _all_nodes(child)


def _value_nodes(node: Node) -> int:
    if node.kind is not NodeKind.OPERATION:
        return 1
    return 1 + sum(_value_nodes(child) for child in node.children)


def _text(node: Node) -> str:
    match node.kind:
        case NodeKind.OPERATION:
            left, right = (_text(child) for child in node.children)
            return f"({left} {node.text} {right})"
        case NodeKind.IDENTIFIER:
            return f"float32({node.text})"
        case NodeKind.OWN:
            return "matrix[x, y]"
        case NodeKind.RANDOM:
            row, column = (_index_text(child) for child in node.children)
            return f"matrix[{row} % matrix.shape[0], {column} % matrix.shape[1]]"
        case NodeKind.LOCAL:
            return f"shared[{_index_text(node.children[0])} & 0x7F]"
        case NodeKind.LITERAL:
            return f"float32({node.text.removesuffix('f')})"


def _index_text(node: Node) -> str:
    """Return an index: a plain number, or unsigned numbers of 32 bits where it is an expression."""
    if node.kind is NodeKind.OPERATION:
        left, right = (_unsigned_text(child) for child in node.children)
        return f"({left} {node.text} {right})"
    return node.text.removesuffix("u")


def _unsigned_text(node: Node) -> str:
    text = _index_text(node)
    return text if node.kind is NodeKind.OPERATION else f"uint32({text})"
