"""Demand of a launch on the parts of a device, derived from its counts, for models of time and energy."""

from cltrace.kernels.demand.launch import Demand, Wait, Work, demand_of
from cltrace.kernels.demand.operations import Pipe, cost_names, is_conversion, pipe_of
from cltrace.kernels.demand.reads import Reads
from cltrace.kernels.demand.traffic import Traffic

__all__ = [
    "Demand",
    "Pipe",
    "Reads",
    "Traffic",
    "Wait",
    "Work",
    "cost_names",
    "demand_of",
    "is_conversion",
    "pipe_of",
]
