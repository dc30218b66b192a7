"""The device that all programs of this directory run on, and how often they repeat a step."""

import os
from collections.abc import Callable

import pyopencl as cl

REPEATS = 6
"""Calls of each step: the first one builds and warms up."""


def choose_device() -> tuple[int, int, cl.Device]:
    """Return the number of a platform whose name contains `OTHERS_PLATFORM`, 0, and its first device."""
    wanted = os.environ.get("OTHERS_PLATFORM", "NVIDIA")
    for number, platform in enumerate(cl.get_platforms()):
        if wanted in platform.name:
            return number, 0, platform.get_devices()[0]
    raise SystemExit(f"no platform is named {wanted}")


def choose_sizes(*sizes: int) -> tuple[int, ...]:
    """Return the sizes of a step, all but the smallest left out where `OTHERS_SHORT` is set."""
    return sizes[:1] if os.environ.get("OTHERS_SHORT") else sizes


def repeat(name: str, step: Callable[[], object]) -> None:
    """Call a step several times, and go on where a library refuses it."""
    try:
        for _ in range(REPEATS):
            step()
    except Exception as error:  # noqa: BLE001 - whatever a library does with this driver
        print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
