"""Rule about programs that are built more than once."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.activity import Activity
from cltrace.timeline.advice.contended_builds import (
    covered_by_calls_ns,
    max_at_once,
    time_without_ns,
)
from cltrace.timeline.advice.model import (
    MIN_OCCURRENCES,
    BuildStep,
    Evidence,
    Metric,
    Place,
    Proposal,
    Remedy,
    metric_count,
    metric_ns,
    typical_count,
)
from cltrace.timeline.advice.sequences import ANY_TIME_NS, CREATING_CALLS
from cltrace.timeline.columns import Int64s
from cltrace.timeline.replay import Change, combine
from cltrace.trace.commands import FIRST_LAUNCH

_MAX_NAMES: Final = 2
_NUMBER: Final = re.compile(
    r"(?<![A-Za-z_])(?:0[xX][0-9a-fA-F]+|\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w?"
)
_MAX_LAUNCHES: Final = 2
"""Launches of a program that is built for one value. A tuner launches each of its variants more often."""
_LOOKUP_NS: Final = 500_000
"""Time of pyopencl before a build, in which it looks for the binary among those that it keeps, and before
the first launch, in which it writes the code that calls the kernel."""
_KEEP: Final = Remedy(
    "Build once, before the loop, and keep the program and its kernels.",
    "for x in data: cl.Program(context, source).build().step(queue, n, None, x)",
    "for x in data: step(queue, n, None, x)",
)
_PASS: Final = Remedy(
    "Build once, before the loop, and pass the numbers that change as arguments of the kernel.",
    "for t in times: cl.Program(context, source % t).build().step(queue, n, None, x)",
    "for t in times: step(queue, n, None, x, np.float32(t))",
)


def rebuilt_programs(evidence: Evidence) -> list[Proposal]:
    """Find sources that were built again, with the same options or with other numbers in them."""
    same = _groups(evidence.builds, lambda build: (build.source, build.options))
    repeated = [
        _proposal(evidence, steps, "The same program is built again", _KEEP)
        for steps in same
        if len(steps) > 1
    ]
    once = [steps[0] for steps in same if len(steps) == 1]
    launches = _launches_by_program(evidence)
    short_lived = [build for build in once if 0 < launches[build.program] <= _MAX_LAUNCHES]
    alike = _groups(
        short_lived,
        lambda build: (
            _NUMBER.sub("0", build.source),
            _NUMBER.sub("0", build.options),
            _place(evidence, build),
        ),
    )
    return repeated + [
        _proposal(evidence, steps, "A program is built for each number in it", _PASS)
        for steps in alike
        if len(steps) >= MIN_OCCURRENCES
    ]


def _groups(
    builds: Iterable[BuildStep], key: Callable[[BuildStep], Hashable]
) -> list[list[BuildStep]]:
    """Return the builds of sources for the same device and with the same key together."""
    groups: dict[tuple[int, Hashable], list[BuildStep]] = defaultdict(list)
    for build in builds:
        if build.source:
            groups[build.device, key(build)].append(build)
    return list(groups.values())


def _place(evidence: Evidence, build: BuildStep) -> Place:
    calls = evidence.activity.calls
    site = int(calls.site[build.call]) if build.call >= 0 else 0
    return evidence.places.get(site, Place(""))


def _launches_by_program(evidence: Evidence) -> Counter[int]:
    """Return the number of launches of each program's kernels."""
    launched = Counter(evidence.activity.commands.launch.tolist())
    count: Counter[int] = Counter()
    for launch, configuration in evidence.configurations.items():
        count[configuration.program] += launched[launch]
    return count


def _proposal(evidence: Evidence, steps: list[BuildStep], title: str, remedy: Remedy) -> Proposal:
    """Return the proposal to build once; what one place builds again has one cause."""
    calls = evidence.activity.calls
    repeated = steps[1:]
    positions = np.array([step.call for step in repeated if step.call >= 0], np.int64)
    places = [place for place, _ in evidence.by_place(calls.site[positions], positions)]
    place = places[0] if places else Place("")
    programs = {step.program for step in steps}
    compiled = _first_launches(evidence, programs)
    first_launches = _repeated(evidence, compiled)
    calls_of_builds = _creating_calls(evidence.activity, positions)
    first = np.array([step.call for step in steps[:1] if step.call >= 0], np.int64)
    alone = _built_alone(evidence.activity, first, positions)
    once = combine([_built_once(calls_of_builds, first_launches, _LOOKUP_NS), alone])
    at_best = combine([_built_once(calls_of_builds, first_launches, ANY_TIME_NS), alone])
    return Proposal(
        rule="rebuilt-program",
        title=f"{title}: {_name(evidence, steps[0].source, programs)}",
        place=place,
        times=len(repeated),
        metrics=_metrics(evidence, steps, calls_of_builds, first_launches),
        remedy=remedy,
        change=once,
        least=Change(removed_calls=positions, prompt=first_launches),
        # A driver that builds in one thread delays the first compilation by the second build.
        most=replace(at_best, prompt=compiled),
        cause=f"{place.site} {place.library}".strip(),
    )


