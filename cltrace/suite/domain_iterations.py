"""Random domain iterations, after Pöppl, Run time prediction for OpenCL (2014), section 6.1.1 and D.1.

An expression is computed for each element of a matrix. It is a random tree: a binary operation with
probability 0.5, and with 0.1 each a literal, an identifier, the element at the own position, an
element at a random position, and an element of local memory. The kernel has one dimension of
work-items; positions are computed from the id as the thesis's compiler does (C.3). `HEIGHT` and `WIDTH`
are macros, so that one kernel is built for all sizes.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

MOST_NODES: Final = 300
"""Trees do not grow beyond this, whatever the rules say."""
_LOCAL_ELEMENTS: Final = 128
_NAME: Final = "domain_iteration"


class Part(StrEnum):
    """What a node of a tree is."""

    OPERATION = "operation"
    LITERAL = "literal"
    IDENTIFIER = "identifier"
    OWN = "own"
    """The element at the work-item's own position."""
    RANDOM = "random"
    """An element at a position that is computed."""
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Node:
    """A node: `text` is its operator, literal or identifier; children are operands or indices."""

    part: Part
    text: str = ""
    children: tuple["Node", ...] = ()

    @property
    def size(self) -> int:
        """How many nodes the tree has."""
        return 1 + sum(child.size for child in self.children)


@dataclass(frozen=True, slots=True)
class Rules:
    """Which trees are made: their least and most nodes, indices' most nodes, and the operators."""

    least_nodes: int
    most_nodes: int
    most_index_nodes: int
    operators: str


UNRESTRICTED: Final = Rules(2, 50, 50, "+-*/")
RESTRICTED: Final = Rules(2, 6, 2, "+-*")
SETS: Final = {"restricted": RESTRICTED, "unrestricted": UNRESTRICTED}
"""The thesis's two sets by name."""


