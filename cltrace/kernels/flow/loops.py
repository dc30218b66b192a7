"""Control-flow graph: the order in which blocks run, and their loops.

Where lanes wait in several blocks, the earliest block in this order runs first. For lanes to reconverge
after a branch, each block has to come after all that lead to it. For lanes to leave a loop together, the
blocks that follow the loop have to come after all of its blocks. So strongly connected components are
ordered first, and then the blocks within each, without the edges back to its header.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cltrace.kernels.ir.instructions import successors
from cltrace.kernels.ir.module import Function


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: its header, its blocks, and the number of the loop around it, or -1.

    The header of a loop that is entered at several blocks is the first of them.
    """

    header: int
    blocks: frozenset[int]
    parent: int


@dataclass(frozen=True, slots=True)
class Graph:
    """Control-flow graph of a function's reachable blocks.

    Attributes:
        order: the blocks in the order in which they run.
        successors: by block, the blocks that control may go to.
        predecessors: by block, the blocks that control may come from.
        loops: the loops, outer ones before inner ones.
        loop_of: by block, the number of its innermost loop, or -1.
    """

    order: tuple[int, ...]
    successors: Mapping[int, tuple[int, ...]]
    predecessors: Mapping[int, tuple[int, ...]]
    loops: tuple[Loop, ...]
    loop_of: Mapping[int, int]

    def depth(self, loop: int) -> int:
        """Return the nesting depth of a loop: 1 for an outermost loop, 0 for -1."""
        depth = 0
        while loop >= 0:
            depth += 1
            loop = self.loops[loop].parent
        return depth

    def entering(self, loop: Loop) -> tuple[int, ...]:
        """Return the blocks outside of a loop from which control enters it."""
        return tuple(each for each in self.predecessors[loop.header] if each not in loop.blocks)


def build_graph(function: Function) -> Graph:
    """Build the control-flow graph of a function."""
    following = _reachable_successors(function)
    preceding: dict[int, list[int]] = {block: [] for block in following}
    for block, targets in following.items():
        for target in targets:
            preceding[target].append(block)
    order: list[int] = []
    loops: list[Loop] = []
    loop_of = dict.fromkeys(following, -1)
    work: list[tuple[list[int], int, int]] = [(list(following), -1, -1)]
    while work:
        nodes, header, loop = work.pop()
        if len(nodes) == 1 and header == nodes[0]:
            order.append(header)
            continue
        components = _order_components(nodes, following, header)
        pending: list[tuple[list[int], int, int]] = []
        for component in components:
            first = component[0]
            if len(component) == 1 and (first == header or first not in following[first]):
                pending.append((component, first, loop))
                continue
            inner = _find_header(component, preceding)
            loops.append(Loop(inner, frozenset(component), loop))
            for block in component:
                loop_of[block] = len(loops) - 1
            pending.append((component, inner, len(loops) - 1))
        work.extend(reversed(pending))
    return Graph(
        order=tuple(order),
        successors=following,
        predecessors={block: tuple(sources) for block, sources in preceding.items()},
        loops=tuple(loops),
        loop_of=loop_of,
    )


def _reachable_successors(function: Function) -> dict[int, tuple[int, ...]]:
    """Return the successors of each block that can be reached."""
    following: dict[int, tuple[int, ...]] = {}
    waiting = [0]
    while waiting:
        block = waiting.pop()
        if block not in following:
            following[block] = successors(function.blocks[block].terminator)
            waiting.extend(following[block])
    return following


def _find_header(component: Sequence[int], preceding: Mapping[int, Iterable[int]]) -> int:
    """Return the block at which a component is entered: block 0, or one with a predecessor outside."""
    inside = set(component)
    for block in component:
        if block == 0 or any(source not in inside for source in preceding[block]):
            return block
    return component[0]


def _order_components(
    nodes: Sequence[int], following: Mapping[int, tuple[int, ...]], header: int
) -> list[list[int]]:
    """Return the strongly connected components of `nodes`, each after those that lead to it.

    The algorithm is Tarjan's (1972). Edges to `header` are left out: they are the loop's own. A header
    that is a component of its own comes first.
    """
    search = _ComponentSearch(set(nodes), following, header)
    for root in (max(header, 0), *nodes):
        if root in search.inside and root not in search.index:
            search.run(root)
    return search.components[::-1]


class _ComponentSearch:
    """Tarjan's search for strongly connected components. They come out in reverse order."""

    def __init__(
        self, inside: set[int], following: Mapping[int, tuple[int, ...]], header: int
    ) -> None:
        self.inside = inside
        self.index: dict[int, int] = {}
        self.components: list[list[int]] = []
        self._following = following
        self._header = header
        self._low: dict[int, int] = {}
        self._stack: list[int] = []
        self._walk: list[tuple[int, Iterator[int]]] = []

    def run(self, root: int) -> None:
        """Search from a block that was not visited yet."""
        self._enter(root)
        while self._walk:
            block, targets = self._walk[-1]
            target = next(targets, None)
            if target is None:
                self._leave(block)
            elif target not in self.index:
                self._enter(target)
            elif target in self._low:
                self._low[block] = min(self._low[block], self.index[target])

    def _enter(self, block: int) -> None:
        self.index[block] = self._low[block] = len(self.index)
        self._stack.append(block)
        targets = [t for t in self._following[block] if t in self.inside and t != self._header]
        self._walk.append((block, iter(targets)))

    def _leave(self, block: int) -> None:
        """Go back. A block that reaches none before it completes a component."""
        self._walk.pop()
        if self._walk:
            above = self._walk[-1][0]
            self._low[above] = min(self._low[above], self._low[block])
        if self._low[block] == self.index[block]:
            component: list[int] = []
            while not component or component[-1] != block:
                component.append(self._stack.pop())
                del self._low[component[-1]]
            self.components.append(component[::-1])