def _built_once(calls: Int64s, first_launches: Int64s, host_ns: int) -> Change:
    """Return the change that leaves calls of builds out, and up to `host_ns` of the host before each."""
    return Change(
        removed_calls=calls,
        prompt=first_launches,
        saved_calls=calls,
        saved_calls_ns=np.full(len(calls), host_ns),
        saved_commands=first_launches,
        saved_ns=np.full(len(first_launches), host_ns),
    )


def _built_alone(activity: Activity, first: Int64s, repeated: Int64s) -> Change:
    """Return the change by which the first build takes its time without those at the same time."""
    calls = activity.calls
    took_ns = (calls.return_ns - calls.enter_ns)[first]
    alone_ns = [time_without_ns(calls, call, repeated) for call in first.tolist()]
    shorter_ns = took_ns - np.array(alone_ns, np.int64)
    is_shorter = shorter_ns > 0
    return Change(shortened_calls=first[is_shorter], shortened_ns=shorter_ns[is_shorter])


def _metrics(
    evidence: Evidence, steps: list[BuildStep], creating: Int64s, first_launches: Int64s
) -> tuple[Metric, ...]:
    calls = evidence.activity.calls
    builds = np.array([step.call for step in steps if step.call >= 0], np.int64)
    metrics: tuple[Metric, ...] = (metric_count("builds", len(steps)),)
    at_once = max_at_once(calls, builds)
    if at_once <= 1:  # none where no build has its call
        took = sum(step.duration_ns for step in steps[1:])
        created = int((calls.return_ns - calls.enter_ns)[creating].sum())
    else:
        # Builds that wait for each other take the time that they cover, each of them nearly all of it.
        alone = time_without_ns(calls, int(builds[0]), builds[1:])
        took = covered_by_calls_ns(calls, builds) - alone
        created = covered_by_calls_ns(calls, np.union1d(builds, creating)) - alone
        metrics += (typical_count("at a time at most", at_once),)
    metrics += (
        metric_ns("all but the first took", took),
        metric_ns("with the calls that create programs and kernels", created),
    )
    if not len(first_launches):
        return metrics
    label = "of their kernels compiled again at launches"
    return (*metrics, metric_count(label, len(first_launches)))


def _name(evidence: Evidence, source: str, programs: set[int]) -> str:
    """Return the kernels of some programs that were launched; the source's first line without one."""
    kernels = {
        each.kernel: None
        for each in evidence.configurations.values()
        if each.program in programs and each.kernel
    }
    if not kernels:
        first_line = next((line.strip() for line in source.splitlines() if line.strip()), "")
        return first_line[:40]
    names = ", ".join(list(kernels)[:_MAX_NAMES])
    return f"{names}, …" if len(kernels) > _MAX_NAMES else names


def _first_launches(evidence: Evidence, programs: set[int]) -> Int64s:
    """Return the first launches of kernels of some programs: drivers may compile for them."""
    commands = evidence.activity.commands
    chosen = np.flatnonzero(commands.flags & FIRST_LAUNCH != 0)
    ours = [
        command
        for command, launch in zip(chosen.tolist(), commands.launch[chosen].tolist(), strict=True)
        if (configuration := evidence.configurations.get(launch)) is not None
        and configuration.program in programs
    ]
    return np.array(ours, np.int64)


def _repeated(evidence: Evidence, first_launches: Int64s) -> Int64s:
    """Return first launches of kernels whose equals in another program had been launched before."""
    launches = evidence.activity.commands.launch
    kernels = [evidence.configurations[int(launches[each])].kernel for each in first_launches]
    is_repeated = [kernel in kernels[:at] for at, kernel in enumerate(kernels)]
    return first_launches[np.array(is_repeated, np.bool_)]


def _creating_calls(activity: Activity, builds: Int64s) -> Int64s:
    """Return the builds, and the calls right before and after them that create program and kernels."""
    calls = activity.calls
    creates = calls.is_api(*CREATING_CALLS) & ~calls.is_api(Api.clBuildProgram)
    chosen = set(builds.tolist())
    for build in builds.tolist():
        for at in (build - 2, build - 1, build + 1):
            if 0 <= at < len(calls) and creates[at] and calls.thread[at] == calls.thread[build]:
                chosen.add(at)
    return np.array(sorted(chosen), np.int64)
