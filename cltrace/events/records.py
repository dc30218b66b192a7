"""The records: facts that are few and have names, stored one by one.

An `*_id` is a number that one process gave, from 1; 0 is "none". `Numbering` in `cltrace.trace` makes
the trace's own of them when processes are put together.
"""

from dataclasses import dataclass

from cltrace.events.power import PowerChannel, PowerProbe


@dataclass(frozen=True, slots=True)
class ProcessStarted:
    """One traced process. `argv` and `environment` are empty when the user asked for that."""

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


@dataclass(frozen=True, slots=True)
class ProcessEnded:
    """The last words of a process: how it ended as it saw it, and what tracing cost in it."""

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
    """A text that other records share: a source, a build log, a header, a region's name."""

    TABLE = "string"
    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the program that made a call. `outer_site_id` is its caller; 0 ends the chain."""

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


@dataclass(frozen=True, slots=True)
class Device:
    """An OpenCL device. `None` where the driver does not say.

    `timer_resolution_ns` is what the driver claims for its stamps. `bus` is the PCI address and
    `uuid` the device's, where an extension gives them. A sub-device names its parent.
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


@dataclass(frozen=True, slots=True)
class Queue:
    """A command queue. `properties` are those the program asked for; cltrace may have added profiling.

    `known_host_ns` is when the handle came to mean this queue.
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


@dataclass(frozen=True, slots=True)
class Program:
    """A program object. `binary_bytes` is the size of what it was made from when that is no text."""

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
    """One file or header program that a program's source pulled in, as it was at the build."""

    TABLE = "include"
    name: str
    program_id: int
    text_id: int


@dataclass(frozen=True, slots=True)
class Build:
    """One build, compile or link of a program for one device, and what came of it.

    `status` is the entry point's: 0, or the OpenCL error that the call raised.
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
    """What the driver says of a kernel on a device; `None` where it does not say."""

    TABLE = "work_group_info"
    max_group_size: int | None
    preferred_multiple: int | None
    local_memory_bytes: int | None
    private_memory_bytes: int | None
    kernel_id: int
    device_id: int


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a launch.

    `kind` is an `ArgumentKind`. `size_bytes` is the size of local memory or of a scalar; `value` is
    a scalar's bytes in hexadecimal, `dtype` numpy's name for it. `offset_bytes` is where a buffer
    that pyopencl passes with an offset starts. `detail` says what an unknown argument was.
    """

    kind: str
    offset_bytes: int
    size_bytes: int
    dtype: str
    value: str
    detail: str
    buffer_id: int


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch configuration: a kernel with its NDRange and its arguments, stored once.

    `local_size` and `global_offset` are empty when the program gave none.
    `arguments_known` is false when they were set where cltrace could not see it.
    """

    TABLE = "launch"
    id: int
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    global_offset: tuple[int, ...]
    arguments_known: bool
    arguments: tuple[Argument, ...]
    kernel_id: int


@dataclass(frozen=True, slots=True)
class Content:
    """Captured bytes of a buffer, as the host last wrote it before a launch used it.

    They stand at `position_bytes` of the process's contents file, `stored_bytes` long, deflated. A
    kernel may have written the buffer between `written_host_ns` and the launch.
    """

    TABLE = "content"
    sha256: str
    position_bytes: int
    stored_bytes: int
    size_bytes: int
    written_host_ns: int
    buffer_id: int
    launch_id: int


@dataclass(frozen=True, slots=True)
class Surcharge:
    """What the driver's profiling costs a launch on one device: medians over `launches` each."""

    TABLE = "surcharge"
    launches: int
    plain_ns: float
    profiling_ns: float
    device_id: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something the reader of a trace should know. `code` is a stable word for scripts."""

    TABLE = "diagnostic"
    severity: str
    code: str
    message: str
    host_ns: int


@dataclass(frozen=True, slots=True)
class Redaction:
    """Something that was left out because the user asked for it."""

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
    | Launch
    | Content
    | Surcharge
    | Diagnostic
    | Redaction
    | PowerChannel
    | PowerProbe
)
"""Every record that a spool can hold."""
