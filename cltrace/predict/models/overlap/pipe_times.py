"""The times of the pipes of a GPU's compute units."""

import math
from collections.abc import Mapping
from typing import Final

from cltrace.kernels.costs.functions import BESIDE
from cltrace.kernels.demand.launch import Demand
from cltrace.kernels.demand.operations import ACCESS, LOGIC, Pipe, is_conversion
from cltrace.predict.models.overlap.costs import Costs

_LONGER: Final = 1.05
"""Cost of a function, by that of an instruction of its pipe, from which more instructions show."""


def pipe_times(demand: Demand, costs: Costs, exponent: float | None = None) -> Mapping[Pipe, float]:
    """Return the time of each pipe of a GPU's compute units by itself, in ns.

    `exponent` is that with which pipes overlap, by default the one among the costs.
    """
    exponent = costs["p pipes"] if exponent is None else exponent
    times = dict.fromkeys(Pipe, 0.0)
    slot = costs["slot"]
    logic = costs.operations.get(LOGIC, slot)
    instruction = costs.special_instruction
    for work in demand.work:
        cost = costs.operations.get(work.name, slot)
        if work.name == ACCESS:
            cost = slot
        issuing = cost
        if work.pipe is Pipe.SPECIAL and not is_conversion(work.name):
            beside = BESIDE.get(work.name.operation)
            if beside is None:
                issuing = _issuing(cost, instruction, slot, exponent)
            else:
                issuing = (1 + beside.slots + beside.logic) * slot
                times[Pipe.LOGIC] += work.warp_total * beside.logic * logic
            cost = min(cost, instruction)
        elif work.pipe is not Pipe.ISSUE:
            issuing = min(slot, cost)
        times[Pipe.ISSUE] += work.warp_total * issuing
        if work.pipe is not Pipe.ISSUE:
            times[work.pipe] += work.warp_total * cost
    return {pipe: time * demand.busiest_share / demand.units for pipe, time in times.items()}


def _issuing(cost: float, instruction: float, slot: float, exponent: float) -> float:
    """Return the time that a function takes of the issue slots, in ns.

    A function is one instruction of its pipe among others that scale its argument and result. What it
    takes longer than that instruction shows how many they are, as pipes overlap with the exponent. Where
    it takes as long, they are hidden, and count as one, unless they are known (`BESIDE`).
    """
    if cost < _LONGER * instruction:
        return slot
    return max(slot, math.pow(cost**exponent - instruction**exponent, 1.0 / exponent))
