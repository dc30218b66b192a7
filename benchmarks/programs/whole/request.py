"""Request of a program: `STEPS PROFILING PLATFORM` on its command line.

STEPS is its amount of work. PROFILING is 1 for queues with profiling, else 0. PLATFORM is a part of the
name of a platform.
"""

import sys
from dataclasses import dataclass
from typing import Any, Final

import pyopencl as cl


@dataclass(frozen=True, slots=True)
class Request:
    """The amount of work, the device with its platform's number, and the properties of queues."""

    steps: int
    device: cl.Device
    platform_number: int
    queue_properties: Any

    def make_queue(self) -> cl.CommandQueue:
        """Return a queue in a context of its own."""
        return cl.CommandQueue(cl.Context([self.device]), properties=self.queue_properties)


def read_request() -> Request:
    """Return the request of the command line."""
    steps, profiling, platform_part = int(sys.argv[1]), sys.argv[2] == "1", sys.argv[3]
    for number, platform in enumerate(cl.get_platforms()):
        if platform_part.lower() in platform.name.lower():
            properties = cl.command_queue_properties.PROFILING_ENABLE if profiling else _NONE
            return Request(steps, platform.get_devices()[0], number, properties)
    sys.exit(f"no platform named {platform_part!r}")


_NONE: Final = 0
