"""Semantic trees: each condition once, below the outcome that decides about it, with its work-items."""

import json
import re

import numpy as np
import pytest

from cltrace.kernels import Argument, BufferArgument, parse
from cltrace.kernels.events.branch_counts import count_branches
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.decisions import decode_stream
from cltrace.kernels.events.proxy_warps import find_proxy_warps
from cltrace.kernels.events.recording_request import KernelLaunch
from cltrace.kernels.events.records import LaunchEvents
from cltrace.kernels.events.semantic_tree import build_semantic_tree
from cltrace.report.kernel_events import analyse_events
from cltrace.report.page.inside_kernel import render_inside_page
from tests.kernels.cases import Case
from tests.kernels.catalogue import CASES
from tests.kernels.inside import record_sum
from tests.kernels.launches import arguments_of, local_size_of, program_of

BRANCHES = """__kernel void branches(__global int *x)
{
    const int i = get_global_id(0);
    if (i >= 48)
        return;
    for (int j = 0; j < i % 4; ++j) {
        if (x[j] > 2 && j != 1)
            x[i] += 1;
        else
            x[i] -= 1;
    }
    do {
        x[i] ^= 1;
    } while (x[i] & 1);
    switch (i % 3) {
    case 0: x[i] = 5; break;
    case 1:
        if (i > 9)
            x[i] = 6;
        break;
    }
    x[i] += 2;
}
"""


def record(source: str) -> LaunchEvents:
    arguments: list[Argument] = [BufferArgument(256, np.zeros(64, np.int32))]
    return record_events(KernelLaunch(parse(source), "branches", (64,), (64,), arguments))


def drawn(events: LaunchEvents) -> list[str]:
    """Lines of the tree, indented by level."""
    page = render_inside_page(analyse_events(events))
    match = re.search(r'id="report">(.*?)</script>', page)
    assert match is not None
    lines = []
    for node in json.loads(match[1])["tree"]:
        jump = f" -> {node['jump']}" if node["jump"] else ""
        own = f" {node['lines']}" if node["lines"] else ""
        lines.append(f"{'  ' * node['level']}{node['label']} {node['items']}{own}{jump}")
    return lines


def test_conditions_stand_below_what_decides_about_them() -> None:
    assert drawn(record(BRANCHES)) == [
        "begin 64 [3]",
        "  4 64",
        "    true 16 [5, 23]",
        "    false 48",
        "      6 48",
        "        trip 36",
        "          7 36",
        "            true 0",
        "              7 0",
        "                true 0 [8, 11]",
        "                false 0 [10, 11]",
        "            false 36 [10, 11]",
        "        false 48 [12, 13]",
        "      14 48",
        "        trip 24 [13]",
        "        false 48",
        "      15 48",
        "        taken 16 [16, 22, 23] -> end",
        "        not taken 32",
        "      15 32",
        "        taken 16",
        "          18 16",
        "            true 13 [19, 20, 22, 23]",
        "            false 3 [20, 22, 23]",
        "        not taken 16 [22, 23]",
    ]


def test_a_reduction_is_a_loop_around_a_condition() -> None:
    assert drawn(record_sum("sum_by_halves", 64))[4:] == [
        "  49 1024",
        "    trip 1024",
        "      50 1024",
        "        true 512 [51, 52, 53]",
        "        false 1008 [52, 53]",
        "    false 1024",
        "  54 1024",
        "    true 16 [55, 56]",
        "    false 1008 [56]",
    ]


@pytest.mark.parametrize("case", CASES[::5], ids=lambda case: case.name)
def test_work_items_come_to_a_node_through_those_above_it(case: Case) -> None:
    launch = (program_of(case), case.kernel, case.global_size, local_size_of(case))
    events = record_events(KernelLaunch(*launch, arguments_of(case)))
    nodes = build_semantic_tree(events.begin, events.decisions)
    above: list[tuple[int, int]] = []
    parents = {}
    for node in nodes:
        above = above[: node.level]
        parents[node.decision, node.outcome] = above[-1] if above else None
        above.append((node.decision, node.outcome))
    assert len(parents) == len(nodes) == 1 + 3 * len({key[0] for key in parents} - {-1})
    ways = {row.decision: row for row in count_branches(events, find_proxy_warps(events))}
    evaluated = np.zeros((2, len(events.decisions)), np.int64)
    for stream, items in zip(*np.unique(events.items.stream, return_counts=True), strict=True):
        seen = {(-1, -1)}
        for number, bit in decode_stream(
            events.begin, events.decisions, events.streams.bits(int(stream))
        ):
            assert parents[number, -1] in seen
            seen |= {(number, -1), (number, bit)}
        for number, bit in {key for key in seen if key[1] >= 0}:
            evaluated[bit, number] += items
    assert {number: (row.ever_false, row.ever_true) for number, row in ways.items()} == {
        number: tuple(evaluated[:, number])
        for number in np.flatnonzero(evaluated.any(axis=0)).tolist()
    }
