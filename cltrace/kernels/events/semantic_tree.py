"""Semantic tree of a kernel: its conditions and loops, each with the code that it decides about.

A decision stands once, below the outcome without which no work-item comes to it. What both outcomes of a
decision lead to follows that decision, and what a loop leaves to follows the loop.

Source: Klein, "Towards Interactive Visual Exploration of Parallel Programs", section 4.2.2.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from cltrace.kernels.events.records import Continuation, Decision, DecisionKind

NO_DECISION: Final = -1
"""In place of a decision: the begin of the kernel, or the end of a work-item."""
NO_OUTCOME: Final = -1
_BEGIN: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A node of the tree: the begin of the kernel, a decision, or an outcome of one.

    Attributes:
        level: the number of nodes above it.
        decision: the decision, `NO_DECISION` for the begin of the kernel.
        outcome: 1 or 0 for an outcome, `NO_OUTCOME` for a decision itself.
        is_trip: True for the outcome of a loop's condition that stays in the loop.
        leads_to: for an outcome and the begin, the decision that follows; `NO_DECISION` for the end.
        is_in_order: True if that is what follows in the tree, or the loop around.
    """

    level: int
    decision: int
    outcome: int
    is_trip: bool
    leads_to: int
    is_in_order: bool


@dataclass(frozen=True, slots=True)
class _Entry:
    """A decision, or an outcome of it, with the decision that follows it in the tree."""

    decision: int
    outcome: int
    level: int
    next_decision: int


def build_semantic_tree(begin: Continuation, decisions: Sequence[Decision]) -> Sequence[TreeNode]:
    """Return the nodes of the tree from its root on, each before those below it."""
    return list(_TreeBuilder(begin, decisions).nodes())


class _TreeBuilder:
    def __init__(self, begin: Continuation, decisions: Sequence[Decision]) -> None:
        self._begin = begin
        self._decisions = decisions
        self._trips = {
            number: self._find_trip(number)
            for number, decision in enumerate(decisions)
            if decision.kind is DecisionKind.LOOP
        }
        self._below = _dominated(_edges(begin, decisions))

    def nodes(self) -> Iterator[TreeNode]:
        """Yield the nodes, each before those below it."""
        first = self._begin.decision
        yield TreeNode(
            level=0,
            decision=NO_DECISION,
            outcome=NO_OUTCOME,
            is_trip=False,
            leads_to=first,
            is_in_order=True,
        )
        pending = self._entries(_BEGIN, 1, NO_DECISION)
        while pending:
            entry = pending.pop()
            if entry.outcome == NO_OUTCOME:
                yield self._decision_node(entry)
                pending += [
                    _Entry(entry.decision, outcome, entry.level + 1, entry.next_decision)
                    for outcome in (0, 1)
                ]
            else:
                below = self._entries_of_outcome(entry)
                first = below[-1].decision if below else self._next_of(entry)
                yield self._outcome_node(entry, first)
                pending += below

    def _decision_node(self, entry: _Entry) -> TreeNode:
        return TreeNode(
            level=entry.level,
            decision=entry.decision,
            outcome=NO_OUTCOME,
            is_trip=False,
            leads_to=NO_DECISION,
            is_in_order=True,
        )

    def _outcome_node(self, entry: _Entry, expected: int) -> TreeNode:
        target = self._decisions[entry.decision].after(entry.outcome).decision
        return TreeNode(
            level=entry.level,
            decision=entry.decision,
            outcome=entry.outcome,
            is_trip=self._trips.get(entry.decision) == entry.outcome,
            leads_to=target,
            is_in_order=target == expected,
        )

    def _next_of(self, entry: _Entry) -> int:
        """Return the decision that follows the code of an outcome: a trip leads to its loop again."""
        is_trip = self._trips.get(entry.decision) == entry.outcome
        return entry.decision if is_trip else entry.next_decision

    def _entries_of_outcome(self, entry: _Entry) -> list[_Entry]:
        if self._is_flat(entry.decision, entry.outcome):
            return []
        node = _node_of_outcome(entry.decision, entry.outcome)
        return self._entries(node, entry.level + 1, self._next_of(entry))

    def _entries(self, node: int, level: int, next_decision: int) -> list[_Entry]:
        """Return the decisions in sequence below a node, the last one first."""
        pairs = pairwise([*self._sequence(node), next_decision])
        return [_Entry(number, NO_OUTCOME, level, after) for number, after in pairs][::-1]

    def _sequence(self, node: int) -> Sequence[int]:
        """Return the decisions that follow each other below a node."""
        sequence: list[int] = []
        pending = self._decisions_below(node)[::-1]
        while pending:
            number = pending.pop()
            sequence.append(number)
            flat = [
                inner
                for outcome in (0, 1)
                if self._is_flat(number, outcome)
                for inner in self._decisions_below(_node_of_outcome(number, outcome))
            ]
            pending += [*flat, *self._decisions_below(_node_of_decision(number))][::-1]
        return sequence

    def _decisions_below(self, node: int) -> list[int]:
        return sorted(
            _decision_of(inner) for inner in self._below.get(node, ()) if _is_decision(inner)
        )

    def _is_flat(self, number: int, outcome: int) -> bool:
        """Return True for an outcome whose code follows the decision: behind a loop, the next case."""
        if number in self._trips:
            return outcome != self._trips[number]
        is_case = self._decisions[number].kind is DecisionKind.CASE
        return is_case and outcome == 0 and self._decisions[number].if_false.is_within_block

    def _find_trip(self, number: int) -> int:
        """Return the outcome of a loop's condition that comes to it again within the loop."""
        comes_back = [
            self._comes_back(self._decisions[number].after(outcome).decision, number)
            for outcome in (0, 1)
        ]
        return 0 if comes_back == [True, False] else 1

    def _comes_back(self, begin: int, number: int) -> bool:
        depth = self._decisions[number].depth
        seen, pending = set[int](), [begin]
        while pending:
            here = pending.pop()
            if here == number:
                return True
            if here < 0 or here in seen or self._decisions[here].depth < depth:
                continue
            seen.add(here)
            pending += [self._decisions[here].after(outcome).decision for outcome in (0, 1)]
        return False


