"""Builds of programs as steps of the critical path, apart from the host's other work."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.report.tracks.scene import NONE
from cltrace.timeline.activity import Calls
from cltrace.timeline.columns import Int64s
from cltrace.timeline.critical_path import PathStep, StepKind

BUILDS: Final = (Api.clBuildProgram, Api.clCompileProgram, Api.clLinkProgram)


def split_at_builds(steps: Sequence[PathStep], calls: Calls) -> tuple[tuple[PathStep, ...], Int64s]:
    """Return the steps with those of the host split where its thread built a program.

    Also return the entry point of each step that is a build, `NONE` for the others.
    """
    builds = np.flatnonzero(calls.is_api(*BUILDS))
    by_thread: dict[int, list[int]] = {}
    for build in builds[np.argsort(calls.enter_ns[builds], kind="stable")].tolist():
        by_thread.setdefault(int(calls.thread[build]), []).append(build)
    parts: list[tuple[PathStep, int]] = []
    for step in steps:
        own = by_thread.get(step.thread, []) if step.kind is StepKind.HOST else []
        parts.extend(_parts(step, own, calls))
    return tuple(step for step, _ in parts), np.array([api for _, api in parts], np.int64)


def _parts(step: PathStep, builds: Sequence[int], calls: Calls) -> Iterator[tuple[PathStep, int]]:
    """Yield the parts of a step of the host: builds, in the order of their begin, and what is between."""
    since = step.begin_ns
    for build in builds:
        begin = max(int(calls.enter_ns[build]), since)
        end = min(int(calls.return_ns[build]), step.end_ns)
        if begin >= end:
            continue
        if begin > since:
            yield replace(step, begin_ns=since, end_ns=begin), NONE
        yield replace(step, begin_ns=begin, end_ns=end), int(calls.api[build])
        since = end
    if since < step.end_ns or since == step.begin_ns:
        yield replace(step, begin_ns=since), NONE
