"""Rules about moving data."""

from collections import defaultdict
from typing import Final

import numpy as np

from cltrace.timeline.advice.model import (
    FEW,
    HOST_MEMORY,
    Advice,
    Material,
    by_site,
    seen_bytes,
    seen_count,
    seen_ns,
)
from cltrace.timeline.busy import busy_devices
from cltrace.trace.commands import ABSENT

_TINY_BYTES: Final = 4096
_MANY: Final = 32
_LARGE_BYTES: Final = 1 << 20
_MUCH: Final = 0.1
_LITTLE: Final = 0.1
_BUSY: Final = 0.5


def tiny_transfers(material: Material) -> list[Advice]:
    """Many transfers of little: each costs a call, whatever it moves."""
    commands = material.activity.commands
    is_tiny = (commands.size_bytes >= 0) & (commands.size_bytes <= _TINY_BYTES)
    chosen = np.flatnonzero(commands.are("read", "write") & is_tiny)
    took = (commands.return_ns - commands.enter_ns)[chosen]
    return [
        Advice(
            "tiny-transfers",
            "Many small transfers",
            site,
            times,
            cost_ns,
            (
                seen_count(f"reads or writes of at most {_TINY_BYTES} bytes", times),
                seen_ns("in the calls", cost_ns),
            ),
            "gather them into one buffer, or pass small values as kernel arguments",
        )
        for site, times, cost_ns in by_site(material.activity, commands.site[chosen], took)
        if times >= _MANY
    ]


def redundant_transfers(material: Material) -> list[Advice]:
    """Writes that the next write replaces unused, and reads of what cannot have changed."""
    commands = material.activity.commands
    chosen = np.array(_redundant(material), np.int64)
    if not len(chosen):
        return []
    took = np.where(
        commands.duration_ns[chosen] == ABSENT,
        (commands.return_ns - commands.enter_ns)[chosen],
        commands.duration_ns[chosen],
    )
    return [
        Advice(
            "redundant-transfer",
            "The same data is moved again",
            site,
            times,
            cost_ns,
            (seen_count("reads of what had not changed, or writes over what was not used", times),),
            "move the transfer out of the loop, or keep what was read",
        )
        for site, times, cost_ns in by_site(material.activity, commands.site[chosen], took)
        if times >= FEW
    ]


def _redundant(material: Material) -> list[int]:
    """Positions of redundant transfers. Only buffers without parts are followed, and no images."""
    commands = material.activity.commands
    kinds = {kind: commands.are(kind).tolist() for kind in ("read", "write", "kernel")}
    columns = zip(
        commands.source_buffer.tolist(),
        commands.target_buffer.tolist(),
        commands.source_offset_bytes.tolist(),
        commands.target_offset_bytes.tolist(),
        commands.size_bytes.tolist(),
        commands.launch.tolist(),
        strict=True,
    )
    # Of images the trace does not have the origin of what is moved.
    images = {number for number, one in material.memory.items() if one.kind == "image"}
    unfollowed = {int(ABSENT), *material.parents.values(), *material.parents, *images}
    fresh_reads: dict[int, set[tuple[int, int]]] = defaultdict(set)
    unused_writes: dict[int, set[tuple[int, int]]] = defaultdict(set)
    found = []
    for at, (source, target, source_offset, target_offset, size, launch) in enumerate(columns):
        if kinds["read"][at] and source not in unfollowed:
            unused_writes.pop(source, None)
            if (source_offset, size) in fresh_reads[source]:
                found.append(at)
            fresh_reads[source].add((source_offset, size))
        elif kinds["write"][at] and target not in unfollowed:
            fresh_reads.pop(target, None)
            if (target_offset, size) in unused_writes[target]:
                found.append(at)
            unused_writes[target].add((target_offset, size))
        elif kinds["kernel"][at] and launch in material.used_buffers:
            for used in material.used_buffers[launch]:
                fresh_reads.pop(used, None)
                unused_writes.pop(used, None)
        else:
            # What a command of another kind touches is not followed: anything may have changed.
            fresh_reads.clear()
            unused_writes.clear()
    return found


def copied_host_memory(material: Material) -> list[Advice]:
    """Large copies through memory that the driver has to copy once more, or could share."""
    commands = material.activity.commands
    if any(one.flags & HOST_MEMORY for one in material.memory.values()):
        return []  # the program has pinned memory: which array is in it is not known
    is_large = commands.size_bytes >= _LARGE_BYTES
    found = []
    for number, device in material.devices.items():
        chosen = np.flatnonzero(
            commands.are("read", "write") & is_large & (commands.device == number)
        )
        took = np.maximum(commands.duration_ns[chosen], 0)
        remedy = (
            "use CL_MEM_USE_HOST_PTR or map the buffer: the device works in the host's memory"
            if device.kind == "CPU"
            else "make the host array in a mapped CL_MEM_ALLOC_HOST_PTR buffer: pinned memory is copied "
            "without a detour"
        )
        for site, times, cost_ns in by_site(material.activity, commands.site[chosen], took):
            if times >= FEW:
                evidence = (
                    seen_count("copies of at least 1 MiB", times),
                    seen_bytes("over all places", int(commands.size_bytes[chosen].sum())),
                )
                found.append(
                    Advice(
                        "pageable-copy",
                        "Large copies of ordinary host memory",
                        site,
                        times,
                        cost_ns,
                        evidence,
                        remedy,
                    )
                )
    return found


def unoverlapped_transfers(material: Material) -> list[Advice]:
    """Transfers that take their turn with kernels where they could run beside them."""
    activity = material.activity
    commands = activity.commands
    found = []
    for busy in busy_devices(activity):
        apart = busy.transfer_ns - busy.both_ns
        device = material.devices.get(busy.number)
        if device is None or device.kind == "CPU" or busy.busy_ns < _BUSY * busy.span_ns:
            continue  # copies of a CPU use the cores that kernels use; an idle device has time
        if busy.transfer_ns < _MUCH * busy.busy_ns or busy.compute_ns < _MUCH * busy.busy_ns:
            continue
        if busy.both_ns > _LITTLE * busy.transfer_ns:
            continue
        here = commands.is_placed & (commands.device == busy.number) & commands.are("read", "write")
        sites = by_site(activity, commands.site[here], commands.duration_ns[here])
        if not sites or here.sum() < FEW:
            continue
        found.append(
            Advice(
                "unoverlapped-transfers",
                "Transfers and kernels take turns",
                sites[0][0],
                int(here.sum()),
                min(apart, busy.compute_ns),
                (
                    seen_ns("transfers", busy.transfer_ns),
                    seen_ns("kernels", busy.compute_ns),
                    seen_ns("both at once", busy.both_ns),
                ),
                "use a second queue for transfers, two buffers that take turns, and wait_for= between",
            )
        )
    return found
