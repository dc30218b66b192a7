"""Random domain iterations, after Pöppl, Run time prediction for OpenCL (2014), section 6.1.1 and D.1.

A kernel computes an expression for each element of a matrix. The expression is a random tree of binary
operations (probability 0.5), literals, identifiers, the work-item's own element, elements at random
positions, and elements of local memory (0.1 each). The kernel has one dimension of work-items;
positions are computed from the id as in the thesis's compiler (C.3). `HEIGHT` and `WIDTH`
are macros, so that one kernel is built for all sizes.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

MAX_NODES: Final = 300
"""Bound on the nodes of a tree, independent of the rules."""
_LOCAL_ELEMENTS: Final = 128
_NAME: Final = "domain_iteration"


class NodeKind(StrEnum):
    """Kind of a node of a tree."""

    OPERATION = "operation"
    LITERAL = "literal"
    IDENTIFIER = "identifier"
    OWN = "own"
    """Element at the work-item's own position."""
    RANDOM = "random"
    """Element at a computed position."""
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a tree. `text` is an operator, literal or identifier; `children` are its operands."""

    kind: NodeKind
    text: str = ""
    children: tuple["Node", ...] = ()

    @property
    def size(self) -> int:
        """Number of nodes of the tree."""
        return 1 + sum(child.size for child in self.children)


@dataclass(frozen=True, slots=True)
class Rules:
    """Limits of trees and of the indices in them, in nodes, and the operators."""

    min_nodes: int
    max_nodes: int
    max_index_nodes: int
    operators: str


UNRESTRICTED: Final = Rules(2, 50, 50, "+-*/")
RESTRICTED: Final = Rules(2, 6, 2, "+-*")
SETS: Final = {"restricted": RESTRICTED, "unrestricted": UNRESTRICTED}
"""The thesis's two sets by name."""


