"""Reader of the evidence that the rules examine."""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.events.kinds import RECORDED_BY_LAYER
from cltrace.timeline.activity import Activity
from cltrace.timeline.advice.constant_arguments import constant_arguments
from cltrace.timeline.advice.model import (
    READ_ONLY,
    BuildStep,
    DeviceSummary,
    Evidence,
    LaunchConfiguration,
    MemoryObject,
)
from cltrace.timeline.advice.places import read_places
from cltrace.timeline.blocked_enqueues import find_blocked_enqueues
from cltrace.timeline.columns import Int64s
from cltrace.timeline.dependencies import Dependencies
from cltrace.timeline.dropped_events import infer_dropped_events
from cltrace.timeline.grouping import groups
from cltrace.timeline.memory_moves import MemoryMoves, find_memory_moves
from cltrace.timeline.replay import find_host_events
from cltrace.trace.reader import Trace

_MAX_BUILD_OFFSET_NS: Final = 10_000
_MEMORY_KINDS: Final = frozenset({"buffer", "image", "svm", "unknown"})


def read_evidence(trace: Trace, activity: Activity, dependencies: Dependencies) -> Evidence:
    """Return the evidence for the rules, from a trace whose activity has been read."""
    memory = {
        int(number): MemoryObject(str(kind), int(flags), int(size), str(site or ""), str(fate))
        for number, kind, flags, size, site, fate in trace.rows(
            "SELECT buffer_id, kind, flags, size_bytes, site, fate FROM v_buffer"
        )
    }
    devices = {
        int(number): DeviceSummary(str(name), str(kind), units)
        for number, name, kind, units in trace.rows(
            "SELECT device_id, name, kind, compute_units FROM v_device"
        )
    }
    parents = {
        int(part): int(whole)
        for part, whole in trace.rows(
            "SELECT buffer_id, parent_buffer_id FROM v_buffer WHERE parent_buffer_id IS NOT NULL"
        )
    }
    used_buffers = _read_used_buffers(trace)
    pyopencl_below = _read_pyopencl_below(trace)
    dropped = _infer_dropped(trace, activity, pyopencl_below)
    return Evidence(
        activity=activity,
        dependencies=dependencies,
        builds=_read_builds(trace, activity),
        configurations=_read_configurations(trace),
        memory=memory,
        devices=devices,
        used_buffers=used_buffers,
        moves=_find_moves(activity, dependencies, memory, used_buffers),
        parents=parents,
        places=read_places(trace),
        dropped=dropped,
        events=find_host_events(activity, dependencies, dropped),
        pyopencl_below=pyopencl_below,
        constant_buffers=_read_constant_buffers(trace, memory),
        profiled_queues=_read_profiled_queues(trace),
    )


def _read_profiled_queues(trace: Trace) -> frozenset[int]:
    rows = trace.rows("SELECT queue_id FROM v_queue WHERE profiling AND NOT profiling_forced")
    return frozenset(int(number) for (number,) in rows)


def _infer_dropped(trace: Trace, activity: Activity, pyopencl_below: frozenset[int]) -> Int64s:
    """Return the commands whose dropped events pyopencl waited for without a recorded call."""
    rows = trace.rows("SELECT process_id FROM v_process WHERE pyopencl_version != ''")
    hooked = frozenset(int(number) for (number,) in rows)
    return infer_dropped_events(activity, hooked - pyopencl_below)


def _read_pyopencl_below(trace: Trace) -> frozenset[int]:
    rows = trace.rows(
        "SELECT process_id FROM v_process WHERE pyopencl_version != '' AND process_id IN "
        "(SELECT process_id FROM v_diagnostic WHERE code = :code)",
        {"code": RECORDED_BY_LAYER},
    )
    return frozenset(int(number) for (number,) in rows)


def _find_moves(
    activity: Activity,
    dependencies: Dependencies,
    memory: Mapping[int, MemoryObject],
    used_buffers: Mapping[int, frozenset[int]],
) -> MemoryMoves:
    """Return the moves of objects that kernels may change: of others each device may have a copy."""
    sizes = {
        number: each.size_bytes for number, each in memory.items() if not each.flags & READ_ONLY
    }
    blocked = find_blocked_enqueues(activity, dependencies)
    return find_memory_moves(activity, used_buffers, sizes, blocked)


