"""Advice: rules that examine a program's activity and suggest improvements, with numbers."""

from collections.abc import Callable, Sequence
from typing import Final

from cltrace.timeline.advice.launches import launch_bound_loops, wasted_lanes
from cltrace.timeline.advice.model import Advice, Evidence
from cltrace.timeline.advice.moves import moved_memory
from cltrace.timeline.advice.programs import deprecated_calls, leaks, rebuilt_programs
from cltrace.timeline.advice.transfers import (
    copied_host_memory,
    redundant_transfers,
    tiny_transfers,
    unoverlapped_transfers,
)
from cltrace.timeline.advice.turns import devices_in_turns
from cltrace.timeline.advice.waits import blocking_writes, idle_waits, unneeded_waits

__all__ = ["RULES", "Advice", "Evidence", "advise"]

RULES: Final[Sequence[Callable[[Evidence], list[Advice]]]] = (
    unneeded_waits,
    devices_in_turns,
    moved_memory,
    idle_waits,
    blocking_writes,
    launch_bound_loops,
    unoverlapped_transfers,
    redundant_transfers,
    tiny_transfers,
    copied_host_memory,
    rebuilt_programs,
    wasted_lanes,
    leaks,
    deprecated_calls,
)
"""All rules. Each is named after the problem that it finds."""


def advise(evidence: Evidence) -> list[Advice]:
    """Return the advice of all rules, the highest cost first and advice without a cost in time last."""
    findings = [advice for rule in RULES for advice in rule(evidence)]
    return sorted(
        findings,
        key=lambda advice: -1 if advice.cost_ns is None else advice.cost_ns,
        reverse=True,
    )
