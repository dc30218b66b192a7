"""Flame graphs of a page: trees whose frames add up to the trace's times."""

import cltrace
from cltrace.report.page import flames
from cltrace.report.page.flames import FlameGraph, flame_graphs
from cltrace.timeline.analysis import Analysis
from tests.conftest import MakeTrace
from tests.hostile import hostile_text


def graphs_of(make_trace: MakeTrace) -> list[FlameGraph]:
    with cltrace.load(make_trace()) as trace:
        return flame_graphs(Analysis(trace), "/srv/heat")


def test_a_frame_has_the_time_of_what_it_calls(make_trace: MakeTrace) -> None:
    for graph in graphs_of(make_trace):
        inner = [0] * len(graph.nodes)
        for at, node in enumerate(graph.nodes):
            assert node.outer < at
            if node.outer >= 0:
                inner[node.outer] += node.total_ns
        for node, called in zip(graph.nodes, inner, strict=True):
            assert called in {0, node.total_ns}


def test_a_stack_leads_from_the_program_to_the_call(make_trace: MakeTrace) -> None:
    host, device = graphs_of(make_trace)
    paths = []
    for graph in (host, device):
        for node in graph.nodes:
            path = [(node.name, node.place, node.kind)]
            outer = node.outer
            while outer >= 0:
                above = graph.nodes[outer]
                path.append((above.name, above.place, above.kind))
                outer = above.outer
            paths.append(path[::-1])
    main, step = ("main", "heat.py:10", "program"), ("step", "heat.py:42", "program")
    assert [main, step, ("clEnqueueNDRangeKernel", "", "call")] in paths
    assert {path[-1][2] for path in paths if path[:2] == [main, step]} >= {"call", "kernel"}


def test_frames_with_least_time_are_left_out(make_trace: MakeTrace) -> None:
    whole = graphs_of(make_trace)[0]
    kept = flames.largest_frames(whole.nodes, 3)
    assert len(kept) == 3
    assert kept[0].total_ns == max(node.total_ns for node in whole.nodes)
    assert all(node.outer < at for at, node in enumerate(kept))


def test_hostile_names_are_escaped(make_trace: MakeTrace) -> None:
    with cltrace.load(make_trace(text=hostile_text)) as trace:
        for graph in flame_graphs(Analysis(trace), ""):
            for node in graph.nodes:
                assert "\n" not in node.name + node.place
