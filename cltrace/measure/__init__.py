"""Timing of launches and transfers on a device.

`Bench` holds a device. `Bench.time_launch` and `transfers.time_transfer` repeat a launch or transfer of
`cltrace.events.workloads` until a `StopRule` is satisfied.
"""

from cltrace.measure.bench import Bench
from cltrace.measure.devices import device_facts, find_device
from cltrace.measure.repetition import Repetitions, StopRule, repeat

__all__ = ["Bench", "Repetitions", "StopRule", "device_facts", "find_device", "repeat"]
