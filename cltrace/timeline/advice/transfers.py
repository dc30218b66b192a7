"""Rules about data transfers."""

from collections import defaultdict
from typing import Final

import numpy as np

from cltrace.timeline.advice.model import (
    HOST_MEMORY,
    MIN_OCCURRENCES,
    Advice,
    Evidence,
    metric_bytes,
    metric_count,
    metric_ns,
    sum_by_site,
)
from cltrace.timeline.busy import BusyTime, device_busy_times
from cltrace.trace.commands import ABSENT

_TINY_BYTES: Final = 4096
_MIN_TINY: Final = 32
_LARGE_BYTES: Final = 1 << 20
_MIN_SHARE: Final = 0.1
_MAX_OVERLAP_SHARE: Final = 0.1
_MIN_BUSY_SHARE: Final = 0.5


def tiny_transfers(evidence: Evidence) -> list[Advice]:
    """Find sites with many small transfers: each costs a call, whatever its size."""
    commands = evidence.activity.commands
    is_tiny = (commands.size_bytes >= 0) & (commands.size_bytes <= _TINY_BYTES)
    chosen = np.flatnonzero(commands.is_kind("read", "write") & is_tiny)
    took = (commands.return_ns - commands.enter_ns)[chosen]
    return [
        Advice(
            rule="tiny-transfers",
            title="Many small transfers",
            site=site,
            times=times,
            cost_ns=cost_ns,
            metrics=(
                metric_count(f"reads or writes of at most {_TINY_BYTES} bytes", times),
                metric_ns("in the calls", cost_ns),
            ),
            remedy="gather them into one buffer, or pass small values as kernel arguments",
        )
        for site, times, cost_ns in sum_by_site(evidence.activity, commands.site[chosen], took)
        if times >= _MIN_TINY
    ]


def redundant_transfers(evidence: Evidence) -> list[Advice]:
    """Find writes that the next write replaces unused, and reads of data that cannot have changed."""
    commands = evidence.activity.commands
    chosen = np.array(_find_redundant(evidence), np.int64)
    if not len(chosen):
        return []
    took = np.where(
        commands.duration_ns[chosen] == ABSENT,
        (commands.return_ns - commands.enter_ns)[chosen],
        commands.duration_ns[chosen],
    )
    return [
        Advice(
            rule="redundant-transfer",
            title="The same data is transferred again",
            site=site,
            times=times,
            cost_ns=cost_ns,
            metrics=(metric_count("reads of unchanged data, or writes over unused data", times),),
            remedy="move the transfer out of the loop, or keep the data that was read",
        )
        for site, times, cost_ns in sum_by_site(evidence.activity, commands.site[chosen], took)
        if times >= MIN_OCCURRENCES
    ]


def _find_redundant(evidence: Evidence) -> list[int]:
    """Return positions of redundant transfers. Images, sub-buffers and their parents are not tracked."""
    commands = evidence.activity.commands
    kinds = {kind: commands.is_kind(kind).tolist() for kind in ("read", "write", "kernel")}
    columns = zip(
        commands.source_buffer.tolist(),
        commands.target_buffer.tolist(),
        commands.source_offset_bytes.tolist(),
        commands.target_offset_bytes.tolist(),
        commands.size_bytes.tolist(),
        commands.launch.tolist(),
        strict=True,
    )
    # The trace does not have the origins of image transfers.
    images = {number for number, memory in evidence.memory.items() if memory.kind == "image"}
    untracked = {int(ABSENT), *evidence.parents.values(), *evidence.parents, *images}
    fresh_reads: dict[int, set[tuple[int, int]]] = defaultdict(set)
    unused_writes: dict[int, set[tuple[int, int]]] = defaultdict(set)
    redundant = []
    for at, (source, target, source_offset, target_offset, size, launch) in enumerate(columns):
        if kinds["read"][at] and source not in untracked:
            unused_writes.pop(source, None)
            if (source_offset, size) in fresh_reads[source]:
                redundant.append(at)
            fresh_reads[source].add((source_offset, size))
        elif kinds["write"][at] and target not in untracked:
            fresh_reads.pop(target, None)
            if (target_offset, size) in unused_writes[target]:
                redundant.append(at)
            unused_writes[target].add((target_offset, size))
        elif kinds["kernel"][at] and launch in evidence.used_buffers:
            for used in evidence.used_buffers[launch]:
                fresh_reads.pop(used, None)
                unused_writes.pop(used, None)
        else:
            # The accesses of other kinds of commands are not tracked: any data may have changed.
            fresh_reads.clear()
            unused_writes.clear()
    return redundant


