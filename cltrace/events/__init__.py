"""The vocabulary: what a traced process can report. Facts only; nothing here is interpreted.

Two shapes carry them. *Records* (`events.records`) are frozen and few: a device, a program, a
launch configuration. *Row tables* (`events.tables`) are columns of 64-bit integers and can be many
millions: commands, stamps, buffers.

Names say the unit and the clock. `host_ns` is `CLOCK_MONOTONIC` of the machine that the process ran
on (`time.perf_counter_ns()`); `device_ns` is the device's own profiling counter, whose zero is
unknown. An `*_id` is a number that one process gave, from 1; 0 is "none". A `*_handle` is the
address of an OpenCL object, which a driver may use again once the object is gone.
"""

from typing import Final

NS_PER_S: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000
