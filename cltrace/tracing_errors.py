"""Exceptions that a traced program needs, whose addresses may be limited. `errors` has them all."""

from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit status of cltrace. `run` otherwise returns the traced program's status."""

    OK = 0
    REGRESSION = 1
    """Only `check`: a confirmed regression."""
    USAGE = 2
    """A usage error, or an input that cannot be read."""
    UNDECIDED = 3
    BENCHMARK_FAILED = 4
    INTERNAL = 70
    """A defect of cltrace itself (`EX_SOFTWARE`)."""
    REFUSED = 125
    """Only `run`: cltrace refused or failed before the program started."""
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127


class CltraceError(Exception):
    """Any error that cltrace reports to its user, in one line."""

    exit_status: ExitStatus = ExitStatus.USAGE


class SpoolError(CltraceError):
    """The parts of a recording cannot be read or written."""


class LayerError(CltraceError):
    """The native OpenCL layer cannot be built, or the cache of built layers is not safe."""


class TracingError(CltraceError):
    """Tracing cannot start in this process."""