def _read_builds(trace: Trace, activity: Activity) -> tuple[BuildStep, ...]:
    """Return all builds that succeeded, by their entry."""
    build_calls = _BuildCalls(activity)
    origins = activity.axis.origin_host_ns
    rows = trace.rows(
        "SELECT p.source, b.options, b.device_id, b.duration_ns, p.process_id, b.enter_host_ns, "
        "b.program_id FROM v_build b JOIN v_program p USING (program_id) "
        "WHERE b.status = 0 AND b.api = 'clBuildProgram' ORDER BY b.enter_host_ns"
    )
    return tuple(
        BuildStep(
            str(source or ""),
            str(options),
            int(device or 0),
            int(duration),
            build_calls.find(process, int(enter) - origins.get(process, 0)),
            int(program),
        )
        for source, options, device, duration, process, enter, program in rows
    )


class _BuildCalls:
    """Calls that built programs, found by their process and entry."""

    def __init__(self, activity: Activity) -> None:
        calls = activity.calls
        builds = np.flatnonzero(calls.is_api(Api.clBuildProgram))
        self._of_process = dict(groups(calls.process[builds], builds))
        self._enter_ns = calls.enter_ns

    def find(self, process: int, enter_ns: int) -> int:
        """Return the position of the call that was entered then, -1 if there is none.

        Where the native layer records calls, a build's own times are read a moment apart.
        """
        members = self._of_process.get(process)
        if members is None:
            return -1
        offsets = np.abs(self._enter_ns[members] - enter_ns)
        nearest = int(offsets.argmin())
        return int(members[nearest]) if offsets[nearest] <= _MAX_BUILD_OFFSET_NS else -1


def _read_configurations(trace: Trace) -> dict[int, LaunchConfiguration]:
    rows = trace.rows(
        "SELECT l.launch_id, l.kernel, l.global_size, l.local_size, max(w.preferred_multiple), "
        "k.program_id FROM v_launch l LEFT JOIN v_work_group_info w USING (kernel_id) "
        "LEFT JOIN v_kernel k USING (kernel_id) GROUP BY l.launch_id"
    )
    configurations = {}
    for launch, kernel, global_text, local_text, multiple, program in rows:
        global_size = parse_sizes(global_text)
        if global_size is not None:
            configurations[int(launch)] = LaunchConfiguration(
                str(kernel or ""),
                global_size,
                parse_sizes(local_text),
                multiple,
                int(program or 0),
            )
    return configurations


def parse_sizes(text: object) -> tuple[int, ...] | None:
    """Return the sizes in a JSON array of positive whole numbers; `None` for anything else."""
    try:
        sizes = json.loads(str(text))
    except (ValueError, RecursionError):
        return None
    if not isinstance(sizes, list) or not all(type(size) is int and size > 0 for size in sizes):
        return None
    return tuple(sizes)


def _read_used_buffers(trace: Trace) -> dict[int, frozenset[int]]:
    """Return the memory objects of each launch of which all arguments are recorded."""
    used: dict[int, set[int]] = defaultdict(set)
    incomplete = set()
    for launch, is_complete in trace.rows("SELECT launch_id, arguments_known FROM v_launch"):
        used[int(launch)] = set()
        if not is_complete:
            incomplete.add(int(launch))
    for launch, kind, buffer in trace.rows(
        "SELECT launch_id, kind, buffer_id FROM v_launch_arg WHERE launch_id IS NOT NULL"
    ):
        if kind in _MEMORY_KINDS:
            if buffer is None:
                incomplete.add(int(launch))
            else:
                used[int(launch)].add(int(buffer))
    return {
        launch: frozenset(buffers) for launch, buffers in used.items() if launch not in incomplete
    }


def _read_constant_buffers(
    trace: Trace, memory: Mapping[int, MemoryObject]
) -> dict[int, frozenset[int]]:
    """Return the memory objects that a launch uses and cannot change."""
    positions = {
        int(number): constant_arguments(str(source or ""), str(name or ""))
        for number, name, source in trace.rows(
            "SELECT k.kernel_id, k.name, p.source FROM v_kernel k LEFT JOIN v_program p "
            "USING (program_id)"
        )
    }
    rows = trace.rows(
        "SELECT a.launch_id, a.position, a.buffer_id, l.kernel_id FROM v_launch_arg a "
        "JOIN v_launch l USING (launch_id) WHERE a.buffer_id IS NOT NULL"
    )
    constant: dict[int, set[int]] = defaultdict(set)
    changed: dict[int, set[int]] = defaultdict(set)
    for launch, position, buffer, kernel in rows:
        known = memory.get(int(buffer))
        is_constant = position in positions.get(int(kernel or 0), ())
        is_constant |= known is not None and known.flags & READ_ONLY != 0
        (constant if is_constant else changed)[int(launch)].add(int(buffer))
    return {launch: frozenset(used - changed[launch]) for launch, used in constant.items()}
