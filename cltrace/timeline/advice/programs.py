"""Rules about programs, memory objects and entry points."""

from collections import Counter, defaultdict
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.advice.model import (
    Advice,
    Evidence,
    metric_bytes,
    metric_count,
    metric_ns,
)

_REPLACEMENTS: Final = {
    Api.clEnqueueMarker: "enqueue_marker with wait_for=",
    Api.clEnqueueBarrier: "enqueue_barrier with wait_for=",
    Api.clEnqueueWaitForEvents: "enqueue_barrier with wait_for=",
}


def rebuilt_programs(evidence: Evidence) -> list[Advice]:
    """Find sources that were built with the same options for the same device more than once."""
    durations: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for build in evidence.builds:
        durations[build.source, build.options, build.device].append(build.duration_ns)
    findings = []
    for (source, _, _), took in durations.items():
        if len(took) < 2 or not source:
            continue
        repeated_ns = sum(sorted(took)[:-1])
        first_line = next((line.strip() for line in source.splitlines() if line.strip()), "")
        findings.append(
            Advice(
                rule="rebuilt-program",
                title=f"The same program is built again: {first_line[:40]}",
                site="",
                times=len(took) - 1,
                cost_ns=repeated_ns,
                metrics=(
                    metric_count("builds", len(took)),
                    metric_ns("all but the longest took", repeated_ns),
                ),
                remedy="build once and keep the program",
            )
        )
    return sorted(findings, key=lambda advice: -(advice.cost_ns or 0))


def leaks(evidence: Evidence) -> list[Advice]:
    """Find memory objects that were never released although nothing referred to them at the end."""
    count: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for memory in evidence.memory.values():
        if memory.fate == "leaked":
            count[memory.site] += 1
            size[memory.site] += memory.size_bytes
    return [
        Advice(
            rule="leak",
            title="Memory that is never released",
            site=site,
            times=times,
            cost_ns=None,
            metrics=(metric_count("objects", times), metric_bytes("together", size[site])),
            remedy="release them, or drop the last reference to them, when they are no longer used",
        )
        for site, times in count.most_common()
    ]


def deprecated_calls(evidence: Evidence) -> list[Advice]:
    """Find calls of entry points that OpenCL has replaced."""
    commands = evidence.activity.commands
    findings = []
    for api, replacement in _REPLACEMENTS.items():
        members = np.flatnonzero(commands.api == int(api))
        if len(members):
            findings.append(
                Advice(
                    rule="deprecated-call",
                    title=f"{api.name} is deprecated",
                    site=evidence.activity.names.sites.get(int(commands.site[members[0]]), ""),
                    times=len(members),
                    cost_ns=None,
                    metrics=(metric_count("calls", len(members)),),
                    remedy=f"use {replacement}",
                )
            )
    return findings
