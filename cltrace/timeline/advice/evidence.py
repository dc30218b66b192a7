"""Reading from a trace what rules look at."""

import json
from collections import defaultdict
from typing import Final

from cltrace.timeline.activity import Activity
from cltrace.timeline.advice.model import Build, Configuration, Device, Material, Memory
from cltrace.timeline.dependencies import Dependencies
from cltrace.trace.reader import Trace

_HOLDS_MEMORY: Final = frozenset({"buffer", "image", "svm", "unknown"})


def read_material(trace: Trace, activity: Activity, needs: Dependencies) -> Material:
    """What rules look at, of a trace whose activity has been read."""
    used = _arguments(trace)
    memory = {
        int(number): Memory(str(kind), int(flags), int(size), str(site or ""), str(fate))
        for number, kind, flags, size, site, fate in trace.rows(
            "SELECT buffer_id, kind, flags, size_bytes, site, fate FROM v_buffer"
        )
    }
    devices = {
        int(number): Device(str(name), str(kind), units)
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
    return Material(
        activity=activity,
        needs=needs,
        builds=_builds(trace),
        configurations=_configurations(trace),
        memory=memory,
        devices=devices,
        used_buffers=used,
        parents=parents,
    )


def _builds(trace: Trace) -> tuple[Build, ...]:
    return tuple(
        Build(str(source or ""), str(options), int(device or 0), int(duration))
        for source, options, device, duration in trace.rows(
            "SELECT p.source, b.options, b.device_id, b.duration_ns FROM v_build b "
            "JOIN v_program p USING (program_id) WHERE b.status = 0 AND b.api = 'clBuildProgram'"
        )
    )


def _configurations(trace: Trace) -> dict[int, Configuration]:
    rows = trace.rows(
        "SELECT l.launch_id, l.kernel, l.global_size, l.local_size, max(w.preferred_multiple) "
        "FROM v_launch l LEFT JOIN v_work_group_info w USING (kernel_id) GROUP BY l.launch_id"
    )
    found = {}
    for launch, kernel, whole, local, multiple in rows:
        sizes = sizes_of(whole)
        if sizes is not None:
            found[int(launch)] = Configuration(str(kernel or ""), sizes, sizes_of(local), multiple)
    return found


def sizes_of(text: object) -> tuple[int, ...] | None:
    """The sizes in a JSON array of whole numbers; `None` for anything else."""
    try:
        sizes = json.loads(str(text))
    except (ValueError, RecursionError):
        return None
    if not isinstance(sizes, list) or not all(type(one) is int and one > 0 for one in sizes):
        return None
    return tuple(sizes)


def _arguments(trace: Trace) -> dict[int, frozenset[int]]:
    """The memory objects of each launch whose arguments are all known."""
    used: dict[int, set[int]] = defaultdict(set)
    unknown = set()
    for launch, known in trace.rows("SELECT launch_id, arguments_known FROM v_launch"):
        used[int(launch)] = set()
        if not known:
            unknown.add(int(launch))
    for launch, kind, buffer in trace.rows(
        "SELECT launch_id, kind, buffer_id FROM v_launch_arg WHERE launch_id IS NOT NULL"
    ):
        if kind in _HOLDS_MEMORY:
            if buffer is None:
                unknown.add(int(launch))
            else:
                used[int(launch)].add(int(buffer))
    return {one: frozenset(buffers) for one, buffers in used.items() if one not in unknown}
