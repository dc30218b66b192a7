"""Watts and joules: readers of power, what they read as energy of kernels and transfers.

What a reader of another distribution needs is here; the entry-point group `cltrace.power_readers` names
its class, which has one of the two protocols of `cltrace.power.protocol`.
"""

from cltrace.errors import PowerError
from cltrace.events.power import ProbeState, Quantity, SampleFlag, Scope
from cltrace.power.protocol import (
    API,
    Channel,
    LiveReader,
    Log,
    LogClock,
    LogReader,
    LogRequest,
    OpenReader,
    Probe,
    Sample,
)

__all__ = [
    "API",
    "Channel",
    "LiveReader",
    "Log",
    "LogClock",
    "LogReader",
    "LogRequest",
    "OpenReader",
    "PowerError",
    "Probe",
    "ProbeState",
    "Quantity",
    "Sample",
    "SampleFlag",
    "Scope",
]
