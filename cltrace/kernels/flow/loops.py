"""The order in which blocks run, and the loops they form.

Lanes that wait in several blocks run the earliest first. For them to come together again after a
branch, each block has to come after all that lead to it; for them to leave a loop together, what
follows a loop has to come after all of its blocks. So strongly connected parts are ordered as one,
and then within, without the edges back to their header.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cltrace.kernels.ir.instructions import successors
from cltrace.kernels.ir.module import Function


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: its header, its blocks, and the loop around it by number, or -1.

    A loop that is entered at several blocks has the first of them as its header.
    """

    header: int
    blocks: frozenset[int]
    parent: int


@dataclass(frozen=True, slots=True)
class Graph:
    """The blocks of a function that can be reached.

    `order` has them in the order in which they run; `loops` with those around before those within;
    `loop_of` the innermost loop of each block, or -1.
    """

    order: tuple[int, ...]
    successors: Mapping[int, tuple[int, ...]]
    predecessors: Mapping[int, tuple[int, ...]]
    loops: tuple[Loop, ...]
    loop_of: Mapping[int, int]

    def depth(self, loop: int) -> int:
        """How many loops are around a loop's inside, itself included."""
        depth = 0
        while loop >= 0:
            depth += 1
            loop = self.loops[loop].parent
        return depth


def graph_of(function: Function) -> Graph:
    """The control flow of a function."""
    following = _reachable(function)
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
        parts = _ordered_parts(nodes, following, header)
        pending: list[tuple[list[int], int, int]] = []
        for part in parts:
            if len(part) == 1 and (part[0] == header or part[0] not in following[part[0]]):
                pending.append((part, part[0], loop))
                continue
            inner = _header(part, preceding)
            loops.append(Loop(inner, frozenset(part), loop))
            for block in part:
                loop_of[block] = len(loops) - 1
            pending.append((part, inner, len(loops) - 1))
        work.extend(reversed(pending))
    return Graph(
        order=tuple(order),
        successors=following,
        predecessors={block: tuple(sources) for block, sources in preceding.items()},
        loops=tuple(loops),
        loop_of=loop_of,
    )


def _reachable(function: Function) -> dict[int, tuple[int, ...]]:
    following: dict[int, tuple[int, ...]] = {}
    waiting = [0]
    while waiting:
        block = waiting.pop()
        if block not in following:
            following[block] = successors(function.blocks[block].terminator)
            waiting.extend(following[block])
    return following


def _header(part: Sequence[int], preceding: Mapping[int, Iterable[int]]) -> int:
    """The block at which a part is entered; the function's first block is entered from nowhere."""
    inside = set(part)
    for block in part:
        if block == 0 or any(source not in inside for source in preceding[block]):
            return block
    return part[0]


def _ordered_parts(
    nodes: Sequence[int], following: Mapping[int, tuple[int, ...]], header: int
) -> list[list[int]]:
    """The strongly connected parts of `nodes`, each after those that lead to it (Tarjan 1972).

    Edges to `header` do not count: they are the loop's own. A header that is all of its part comes
    first.
    """
    search = _Search(set(nodes), following, header)
    for root in (max(header, 0), *nodes):
        if root in search.inside and root not in search.index:
            search.run(root)
    return search.parts[::-1]


class _Search:
    """Tarjan's walk. `parts` come out in the opposite order."""

    def __init__(
        self, inside: set[int], following: Mapping[int, tuple[int, ...]], header: int
    ) -> None:
        self.inside = inside
        self.index: dict[int, int] = {}
        self.parts: list[list[int]] = []
        self._following = following
        self._header = header
        self._low: dict[int, int] = {}
        self._stack: list[int] = []
        self._walk: list[tuple[int, Iterator[int]]] = []

    def run(self, root: int) -> None:
        """Walk from a block that was not met yet."""
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
        """Go back. A block that reaches none before it ends a part, whose blocks are done."""
        self._walk.pop()
        if self._walk:
            above = self._walk[-1][0]
            self._low[above] = min(self._low[above], self._low[block])
        if self._low[block] == self.index[block]:
            part: list[int] = []
            while not part or part[-1] != block:
                part.append(self._stack.pop())
                del self._low[part[-1]]
            self.parts.append(part[::-1])
