"""Recorded events of the kernels of `inside.cl`."""

import numpy as np

from cltrace.kernels import (
    Argument,
    BufferArgument,
    Program,
    parse,
)
from cltrace.kernels.events.capture import record_events
from cltrace.kernels.events.proxy_warps import find_proxy_warps
from cltrace.kernels.events.recording_request import KernelLaunch
from cltrace.kernels.events.records import LaunchEvents
from tests.kernels.cases import SOURCES

ITEMS = 1024
SUMS = ("sum_by_modulo", "sum_by_stride", "sum_by_halves")


def inside_program(group: int = 64, barrier: str = "barrier(CLK_LOCAL_MEM_FENCE)") -> Program:
    source = (SOURCES / "inside.cl").read_text(encoding="utf-8")
    return parse(source, [f"-DGROUP={group}", f"-DSUM_BARRIER={barrier}"])


def record_sum(
    kernel: str, group: int, *, barrier: str = "barrier(CLK_LOCAL_MEM_FENCE)"
) -> LaunchEvents:
    arguments: list[Argument] = [
        BufferArgument(4 * ITEMS, np.ones(ITEMS, np.float32)),
        BufferArgument(4 * ITEMS),
        ITEMS,
    ]
    return record_events(
        KernelLaunch(inside_program(group, barrier), kernel, (ITEMS,), (group,), arguments)
    )


def record_tile(columns: int) -> LaunchEvents:
    image = np.zeros((256, 256), np.uint8)
    arguments: list[Argument] = [
        BufferArgument(image.nbytes, image),
        BufferArgument(1 << 20),
        BufferArgument(1 << 18),
        256,
        256,
    ]
    return record_events(
        KernelLaunch(inside_program(), "load_tile", (256, 256), (columns, 8), arguments)
    )


def proxies_of(events: LaunchEvents) -> list[tuple[int, int]]:
    return [(len(proxy.warps), len(proxy.shares)) for proxy in find_proxy_warps(events)]
