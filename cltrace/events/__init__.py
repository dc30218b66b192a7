"""Vocabulary of a recording: the raw facts that a traced process reports, without interpretation.

Facts have two forms. *Records* (`events.records`) are frozen dataclasses, and there are few of them: a
device, a program, a launch configuration. *Row tables* (`events.tables`) are columns of 64-bit integers
and can have millions of rows: commands, stamps, buffers.

Names state the unit and the clock. `host_ns` is `CLOCK_MONOTONIC` of the machine that the process ran on
(`time.perf_counter_ns()`); `device_ns` is the device's own profiling counter, whose zero is unknown. An
`*_id` is a number from 1 that is unique in its process; 0 stands for "none". A `*_handle` is the address
of an OpenCL object; the driver may reuse it after the object is released.
"""

from typing import Final

NS_PER_S: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000

DEFAULT_CALLSITE_DEPTH: Final = 64
"""Largest number of the program's frames that a recording keeps per call."""
MAX_CALLSITE_DEPTH: Final = 128
"""Most frames of a stack that hooks and the layer (`settings.h`) record, and that are read."""
