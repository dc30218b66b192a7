"""Every deliberate exception of cltrace, and the one table of exit statuses.

    CltraceError                 any error that cltrace reports: one line, no traceback
    ├── UsageError               the command line or a parameter is wrong
    ├── RefusedError             `run` declined before the program started
    │   ├── CommandNotFoundError       the command does not exist
    │   └── CommandNotExecutableError  the command exists and cannot be executed
    ├── SpoolError               the parts of a recording cannot be read or written
    ├── TraceError               a trace file cannot be read
    │   ├── NotATraceError       the file is something else
    │   ├── NewerTraceError      the file was written by a newer cltrace
    │   └── DamagedTraceError    the file is damaged, or holds data that cltrace never writes
    ├── OutputError              a result cannot be written
    ├── KernelError              a kernel cannot be analysed
    │   ├── KernelSourceError    its source is not OpenCL C: file, line, column, compiler's message
    │   ├── BuildOptionError     a build option is wrong, or not one of OpenCL C
    │   ├── UnsupportedKernelError     it uses an unsupported feature, named with its source line
    │   ├── KernelExecutionError       its execution failed: a step budget, an access out of bounds
    │   ├── KernelLimitError           reading or counting it exceeded a limit, which the message names
    │   ├── CompilerMissingError       there is no compiler
    │   └── CompilerFailedError        the compiler died, or exceeded its limits
    ├── IterationError           a domain iteration cannot be computed
    │   └── IterationSourceError       its function says what a kernel cannot: file, line, column
    ├── DeviceError              a device does not exist, or cannot do what is needed
    │   └── WorkloadError        a kernel or transfer cannot be built or run on it
    ├── PowerError               a power reader or log cannot be read, or energy not be attributed
    ├── ProfileError             a device's profile is missing or cannot be read
    │   └── UnsettledError       a calibration is not precise enough for a profile
    ├── BenchmarkFailedError     a command to benchmark failed, or gave no sample
    ├── IncomparableError        samples or traces are not comparable: `check` cannot decide
    ├── SampleFileError          a file of samples cannot be read, or is something else
    ├── QueryError               the SQL of `query` is wrong, forbidden or over a limit
    ├── LayerError               the OpenCL layer cannot be built, or its cache is not safe
    │   └── LayerCompilerMissingError  there is no C compiler
    └── TracingError             tracing cannot start in this process

A message names the wrong value, its place, and the remedy. A mistake of the programmer who calls the
Python interface is a `ValueError` or a `TypeError`, not one of these.
"""

from importlib import import_module

from cltrace.tracing_errors import CltraceError as CltraceError
from cltrace.tracing_errors import ExitStatus as ExitStatus
from cltrace.tracing_errors import LayerError as LayerError
from cltrace.tracing_errors import SpoolError as SpoolError
from cltrace.tracing_errors import TracingError as TracingError


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


class TraceError(CltraceError):
    """A trace file cannot be read."""


class NotATraceError(TraceError):
    """The file is something else than a trace."""


class NewerTraceError(TraceError):
    """The file was written by a newer cltrace, with a schema that this one does not know."""


class DamagedTraceError(TraceError):
    """The file is marked as a trace and is damaged, or holds data that cltrace never writes."""


class OutputError(CltraceError):
    """A result cannot be written: no space, no permission, or the file exists."""


class MissingExtraError(CltraceError):
    """A feature needs a package that is not installed."""

    def __init__(self, what: str, extra: str, error: ImportError) -> None:
        # Traced programs import this module, and `installation` needs more of the standard library.
        from cltrace.installation import suggest_install  # noqa: PLC0415

        super().__init__(f"{what} needs more packages: {suggest_install(extra)} ({error})")


def require_module(name: str, purpose: str, extra: str) -> None:
    """Import a module of an extra. Raises: `MissingExtraError` if it is not installed."""
    try:
        import_module(name)
    except ImportError as error:
        raise MissingExtraError(purpose, extra, error) from error


class DeviceError(CltraceError):
    """A device does not exist, or cannot do what is needed."""


class WorkloadError(DeviceError):
    """A kernel or a transfer cannot be built or run on a device."""


class PowerError(CltraceError):
    """A power reader or log cannot be read, or energy cannot be attributed."""


class ProfileError(CltraceError):
    """A device's profile is missing, cannot be read, or is not one that cltrace writes."""


class UnsettledError(ProfileError):
    """A calibration is not precise enough to decide on the costs of a device."""

    exit_status = ExitStatus.UNDECIDED


class KernelError(CltraceError):
    """A kernel cannot be analysed."""


class KernelSourceError(KernelError):
    """A source is not OpenCL C. `place` is `file:line:column` of the first error."""

    def __init__(self, place: str, message: str, log: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place
        self.log = log


class BuildOptionError(KernelError):
    """A build option is wrong, or is not one of OpenCL C's."""


class UnsupportedKernelError(KernelError):
    """A kernel uses an unsupported feature. The message names it, with its line in the source."""


class KernelExecutionError(KernelError):
    """Executing a kernel exceeded a budget, or needs something that the launch lacks."""


class KernelLimitError(KernelError):
    """Reading or counting a kernel exceeded a limit of CPU time or size. The message names the limit."""


class CompilerMissingError(KernelError):
    """No compiler for OpenCL C was found. The message says how to install one."""


class CompilerFailedError(KernelError):
    """The compiler died, or exceeded its limits of time, memory or size."""


class IterationError(CltraceError):
    """A domain iteration cannot be computed: its sizes or arguments do not fit its function."""


class IterationSourceError(IterationError):
    """The function of a domain iteration cannot be generated. `place` is FILE:LINE:COLUMN."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place


class BenchmarkFailedError(CltraceError):
    """A command to benchmark failed, or gave no sample."""

    exit_status = ExitStatus.BENCHMARK_FAILED


class IncomparableError(CltraceError):
    """Samples or traces are not comparable."""

    exit_status = ExitStatus.UNDECIDED


class SampleFileError(CltraceError):
    """A file of samples cannot be read, or is something else."""


class QueryError(CltraceError):
    """The SQL of a query is wrong, does more than read, or exceeds its time or row limit."""


class LayerCompilerMissingError(LayerError):
    """No C compiler was found. The message says how to install one."""