def _node_of_decision(number: int) -> int:
    return 1 + 3 * number


def _node_of_outcome(number: int, outcome: int) -> int:
    return 2 + 3 * number + outcome


def _is_decision(node: int) -> bool:
    return node != _BEGIN and node % 3 == 1


def _decision_of(node: int) -> int:
    return (node - 1) // 3


def _edges(begin: Continuation, decisions: Sequence[Decision]) -> Mapping[int, Sequence[int]]:
    """Return the nodes that follow each node: the begin, decisions and outcomes."""

    def target(way: Continuation) -> Sequence[int]:
        return () if way.decision < 0 else (_node_of_decision(way.decision),)

    edges: dict[int, Sequence[int]] = {_BEGIN: target(begin)}
    for number, decision in enumerate(decisions):
        outcomes = [_node_of_outcome(number, outcome) for outcome in (0, 1)]
        edges[_node_of_decision(number)] = outcomes
        for outcome, node in enumerate(outcomes):
            edges[node] = target(decision.after(outcome))
    return edges


def _dominated(edges: Mapping[int, Sequence[int]]) -> Mapping[int, Sequence[int]]:
    """Return the nodes that each node immediately dominates.

    Source: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
    """
    order = _reverse_post_order(edges)
    rank = {node: position for position, node in enumerate(order)}
    before: dict[int, list[int]] = {node: [] for node in order}
    for node in order:
        for other in edges[node]:
            before[other].append(node)
    dominator = {_BEGIN: _BEGIN}
    is_changed = True
    while is_changed:
        is_changed = False
        for node in order[1:]:
            placed = [other for other in before[node] if other in dominator]
            nearest = placed[0]
            for other in placed[1:]:
                nearest = _common(nearest, other, dominator, rank)
            is_changed |= dominator.get(node) != nearest
            dominator[node] = nearest
    dominated: dict[int, list[int]] = {}
    for node in order[1:]:
        dominated.setdefault(dominator[node], []).append(node)
    return dominated


def _common(first: int, second: int, dominator: Mapping[int, int], rank: Mapping[int, int]) -> int:
    """Return the nearest node that dominates both."""
    while first != second:
        if rank[first] > rank[second]:
            first = dominator[first]
        else:
            second = dominator[second]
    return first


def _reverse_post_order(edges: Mapping[int, Sequence[int]]) -> Sequence[int]:
    """Return the nodes that are reached from the begin, each before those that it leads to forwards."""
    finished: list[int] = []
    seen = {_BEGIN}
    pending = [(_BEGIN, iter(edges[_BEGIN]))]
    while pending:
        node, following = pending[-1]
        unseen = next((other for other in following if other not in seen), None)
        if unseen is None:
            pending.pop()
            finished.append(node)
        else:
            seen.add(unseen)
            pending.append((unseen, iter(edges[unseen])))
    return finished[::-1]
