"""Every deliberate exception of cltrace, and the one table of exit statuses.

    CltraceError                 anything cltrace tells its user; one line, no traceback
    ├── UsageError               the command line or a parameter is wrong
    ├── RefusedError             `run` declined before the program started
    │   ├── CommandNotFoundError       the command does not exist
    │   └── CommandNotExecutableError  the command exists and cannot be executed
    ├── SpoolError               the parts that a traced process leaves cannot be read or written
    ├── TraceError               a trace file cannot be read
    │   ├── NotATraceError       the file is something else
    │   ├── NewerTraceError      the file was written by a newer cltrace
    │   └── DamagedTraceError    the file is a trace and is damaged, or is not what cltrace writes
    ├── OutputError              a result cannot be written
    ├── KernelError              a kernel cannot be understood
    │   ├── KernelSourceError    its source is not OpenCL C: file, line, column, the compiler's words
    │   ├── BuildOptionError     a build option is wrong, or not one of OpenCL C
    │   ├── UnsupportedKernelError     it uses what is not supported, named with its source line
    │   ├── KernelExecutionError       its execution failed: a step budget, an access out of bounds
    │   ├── CompilerMissingError       there is no compiler
    │   └── CompilerFailedError        the compiler died, or went over its limits
    ├── DeviceError              there is no such device, or it cannot do what is asked
    │   └── WorkloadError        a kernel or transfer cannot be built or run on it
    ├── PowerError               a power reader, a log or an attribution cannot do what is asked
    ├── ProfileError             a device's profile cannot be read, or none is there
    ├── BenchmarkFailedError     a command of which samples were wanted failed, or gave none
    ├── IncomparableError        samples or traces say nothing of each other: `check` cannot decide
    ├── SampleFileError          a file of samples cannot be read, or is something else
    ├── QueryError               the SQL of `query` is wrong, forbidden or over a limit
    └── TracingError             tracing cannot start in this process

A message says what is wrong with which value, where, and what to do. A mistake of the programmer
who calls the Python interface is a `ValueError` or a `TypeError`, not one of these.
"""

from enum import IntEnum


class ExitStatus(IntEnum):
    """What cltrace's own exits mean. `run` otherwise returns the traced program's status."""

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
    """Anything that cltrace tells its user in one line."""

    exit_status: ExitStatus = ExitStatus.USAGE


class UsageError(CltraceError):
    """The command line or a parameter is wrong."""


class RefusedError(CltraceError):
    """`run` declined before the first line of the program ran."""

    exit_status = ExitStatus.REFUSED


class CommandNotFoundError(RefusedError):
    """The command to run does not exist."""

    exit_status = ExitStatus.NOT_FOUND


class CommandNotExecutableError(RefusedError):
    """The command to run exists and cannot be executed."""

    exit_status = ExitStatus.NOT_EXECUTABLE


class SpoolError(CltraceError):
    """The parts that a traced process leaves cannot be read or written."""


class TraceError(CltraceError):
    """A trace file cannot be read."""


class NotATraceError(TraceError):
    """The file is something else than a trace."""


class NewerTraceError(TraceError):
    """The file was written by a newer cltrace with a schema this one does not know."""


class DamagedTraceError(TraceError):
    """The file says that it is a trace and is damaged, or holds what cltrace never writes."""


class OutputError(CltraceError):
    """A result cannot be written: no space, no permission, or the file exists."""


class MissingExtraError(CltraceError):
    """Something needs a package that is not installed."""

    def __init__(self, what: str, extra: str, error: ImportError) -> None:
        super().__init__(f"{what} needs more packages: pip install 'cltrace[{extra}]' ({error})")


class DeviceError(CltraceError):
    """There is no such device, or it cannot do what is asked of it."""


class WorkloadError(DeviceError):
    """A kernel or a transfer cannot be built or run on a device."""


class PowerError(CltraceError):
    """A power reader or its log cannot be read, or energy cannot be told from what there is."""


class ProfileError(CltraceError):
    """A device's profile cannot be read, is not what cltrace writes, or none is there."""


class KernelError(CltraceError):
    """A kernel cannot be understood."""


class KernelSourceError(KernelError):
    """A source is not OpenCL C. `place` is `file:line:column` of the first error."""

    def __init__(self, place: str, message: str, log: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place
        self.log = log


class BuildOptionError(KernelError):
    """A build option is wrong, or is not one of OpenCL C's."""


class UnsupportedKernelError(KernelError):
    """A kernel uses what is not supported. The message names it, with its line in the source."""


class KernelExecutionError(KernelError):
    """Executing a kernel went over a budget, or needs what the launch does not have."""


class CompilerMissingError(KernelError):
    """No compiler for OpenCL C was found. The message says how to get one."""


class CompilerFailedError(KernelError):
    """The compiler died, or went over its limits of time, memory or size."""


class BenchmarkFailedError(CltraceError):
    """A command of which samples were wanted failed, or did nothing to make samples of."""

    exit_status = ExitStatus.BENCHMARK_FAILED


class IncomparableError(CltraceError):
    """Samples or traces say nothing of each other."""

    exit_status = ExitStatus.UNDECIDED


class SampleFileError(CltraceError):
    """A file of samples cannot be read, or is something else."""


class QueryError(CltraceError):
    """The SQL of a query is wrong, does more than read, or is over its time or row limit."""


class TracingError(CltraceError):
    """Tracing cannot start in this process."""