@dataclass(frozen=True, slots=True)
class DomainIteration:
    """A kernel, and the tree that it computes.

    Its arguments are the matrix and the result, both of HEIGHT × WIDTH floats, by rows.
    """

    tree: Node
    seed: int

    @property
    def name(self) -> str:
        """The kernel's name."""
        return _NAME

    @property
    def source(self) -> str:
        """The kernel in OpenCL C. It needs the options that `options` gives."""
        uses_local = _has(self.tree, Part.LOCAL)
        fill = (
            f"    __local float shared[{_LOCAL_ELEMENTS}];\n"
            f"    for (uint i = get_local_id(0); i < {_LOCAL_ELEMENTS}; i += get_local_size(0))\n"
            "        shared[i] = (float)i * 0.5f + 1.0f;\n"
            "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        )
        return (
            "#pragma OPENCL FP_CONTRACT OFF\n"
            f"__kernel void {_NAME}(__global const float *matrix, __global float *result)\n"
            "{\n"
            "    const uint id = get_global_id(0);\n"
            "    const uint x = (id / WIDTH) % HEIGHT;\n"
            "    const uint y = id % WIDTH;\n"
            f"{fill if uses_local else ''}"
            f"    result[id] = {_text(self.tree)};\n"
            "}\n"
        )

    @staticmethod
    def options(height: int, width: int) -> tuple[str, ...]:
        """The build options for a matrix of a size."""
        return (f"-DHEIGHT={height}u", f"-DWIDTH={width}u")

    def reference(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """What the kernel computes from a matrix, with each operation rounded by itself."""
        height, width = matrix.shape
        x, y = np.meshgrid(
            np.arange(height, dtype=np.uint32), np.arange(width, dtype=np.uint32), indexing="ij"
        )
        shared = np.arange(_LOCAL_ELEMENTS, dtype=np.float32) * np.float32(0.5) + np.float32(1)
        with np.errstate(all="ignore"):
            return _Evaluation(matrix, x, y, shared).value(self.tree)


def matrix_of(height: int, width: int) -> NDArray[np.float32]:
    """The thesis's input: 10 x + (9 - y)."""
    x, y = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    found: NDArray[np.float32] = (10 * x + (9 - y)).astype(np.float32)
    return found


def domain_iterations(rules: Rules, count: int, seed: int) -> Sequence[DomainIteration]:
    """`count` kernels. The same rules and seed always make the same ones."""
    chooser = random.Random(seed)
    found: list[DomainIteration] = []
    while len(found) < count:
        own = chooser.randrange(1 << 62)
        tree = _Growth(random.Random(own), rules).tree()
        if rules.least_nodes <= tree.size <= rules.most_nodes:
            found.append(DomainIteration(tree, own))
    return found


class _Growth:
    """A tree as it grows."""

    def __init__(self, chooser: random.Random, rules: Rules) -> None:
        self._chooser = chooser
        self._rules = rules
        self._left = MOST_NODES

    def tree(self) -> Node:
        self._left -= 1
        pick = self._chooser.random()
        if pick < 0.5 and self._left > 2:
            operator = self._chooser.choice(self._rules.operators)
            return Node(Part.OPERATION, operator, (self.tree(), self.tree()))
        part = self._chooser.choice(
            [Part.LITERAL, Part.IDENTIFIER, Part.OWN, Part.RANDOM, Part.LOCAL]
        )
        match part:
            case Part.LITERAL:
                return Node(part, f"{self._chooser.uniform(0.5, 100.0):.3f}f")
            case Part.IDENTIFIER:
                return Node(part, self._chooser.choice("xy"))
            case Part.RANDOM:
                return Node(part, "", (self._index(), self._index()))
            case Part.LOCAL:
                return Node(part, "", (self._index(),))
            case _:
                return Node(part)

    def _index(self) -> Node:
        while True:
            found = self._grown_index()
            if found.size <= self._rules.most_index_nodes:
                return found

    def _grown_index(self) -> Node:
        self._left -= 1
        if self._chooser.random() < 0.5 and self._left > 2:
            operator = self._chooser.choice("+*")
            return Node(Part.OPERATION, operator, (self._grown_index(), self._grown_index()))
        if self._chooser.random() < 0.5:
            return Node(Part.LITERAL, f"{self._chooser.randrange(1, 1000)}u")
        return Node(Part.IDENTIFIER, self._chooser.choice("xy"))


def _has(node: Node, part: Part) -> bool:
    return node.part is part or any(_has(child, part) for child in node.children)


def _text(node: Node) -> str:
    match node.part:
        case Part.OPERATION:
            left, right = (_text(child) for child in node.children)
            return f"({left} {node.text} {right})"
        case Part.IDENTIFIER:
            return f"(float){node.text}"
        case Part.OWN:
            return "matrix[x * WIDTH + y]"
        case Part.RANDOM:
            row, column = (_index_text(child) for child in node.children)
            return f"matrix[({row} % HEIGHT) * WIDTH + {column} % WIDTH]"
        case Part.LOCAL:
            return f"shared[{_index_text(node.children[0])} & 0x7F]"
        case Part.LITERAL:
            return node.text


def _index_text(node: Node) -> str:
    if node.part is Part.OPERATION:
        left, right = (_index_text(child) for child in node.children)
        return f"({left} {node.text} {right})"
    return node.text


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """The values of nodes for all positions at once."""

    matrix: NDArray[np.float32]
    x: NDArray[np.uint32]
    y: NDArray[np.uint32]
    shared: NDArray[np.float32]

    def value(self, node: Node) -> NDArray[np.float32]:
        match node.part:
            case Part.OPERATION:
                left, right = (self.value(child) for child in node.children)
                found: NDArray[np.float32] = _FLOAT[node.text](left, right)
            case Part.IDENTIFIER:
                found = (self.x if node.text == "x" else self.y).astype(np.float32)
            case Part.OWN:
                found = self.matrix[self.x, self.y]
            case Part.RANDOM:
                row, column = (self._index(child) for child in node.children)
                height, width = self.matrix.shape
                found = self.matrix[row % np.uint32(height), column % np.uint32(width)]
            case Part.LOCAL:
                found = self.shared[self._index(node.children[0]) & np.uint32(0x7F)]
            case _:
                found = np.full(self.matrix.shape, np.float32(node.text[:-1]))
        return found

    def _index(self, node: Node) -> NDArray[np.uint32]:
        if node.part is Part.OPERATION:
            left, right = (self._index(child) for child in node.children)
            return left + right if node.text == "+" else left * right
        if node.part is Part.IDENTIFIER:
            return self.x if node.text == "x" else self.y
        return np.full(self.matrix.shape, int(node.text[:-1]), np.uint32)


_FLOAT: Final = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
