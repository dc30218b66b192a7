"""Advice: rules that look at what was done and say what could be done better, with evidence."""

from collections.abc import Callable, Sequence
from typing import Final

from cltrace.timeline.advice.launches import launch_bound_loops, wasted_lanes
from cltrace.timeline.advice.model import Advice, Material
from cltrace.timeline.advice.programs import deprecated_calls, leaks, rebuilt_programs
from cltrace.timeline.advice.transfers import (
    copied_host_memory,
    redundant_transfers,
    tiny_transfers,
    unoverlapped_transfers,
)
from cltrace.timeline.advice.waits import blocking_writes, idle_waits, unneeded_waits

__all__ = ["RULES", "Advice", "Material", "advise"]

RULES: Final[Sequence[Callable[[Material], list[Advice]]]] = (
    unneeded_waits,
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
"""Every rule."""


def advise(material: Material) -> list[Advice]:
    """What all rules say, the dearest first; what costs no time comes last."""
    found = [one for rule in RULES for one in rule(material)]
    return sorted(found, key=lambda one: -1 if one.cost_ns is None else one.cost_ns, reverse=True)
