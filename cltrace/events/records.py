"""Records: facts of which a process has few, stored one by one.

An `*_id` is a number from 1 that is unique in its process; 0 stands for "none". `TraceIdAllocator` in
`cltrace.trace` replaces it by a number that is unique in the trace when processes are merged.
"""

from dataclasses import dataclass

from cltrace.events.power import PowerChannel, PowerProbe


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStarted:
    """A traced process. `argv` and `environment` are empty if the user excluded them."""

    TABLE = "process"
    pid: int
    parent_pid: int
    host: str
    rank: int | None
    argv: tuple[str, ...]
    working_directory: str
    executable: str
    python_version: str
    pyopencl_version: str
    started_host_ns: int
    environment: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnded:
    """The end of a process, as it reported it, and the cost of tracing in the process."""

    TABLE = "process_end"
    how: str
    ended_host_ns: int
    hook_calls: int
    hook_ns: int
    reader_cpu_ns: int
    event_waits: int
    event_wait_ns: int
    unread_events_peak: int
    commands_skipped: int
    memory_peak_bytes: int | None
    memory_peak_host_ns: int | None


@dataclass(frozen=True, slots=True)
class Thread:
    """A host thread that made at least one call."""

    TABLE = "thread"
    id: int
    native_id: int
    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """A text that other records refer to: a source, a build log, a header, a region's name."""

    TABLE = "string"
    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the program's source that made a call. `outer_site_id` is its caller's, 0 for none."""

    TABLE = "site"
    id: int
    file: str
    line: int
    function: str
    outer_site_id: int


@dataclass(frozen=True, slots=True)
class Platform:
    """An OpenCL platform."""

    TABLE = "platform"
    id: int
    name: str
    vendor: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """An OpenCL device. `None` stands for properties that the driver does not report.

    `timer_resolution_ns` is the resolution of stamps that the driver claims. `bus` is the PCI address and
    `uuid` the UUID of the device, if an extension reports them. `parent_device_id` is 0 for a device that
    is no sub-device.
    """

    TABLE = "device"
    id: int
    name: str
    vendor: str
    version: str
    driver_version: str
    kind: str
    compute_units: int | None
    clock_mhz: int | None
    global_memory_bytes: int | None
    local_memory_bytes: int | None
    max_group_size: int | None
    timer_resolution_ns: int | None
    bus: str | None
    uuid: str | None
    extensions: str
    platform_id: int
    parent_device_id: int


@dataclass(frozen=True, slots=True)
class Context:
    """An OpenCL context and the devices in it."""

    TABLE = "context"
    id: int
    device_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A command queue. `properties` are those that the program requested; cltrace may add profiling.

    `known_host_ns` is the time from which the handle denotes this queue.
    """

    TABLE = "queue"
    id: int
    handle: int
    properties: int
    profiling: bool
    profiling_forced: bool
    known_host_ns: int
    context_id: int
    device_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program object. `binary_bytes` is the size of the binary or IL that it was created from."""

    TABLE = "program"
    id: int
    origin: str
    created_host_ns: int
    binary_bytes: int
    context_id: int
    source_text_id: int
    parent_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Include:
    """A file or header program that a program's source includes, with its text at the build."""

    TABLE = "include"
    name: str
    program_id: int
    text_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A build, compilation or link of a program for one device, with its result.

    `status` is the status of the call: 0, or the OpenCL error that it raised.
    """

    TABLE = "build"
    api: int
    options: str
    status: int
    enter_host_ns: int
    return_host_ns: int
    program_id: int
    device_id: int
    log_text_id: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel function of a program."""

    TABLE = "kernel"
    id: int
    name: str
    argument_count: int
    program_id: int


@dataclass(frozen=True, slots=True)
class WorkGroupInfo:
    """Work-group properties that the driver reports for a kernel on a device; `None` if it does not."""

    TABLE = "work_group_info"
    max_group_size: int | None
    preferred_multiple: int | None
    local_memory_bytes: int | None
    private_memory_bytes: int | None
    kernel_id: int
    device_id: int


@dataclass(frozen=True, slots=True)
class ArgumentSlot:
    """The place of one argument among the words of an argument list.

    `kind` is an `ArgumentKind`, `words` the number of 64-bit words that the argument takes:

    - `BUFFER`, `IMAGE`, `SVM`: its handle or address; a second word is an offset in bytes
    - `LOCAL`: its size in bytes
    - `SAMPLER`: its settings (`samplers`), where they are known
    - `SCALAR`: its bytes in the machine's order, padded with zeros; a number without a type
      (`dtype` "int") is a two's complement of all words
    - others: no words

    `size_bytes` is the size of a scalar with a type. `dtype` is the numpy name of its type, empty if
    unknown. `detail` describes an argument of an unknown kind.
    """

    kind: str
    words: int
    dtype: str = ""
    size_bytes: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ArgumentForm:
    """The form of argument lists: what their words are, one slot per parameter of the kernel."""

    TABLE = "form"
    id: int
    slots: tuple[ArgumentSlot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Captured contents of a buffer, as the host last wrote it before a launch used it.

    They are stored deflated in the process's contents file: `stored_bytes` bytes from `position_bytes`.
    The launch is the first one with these arguments in this circumstance. A kernel may have written the
    buffer between `written_host_ns` and the launch.
    """

    TABLE = "content"
    sha256: str
    position_bytes: int
    stored_bytes: int
    size_bytes: int
    written_host_ns: int
    buffer_id: int
    circumstance_id: int
    arguments_id: int


@dataclass(frozen=True, slots=True)
class ContentVersion:
    """Contents of a buffer from a write of the host on, until the next version of that buffer.

    They are stored as they are in the process's contents file: `size_bytes` bytes from `position_bytes`.
    A size of -1: from then on they are not known. Versions are recorded when a launch of a new
    configuration uses the buffer. Kernels may have written it since.
    """

    TABLE = "content_version"
    position_bytes: int
    size_bytes: int
    written_host_ns: int
    buffer_id: int


@dataclass(frozen=True, slots=True)
class Surcharge:
    """Cost of the driver's profiling per launch on a device: medians of `launches` launches each."""

    TABLE = "surcharge"
    launches: int
    plain_ns: float
    profiling_ns: float
    device_id: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message for readers of the trace. `code` is a stable identifier for scripts."""

    TABLE = "diagnostic"
    severity: str
    code: str
    message: str
    host_ns: int


@dataclass(frozen=True, slots=True)
class Redaction:
    """Kind of data that was left out of the trace at the user's request."""

    TABLE = "redaction"
    what: str


Record = (
    ProcessStarted
    | ProcessEnded
    | Thread
    | Text
    | Site
    | Platform
    | Device
    | Context
    | Queue
    | Program
    | Include
    | Build
    | Kernel
    | WorkGroupInfo
    | ArgumentForm
    | Content
    | ContentVersion
    | Surcharge
    | Diagnostic
    | Redaction
    | PowerChannel
    | PowerProbe
)
"""Union of all records that a spool can contain."""
