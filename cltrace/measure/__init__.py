"""Running launches and transfers on a device for their time.

`Bench` holds a device; `Bench.launch` and `Bench.transfer` measure what `cltrace.events.workloads`
describes, again and again until a `StopRule` is content. Nothing here knows what is measured or why.
"""

from cltrace.measure.bench import Bench
from cltrace.measure.devices import device_facts, find_device
from cltrace.measure.repetition import Sample, StopRule, repeated

__all__ = ["Bench", "Sample", "StopRule", "device_facts", "find_device", "repeated"]
