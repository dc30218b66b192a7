"""Rule about programs that are built more than once."""

from collections import defaultdict
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.activity import Activity
from cltrace.timeline.advice.model import (
    BuildStep,
    Evidence,
    Place,
    Proposal,
    Remedy,
    metric_count,
    metric_ns,
)
from cltrace.timeline.columns import Int64s
from cltrace.timeline.replay import Change
from cltrace.trace.commands import FIRST_LAUNCH

_MAX_NAMES: Final = 2
_CREATING: Final = (
    Api.clCreateProgramWithSource,
    Api.clCreateProgramWithBinary,
    Api.clBuildProgram,
    Api.clCreateKernel,
)


def rebuilt_programs(evidence: Evidence) -> list[Proposal]:
    """Find sources that were built with the same options for the same device more than once."""
    builds: dict[tuple[str, str, int], list[BuildStep]] = defaultdict(list)
    for build in evidence.builds:
        builds[build.source, build.options, build.device].append(build)
    return [
        _proposal(evidence, source, steps)
        for (source, _, _), steps in builds.items()
        if len(steps) > 1 and source
    ]


def _proposal(evidence: Evidence, source: str, steps: list[BuildStep]) -> Proposal:
    calls = evidence.activity.calls
    repeated = [step for step in steps if step is not steps[0]]
    positions = np.array([step.call for step in repeated if step.call >= 0], np.int64)
    places = [place for place, _ in evidence.by_place(calls.site[positions], positions)]
    programs = {step.program for step in steps}
    compiled = _first_launches(evidence, programs)
    first_launches = _repeated(evidence, compiled)
    calls_of_builds = _creating_calls(evidence.activity, positions)
    return Proposal(
        rule="rebuilt-program",
        title=f"The same program is built again: {_name(evidence, source, programs)}",
        place=places[0] if places else Place(""),
        times=len(repeated),
        metrics=(
            metric_count("builds", len(steps)),
            metric_ns("all but the first took", sum(step.duration_ns for step in repeated)),
            metric_ns(
                "with the calls that create programs and kernels",
                int((calls.return_ns - calls.enter_ns)[calls_of_builds].sum()),
            ),
            *(
                [metric_count("of their kernels compiled again at launches", len(first_launches))]
                if len(first_launches)
                else []
            ),
        ),
        remedy=Remedy(
            "Build once, before the loop, and keep the program and its kernels.",
            "for x in data: cl.Program(context, source).build().step(queue, n, None, x)",
            "for x in data: step(queue, n, None, x)",
        ),
        change=Change(removed_calls=calls_of_builds, prompt=first_launches),
        least=Change(removed_calls=positions),
        # A driver that builds in one thread delays the first compilation by the second build.
        most=Change(removed_calls=calls_of_builds, prompt=compiled),
    )


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
    creates = calls.is_api(*_CREATING)
    chosen = set(builds.tolist())
    for build in builds.tolist():
        for at in (build - 2, build - 1, build + 1):
            if 0 <= at < len(calls) and creates[at] and calls.thread[at] == calls.thread[build]:
                chosen.add(at)
    return np.array(sorted(chosen), np.int64)
