"""Evidence for rules of advice, of activities made up by hand."""

from collections.abc import Mapping, Sequence

import numpy as np

from cltrace.timeline.advice.model import (
    DeviceSummary,
    Evidence,
    LaunchConfiguration,
    MemoryObject,
    Place,
)
from cltrace.timeline.blocked_enqueues import find_blocked_enqueues
from cltrace.timeline.dependencies import find_dependencies
from cltrace.timeline.memory_moves import find_memory_moves
from cltrace.timeline.replay import find_host_events
from tests.activities import Call, Run, activity


def evidence_of(
    runs: Sequence[Run],
    calls: Sequence[Call] = (),
    *,
    used_buffers: Mapping[int, frozenset[int]] | None = None,
    configurations: Mapping[int, LaunchConfiguration] | None = None,
    devices: Mapping[int, DeviceSummary] | None = None,
    memory: Mapping[int, MemoryObject] | None = None,
    places: Mapping[int, Place] | None = None,
) -> Evidence:
    """Return the evidence of some commands and calls, without dropped events."""
    made = activity(runs, calls)
    dependencies = find_dependencies(made)
    dropped = np.empty(0, np.int64)
    used = used_buffers or {}
    return Evidence(
        activity=made,
        dependencies=dependencies,
        builds=(),
        configurations=configurations or {},
        memory=memory or {},
        devices=devices or {},
        used_buffers=used,
        constant_buffers={},
        moves=find_memory_moves(made, used, {}, find_blocked_enqueues(made, dependencies)),
        parents={},
        places=places or {},
        dropped=dropped,
        events=find_host_events(made, dependencies, dropped),
        pyopencl_below=frozenset(),
    )
