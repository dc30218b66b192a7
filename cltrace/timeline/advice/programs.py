"""Rules about programs, memory objects and entry points."""

from collections import Counter, defaultdict
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.advice.model import (
    Advice,
    Material,
    seen_bytes,
    seen_count,
    seen_ns,
)

_DEPRECATED: Final = {
    Api.clEnqueueMarker: "enqueue_marker with wait_for=",
    Api.clEnqueueBarrier: "enqueue_barrier with wait_for=",
    Api.clEnqueueWaitForEvents: "enqueue_barrier with wait_for=",
}


def rebuilt_programs(material: Material) -> list[Advice]:
    """The same source built with the same options for the same device more than once."""
    durations: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for build in material.builds:
        durations[build.source, build.options, build.device].append(build.duration_ns)
    found = []
    for (source, _, _), took in durations.items():
        if len(took) < 2 or not source:
            continue
        again = sum(sorted(took)[:-1])
        first_line = next((line.strip() for line in source.splitlines() if line.strip()), "")
        found.append(
            Advice(
                "rebuilt-program",
                f"The same program is built again: {first_line[:40]}",
                "",
                len(took) - 1,
                again,
                (seen_count("builds", len(took)), seen_ns("all but the longest took", again)),
                "build once and keep the program",
            )
        )
    return sorted(found, key=lambda one: -(one.cost_ns or 0))


def leaks(material: Material) -> list[Advice]:
    """Memory objects that were never destroyed though nothing held them at the end."""
    count: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for one in material.memory.values():
        if one.fate == "leaked":
            count[one.site] += 1
            size[one.site] += one.size_bytes
    return [
        Advice(
            "leak",
            "Memory that is never released",
            site,
            times,
            None,
            (seen_count("objects", times), seen_bytes("together", size[site])),
            "release them, or drop the last reference to them, when they are no longer used",
        )
        for site, times in count.most_common()
    ]


def deprecated_calls(material: Material) -> list[Advice]:
    """Entry points that OpenCL has replaced."""
    commands = material.activity.commands
    found = []
    for api, instead in _DEPRECATED.items():
        members = np.flatnonzero(commands.api == int(api))
        if len(members):
            found.append(
                Advice(
                    "deprecated-call",
                    f"{api.name} is deprecated",
                    material.activity.names.sites.get(int(commands.site[members[0]]), ""),
                    len(members),
                    None,
                    (seen_count("calls", len(members)),),
                    f"use {instead}",
                )
            )
    return found
