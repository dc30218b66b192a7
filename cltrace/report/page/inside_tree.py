"""Conditions and loops of a kernel as a tree on the page of a launch's inside."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from cltrace.kernels.compiler import SOURCE_NAME
from cltrace.kernels.events.branch_counts import DecisionCount
from cltrace.kernels.events.records import Decision, DecisionKind, LaunchEvents
from cltrace.kernels.events.semantic_tree import NO_DECISION, TreeNode, build_semantic_tree
from cltrace.report.kernel_events import EventAnalysis, place_text
from cltrace.report.untrusted_text import escape_controls

_MAX_DECISIONS: Final = 300
"""Decisions of a tree that the page draws."""
_MAX_TEXT: Final = 120


def tree_values(analysis: EventAnalysis) -> Sequence[Mapping[str, Any]]:
    """Return the nodes of the tree from its root on; none for a kernel with too many conditions."""
    events = analysis.events
    if not 0 < len(events.decisions) <= _MAX_DECISIONS:
        return []
    nodes = build_semantic_tree(events.begin, events.decisions)
    texts = _texts(events)
    counts = _counts_by_decision(analysis)
    return [_node(events, node, texts, counts.get(node.decision)) for node in nodes]


def _counts_by_decision(analysis: EventAnalysis) -> Mapping[int, DecisionCount]:
    """Return the counts of all decisions; none where streams are too long to be counted."""
    if not analysis.branches:
        return {}
    never = {field.name: 0 for field in fields(DecisionCount)}
    counts = {
        number: DecisionCount(**{**never, "decision": number})
        for number in range(len(analysis.events.decisions))
    }
    return {**counts, **{row.decision: row for row in analysis.branches}}


def _node(
    events: LaunchEvents, node: TreeNode, texts: Sequence[str], count: DecisionCount | None
) -> Mapping[str, Any]:
    is_end = node.leads_to == NO_DECISION
    target = "end" if is_end else _place(events, events.decisions[node.leads_to])
    return {
        "level": node.level,
        "decision": node.decision,
        "outcome": node.outcome,
        "label": _label(events, node),
        "text": texts[node.decision] if node.decision >= 0 else "",
        "lines": _lines(events, node),
        "jump": "" if node.is_in_order else target,
        **_counts(events, node, count),
    }


def _label(events: LaunchEvents, node: TreeNode) -> str:
    """Return the place of a decision, or the name of an outcome."""
    if node.decision == NO_DECISION:
        return "begin"
    decision = events.decisions[node.decision]
    if node.outcome < 0:
        return _place(events, decision)
    if node.is_trip:
        return "trip"
    if decision.kind is DecisionKind.CASE:
        return "taken" if node.outcome else "not taken"
    return "true" if node.outcome else "false"


def _place(events: LaunchEvents, decision: Decision) -> str:
    return escape_controls(place_text(events, decision).removeprefix(f"{SOURCE_NAME}:"))


def _texts(events: LaunchEvents) -> Sequence[str]:
    """Return the source of each decision: its line, or only the condition if a line has several."""
    lines = events.source.replace("\r\n", "\n").split("\n")
    shared = Counter((item.file, item.line) for item in events.decisions)
    texts = []
    for item in events.decisions:
        is_own = item.file == SOURCE_NAME and 1 <= item.line <= len(lines)
        line = lines[item.line - 1] if is_own else ""
        if shared[item.file, item.line] > 1:
            line = item.text or line
        texts.append(escape_controls(line.expandtabs(4).strip()[:_MAX_TEXT]))
    return texts


def _lines(events: LaunchEvents, node: TreeNode) -> Sequence[int]:
    """Return the lines that run between an outcome and the next decision, without the latter's."""
    way = events.begin
    if node.decision != NO_DECISION:
        if node.outcome < 0:
            return ()
        way = events.decisions[node.decision].after(node.outcome)
    target = events.decisions[way.decision] if way.decision >= 0 else None
    last = target.line if target is not None and target.file == SOURCE_NAME else 0
    return [line for line in way.lines if line != last]


def _counts(
    events: LaunchEvents, node: TreeNode, count: DecisionCount | None
) -> Mapping[str, int | None]:
    """Return the work-items that come to a node, and how often; None if they are not counted."""
    if node.decision == NO_DECISION:
        return {"items": len(events.items.item), "times": len(events.items.item)}
    if count is None:
        return {"items": None, "times": None}
    if node.outcome < 0:
        return {"items": count.work_items, "times": count.items}
    if node.outcome:
        return {"items": count.ever_true, "times": count.true_items}
    return {"items": count.ever_false, "times": count.items - count.true_items}
