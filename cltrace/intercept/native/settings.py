"""Settings of the layer: a text file in the parts directory, which C code reads without a parser.

A line is a key, a space and a value, which extends to the end of the line. The keys:

    library              path       the layer's library
    record_python        yes, no    record calls in processes that run Python
    record_source        yes, no    record sources, options and logs of programs
    record_arguments     yes, no    record arguments of kernels and of the command line
    record_environment   yes, no    record the environment variables of `record_variable`
    force_profiling      yes, no    enable profiling on queues
    follow_children      yes, no    record forks of the command and programs that it starts
    start_paused         yes, no    record nothing until the program resumes the recording
    capture_contents     yes, no    record contents of small buffers that the host writes, and indices
    callsite_depth       number     most frames per call; C code has one at most, 0 records none
    began_host_ns        number     begin of the recording on CLOCK_MONOTONIC
    delay_ns             number     time after which calls are recorded
    duration_ns          number     time for which calls are recorded from then; -1 without limit
    max_commands         number     number of calls after which recording pauses; -1 without limit
    capture_bytes        number     record contents of all large ones, up to so many bytes; 0: indices
    include_kernel       glob       record launches of these kernels only; repeatable
    exclude_kernel       glob       do not record launches of these kernels; repeatable
    record_variable      glob       name of an environment variable that may be recorded; repeatable
    rank_variable        name       environment variable that may hold the rank; repeatable

In one process either the hooks of pyopencl or the layer record the calls of pyopencl, so each command is
recorded once. With `record_python` the layer does, where pyopencl's loader takes layers (`library`).
"""

import os
from collections.abc import Iterator
from pathlib import Path

from cltrace.events import NS_PER_S
from cltrace.intercept.native.environment import (
    LAYER_SETTINGS_FILE,
    LIBRARY_KEY,
    PYTHON_KEY,
    YES,
)
from cltrace.intercept.process_facts import RECORDED_VARIABLES
from cltrace.intercept.ranks import RANK_VARIABLES
from cltrace.spool.layout import FILE_MODE
from cltrace.spool.settings import Settings


def write_layer_settings(
    parts: Path, settings: Settings, began_host_ns: int, *, library: Path, record_python: bool
) -> None:
    """Write the settings for processes that join the recording in `parts`. Raises: `OSError`."""
    values = _values(settings, began_host_ns, record_python=record_python)
    lines = (
        f"{key} {value}\n"
        for key, value in ((LIBRARY_KEY, str(library)), *values)
        if "\n" not in value
    )
    descriptor = os.open(
        parts / LAYER_SETTINGS_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE
    )
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(lines)


def _values(
    settings: Settings, began_host_ns: int, *, record_python: bool
) -> Iterator[tuple[str, str]]:
    flags = {
        PYTHON_KEY: record_python,
        "record_source": settings.record_source,
        "record_arguments": settings.record_arguments,
        "record_environment": settings.record_environment,
        "force_profiling": settings.force_profiling,
        "follow_children": settings.follow_children,
        "start_paused": settings.start_paused,
        "capture_contents": settings.capture_contents,
    }
    duration, limit = settings.duration_s, settings.max_commands
    numbers = {
        "callsite_depth": settings.callsite_depth,
        "began_host_ns": began_host_ns,
        "delay_ns": round(settings.delay_s * NS_PER_S),
        "duration_ns": -1 if duration is None else round(duration * NS_PER_S),
        "max_commands": -1 if limit is None else limit,
        "capture_bytes": settings.capture_bytes,
    }
    yield from ((key, YES if flag else "no") for key, flag in flags.items())
    yield from ((key, str(number)) for key, number in numbers.items())
    yield from (("include_kernel", glob) for glob in settings.include_kernels)
    yield from (("exclude_kernel", glob) for glob in settings.exclude_kernels)
    yield from (("record_variable", name) for name in RECORDED_VARIABLES)
    yield from (("rank_variable", name) for name in RANK_VARIABLES)