def copied_host_memory(evidence: Evidence) -> list[Advice]:
    """Find large copies through memory that the driver has to copy once more, or could share."""
    commands = evidence.activity.commands
    if any(memory.flags & HOST_MEMORY for memory in evidence.memory.values()):
        return []  # the program has pinned memory, and the arrays in it are not recorded
    is_large = commands.size_bytes >= _LARGE_BYTES
    findings = []
    for number, device in evidence.devices.items():
        chosen = np.flatnonzero(
            commands.is_kind("read", "write") & is_large & (commands.device == number)
        )
        took = np.maximum(commands.duration_ns[chosen], 0)
        remedy = (
            "use CL_MEM_USE_HOST_PTR or map the buffer: the device works in the host's memory"
            if device.kind == "CPU"
            else "create the host array in a mapped CL_MEM_ALLOC_HOST_PTR buffer: pinned memory is "
            "copied directly"
        )
        for site, times, cost_ns in sum_by_site(evidence.activity, commands.site[chosen], took):
            if times >= MIN_OCCURRENCES:
                metrics = (
                    metric_count("copies of at least 1 MiB", times),
                    metric_bytes("over all places", int(commands.size_bytes[chosen].sum())),
                )
                findings.append(
                    Advice(
                        rule="pageable-copy",
                        title="Large copies of pageable host memory",
                        site=site,
                        times=times,
                        cost_ns=cost_ns,
                        metrics=metrics,
                        remedy=remedy,
                    )
                )
    return findings


def unoverlapped_transfers(evidence: Evidence) -> list[Advice]:
    """Find transfers that alternate with kernels although they could run at the same time."""
    activity = evidence.activity
    commands = activity.commands
    findings = []
    for busy in device_busy_times(activity):
        apart_ns = busy.transfer_ns - busy.both_ns
        device = evidence.devices.get(busy.number)
        if device is None or device.kind == "CPU" or busy.busy_ns < _MIN_BUSY_SHARE * busy.span_ns:
            continue  # copies of a CPU use the cores that kernels use; an idle device has time
        if not _alternates(busy):
            continue
        is_transfer = (
            commands.is_placed
            & (commands.device == busy.number)
            & commands.is_kind("read", "write")
        )
        durations_ns = commands.duration_ns[is_transfer]
        sites = sum_by_site(activity, commands.site[is_transfer], durations_ns)
        if not sites or is_transfer.sum() < MIN_OCCURRENCES:
            continue
        findings.append(
            Advice(
                rule="unoverlapped-transfers",
                title="Transfers and kernels take turns",
                site=sites[0][0],
                times=int(is_transfer.sum()),
                cost_ns=min(apart_ns, busy.compute_ns),
                metrics=(
                    metric_ns("transfers", busy.transfer_ns),
                    metric_ns("kernels", busy.compute_ns),
                    metric_ns("both at once", busy.both_ns),
                ),
                remedy="use a second queue for transfers, two alternating buffers, and wait_for= "
                "between them",
            )
        )
    return findings


def _alternates(busy: BusyTime) -> bool:
    """Return whether transfers and kernels both take much time, and little of it at once."""
    min_ns = _MIN_SHARE * busy.busy_ns
    return (
        busy.transfer_ns >= min_ns
        and busy.compute_ns >= min_ns
        and busy.both_ns <= _MAX_OVERLAP_SHARE * busy.transfer_ns
    )
