"""Rules about memory objects and entry points, which save no time."""

from collections import Counter
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.advice.model import (
    Evidence,
    Place,
    Proposal,
    Remedy,
    metric_bytes,
    metric_count,
)

_REPLACEMENTS: Final = {
    Api.clEnqueueMarker: "enqueue_marker with wait_for=",
    Api.clEnqueueBarrier: "enqueue_barrier with wait_for=",
    Api.clEnqueueWaitForEvents: "enqueue_barrier with wait_for=",
}


def leaks(evidence: Evidence) -> list[Proposal]:
    """Find memory objects that were never released although nothing referred to them at the end."""
    count: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for memory in evidence.memory.values():
        if memory.fate == "leaked":
            count[memory.site] += 1
            size[memory.site] += memory.size_bytes
    return [
        Proposal(
            rule="leak",
            title="Memory that is never released",
            place=Place(site),
            times=times,
            metrics=(metric_count("objects", times), metric_bytes("together", size[site])),
            remedy=Remedy(
                "Release them, or drop the last reference to them, when they are no longer used.",
                "kept.append(cl.Buffer(context, flags, size))",
                "buffer.release()",
            ),
        )
        for site, times in count.most_common()
    ]


def deprecated_calls(evidence: Evidence) -> list[Proposal]:
    """Find calls of entry points that OpenCL has replaced."""
    commands = evidence.activity.commands
    proposals = []
    for api, replacement in _REPLACEMENTS.items():
        members = np.flatnonzero(commands.api == int(api))
        if len(members):
            proposals.append(
                Proposal(
                    rule="deprecated-call",
                    title=f"{api.name} is deprecated",
                    place=evidence.places.get(int(commands.site[members[0]]), Place("")),
                    times=len(members),
                    metrics=(metric_count("calls", len(members)),),
                    remedy=Remedy(f"Use {replacement}."),
                )
            )
    return proposals
