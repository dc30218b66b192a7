"""Advice: rules that examine a program's activity, and what following them would save."""

from collections.abc import Callable, Sequence
from typing import Final

from cltrace.timeline.advice.blocking_writes import blocking_writes
from cltrace.timeline.advice.copied_memory import copied_host_memory
from cltrace.timeline.advice.crowded_queues import crowded_queues
from cltrace.timeline.advice.dropped_transfers import dropped_transfers
from cltrace.timeline.advice.gains import find_gains
from cltrace.timeline.advice.host_gaps import host_gaps
from cltrace.timeline.advice.launch_bound import launch_bound_loops
from cltrace.timeline.advice.model import Evidence, Finding, Findings, Proposal
from cltrace.timeline.advice.moves import moved_memory
from cltrace.timeline.advice.programs import deprecated_calls, leaks
from cltrace.timeline.advice.rebuilt_programs import rebuilt_programs
from cltrace.timeline.advice.redundant_transfers import redundant_transfers
from cltrace.timeline.advice.redundant_waits import redundant_waits
from cltrace.timeline.advice.serial_queues import serial_queues
from cltrace.timeline.advice.small_transfers import frequent_reads, tiny_transfers
from cltrace.timeline.advice.turns import devices_in_turns
from cltrace.timeline.advice.unneeded_waits import unneeded_waits
from cltrace.timeline.advice.unoverlapped_transfers import unoverlapped_transfers
from cltrace.timeline.advice.work_groups import wasted_lanes
from cltrace.timeline.replay import Replay, build_run_graph

__all__ = ["RULES", "Evidence", "Finding", "Findings", "advise"]

RULES: Final[Sequence[Callable[[Evidence], list[Proposal]]]] = (
    devices_in_turns,
    unneeded_waits,
    dropped_transfers,
    moved_memory,
    redundant_waits,
    blocking_writes,
    launch_bound_loops,
    host_gaps,
    serial_queues,
    crowded_queues,
    unoverlapped_transfers,
    redundant_transfers,
    tiny_transfers,
    frequent_reads,
    copied_host_memory,
    rebuilt_programs,
    wasted_lanes,
    leaks,
    deprecated_calls,
)
"""All rules. Where two of them see the same waits at a place, the first one reports them."""


def advise(evidence: Evidence, further: Sequence[Proposal] = ()) -> Findings:
    """Return the findings of all rules, those with the largest gain first.

    `further` are proposals of other rules, as those about kernels.
    """
    graph = build_run_graph(evidence.activity, evidence.dependencies, evidence.events)
    proposals = [proposal for rule in RULES for proposal in rule(evidence)]
    return find_gains([*proposals, *further], Replay(graph), evidence.devices)
