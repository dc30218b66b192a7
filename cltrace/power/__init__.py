"""Power and energy: power readers, and attribution of the energy to kernels and transfers.

This package exports the names that a power reader of another distribution needs. The entry-point group
`cltrace.power_readers` names the class of a reader, which implements one of the two protocols of
`cltrace.power.protocol`.
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