@dataclass(frozen=True, slots=True)
class DomainIteration:
    """A kernel, and the tree that it computes.

    Its arguments are the matrix and the result, both HEIGHT × WIDTH floats in row-major order.
    """

    tree: Node
    seed: int

    @property
    def name(self) -> str:
        """Name of the kernel."""
        return _NAME

    @property
    def source(self) -> str:
        """The kernel in OpenCL C. It needs the build options that `options` returns."""
        uses_local = _has(self.tree, NodeKind.LOCAL)
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
        """Return the build options for a matrix of a size."""
        return (f"-DHEIGHT={height}u", f"-DWIDTH={width}u")

    def reference(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the kernel's result for a matrix, with each operation rounded separately."""
        height, width = matrix.shape
        x, y = np.meshgrid(
            np.arange(height, dtype=np.uint32), np.arange(width, dtype=np.uint32), indexing="ij"
        )
        shared = np.arange(_LOCAL_ELEMENTS, dtype=np.float32) * np.float32(0.5) + np.float32(1)
        with np.errstate(all="ignore"):
            return _Evaluation(matrix, x, y, shared).value(self.tree)


def matrix_of(height: int, width: int) -> NDArray[np.float32]:
    """Return the thesis's input: 10 x + (9 - y)."""
    x, y = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    matrix: NDArray[np.float32] = (10 * x + (9 - y)).astype(np.float32)
    return matrix


def generate_domain_iterations(rules: Rules, count: int, seed: int) -> Sequence[DomainIteration]:
    """Return `count` random kernels. The same rules and seed always give the same kernels."""
    chooser = random.Random(seed)
    kernels: list[DomainIteration] = []
    while len(kernels) < count:
        kernel_seed = chooser.randrange(1 << 62)
        tree = _TreeGenerator(random.Random(kernel_seed), rules).tree()
        if rules.min_nodes <= tree.size <= rules.max_nodes:
            kernels.append(DomainIteration(tree, kernel_seed))
    return kernels


class _TreeGenerator:
    """Generator of a random tree."""

    def __init__(self, chooser: random.Random, rules: Rules) -> None:
        self._chooser = chooser
        self._rules = rules
        self._left = MAX_NODES

    def tree(self) -> Node:
        self._left -= 1
        pick = self._chooser.random()
        if pick < 0.5 and self._left > 2:
            operator = self._chooser.choice(self._rules.operators)
            return Node(NodeKind.OPERATION, operator, (self.tree(), self.tree()))
        kind = self._chooser.choice(
            [NodeKind.LITERAL, NodeKind.IDENTIFIER, NodeKind.OWN, NodeKind.RANDOM, NodeKind.LOCAL]
        )
        match kind:
            case NodeKind.LITERAL:
                return Node(kind, f"{self._chooser.uniform(0.5, 100.0):.3f}f")
            case NodeKind.IDENTIFIER:
                return Node(kind, self._chooser.choice("xy"))
            case NodeKind.RANDOM:
                return Node(kind, "", (self._index(), self._index()))
            case NodeKind.LOCAL:
                return Node(kind, "", (self._index(),))
            case _:
                return Node(kind)

    def _index(self) -> Node:
        while True:
            index = self._any_index()
            if index.size <= self._rules.max_index_nodes:
                return index

    def _any_index(self) -> Node:
        self._left -= 1
        if self._chooser.random() < 0.5 and self._left > 2:
            operator = self._chooser.choice("+*")
            return Node(NodeKind.OPERATION, operator, (self._any_index(), self._any_index()))
        if self._chooser.random() < 0.5:
            return Node(NodeKind.LITERAL, f"{self._chooser.randrange(1, 1000)}u")
        return Node(NodeKind.IDENTIFIER, self._chooser.choice("xy"))


def _has(node: Node, kind: NodeKind) -> bool:
    return node.kind is kind or any(_has(child, kind) for child in node.children)


def _text(node: Node) -> str:
    match node.kind:
        case NodeKind.OPERATION:
            left, right = (_text(child) for child in node.children)
            return f"({left} {node.text} {right})"
        case NodeKind.IDENTIFIER:
            return f"(float){node.text}"
        case NodeKind.OWN:
            return "matrix[x * WIDTH + y]"
        case NodeKind.RANDOM:
            row, column = (_index_text(child) for child in node.children)
            return f"matrix[({row} % HEIGHT) * WIDTH + {column} % WIDTH]"
        case NodeKind.LOCAL:
            return f"shared[{_index_text(node.children[0])} & 0x7F]"
        case NodeKind.LITERAL:
            return node.text


def _index_text(node: Node) -> str:
    if node.kind is NodeKind.OPERATION:
        left, right = (_index_text(child) for child in node.children)
        return f"({left} {node.text} {right})"
    return node.text


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """Evaluation of nodes for all positions at once."""

    matrix: NDArray[np.float32]
    x: NDArray[np.uint32]
    y: NDArray[np.uint32]
    shared: NDArray[np.float32]

    def value(self, node: Node) -> NDArray[np.float32]:
        match node.kind:
            case NodeKind.OPERATION:
                left, right = (self.value(child) for child in node.children)
                values: NDArray[np.float32] = _FLOAT[node.text](left, right)
            case NodeKind.IDENTIFIER:
                values = (self.x if node.text == "x" else self.y).astype(np.float32)
            case NodeKind.OWN:
                values = self.matrix[self.x, self.y]
            case NodeKind.RANDOM:
                row, column = (self._index(child) for child in node.children)
                height, width = self.matrix.shape
                values = self.matrix[row % np.uint32(height), column % np.uint32(width)]
            case NodeKind.LOCAL:
                values = self.shared[self._index(node.children[0]) & np.uint32(0x7F)]
            case _:
                values = np.full(self.matrix.shape, np.float32(node.text[:-1]))
        return values

    def _index(self, node: Node) -> NDArray[np.uint32]:
        if node.kind is NodeKind.OPERATION:
            left, right = (self._index(child) for child in node.children)
            return left + right if node.text == "+" else left * right
        if node.kind is NodeKind.IDENTIFIER:
            return self.x if node.text == "x" else self.y
        return np.full(self.matrix.shape, int(node.text[:-1]), np.uint32)


_FLOAT: Final = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
