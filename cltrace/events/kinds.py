"""Enumerations that records and rows use."""

from enum import IntEnum, IntFlag, StrEnum
from typing import Final


class CallFlag(IntFlag):
    """Further properties of a host call."""

    BLOCKING = 1
    """The call returned only after its command had completed."""
    MAP_WRITE = 2
    """The mapped contents return to the device on unmapping."""
    QUEUED_ONLY = 4
    """The driver returned no event for this command: only host times exist."""
    EMPTY_RANGE = 8
    """A launch without work-items: pyopencl enqueued a marker instead."""
    TO_HOST = 16
    """A migration to the host, instead of the device of its queue."""
    SAME_DATA = 32
    """A write of what its thread last wrote to the same range of the buffer."""


class StampFault(IntFlag):
    """Fault of a command's device stamps. The numbers are stored."""

    ZERO = 1
    """A stamp is zero."""
    REVERSED = 2
    """The stamp of a later stage precedes that of an earlier one."""
    MADE_UP = 4
    """The driver has no running clock: it gives small numbers, or the same for every command."""
    FOREIGN = 8
    """The stamps lie far from those of neighbouring commands, as if from another time."""
    BEFORE_ENQUEUE = 16
    """QUEUED precedes the entry of the call that enqueued the command."""
    AFTER_RETURN = 32
    """QUEUED follows the return of that call."""
    AFTER_COMPLETION = 64
    """END follows the return of a host call that waited for the command."""
    FAILED = 128
    """The command failed, so its stamps mean nothing."""


def fault_name(fault: StampFault) -> str:
    """Return the name of a fault in views and reports."""
    return (fault.name or "").lower().replace("_", "-")


UNUSABLE_STAMPS: Final = (
    StampFault.ZERO
    | StampFault.REVERSED
    | StampFault.MADE_UP
    | StampFault.FOREIGN
    | StampFault.FAILED
)
"""Faults of stamps that give neither the time nor the duration of a command. Others are small."""

FAULT_SHIFT: Final = 17
"""Position of the lowest `StampFault` bit in a command's flags."""


class ClockState(StrEnum):
    """Reliability of a fitted device clock."""

    PROVEN = "proven"
    """All observations agree: the bound holds, as long as the rate was constant."""
    CONDITIONAL = "conditional"
    """Some observations contradict the others and were left out of the fit."""
    UNALIGNED = "unaligned"
    """Nothing relates this device's stamps to the host's clock."""


class Timing(StrEnum):
    """Source of a command's time; the three methods of the literature."""

    EVENT = "event"
    """The device's own stamps, read after completion."""
    CALLBACK = "callback"
    """A completion callback, on the host clock."""
    SYNC = "sync"
    """A wait for every command, on the host clock. This serialises the program."""


class LayerUse(StrEnum):
    """Processes whose calls the native OpenCL layer records. Hooks record pyopencl's in the others."""

    AUTO = "auto"
    """All processes in which it can, if it can be built."""
    ON = "on"
    """All processes; a recording for which it cannot be built is refused."""
    OFF = "off"
    """None."""


class ArgumentKind(StrEnum):
    """Kind of a kernel argument."""

    BUFFER = "buffer"
    IMAGE = "image"
    SVM = "svm"
    LOCAL = "local"
    SCALAR = "scalar"
    SAMPLER = "sampler"
    QUEUE = "queue"
    NULL = "null"
    UNKNOWN = "unknown"


class MemoryKind(IntEnum):
    """Kind of a memory object in the `buffers` table. The numbers are stored."""

    BUFFER = 1
    SUB_BUFFER = 2
    IMAGE = 3
    SVM = 4
    PIPE = 5


class Severity(StrEnum):
    """Severity of a diagnostic."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class ProgramOrigin(StrEnum):
    """Form from which a program object was created."""

    SOURCE = "source"
    BINARY = "binary"
    IL = "il"
    LINKED = "linked"
    BUILT_IN = "built-in"
    UNKNOWN = "unknown"


RECORDED_BY_LAYER: Final = "recorded-by-layer"
"""Code of the diagnostic for a process that the native layer recorded, and not the hooks of pyopencl."""

LAYER_UNUSED: Final = "layer-unused"
"""Code of the diagnostic for a process that the layer was to record, and into which no loader took it."""

RELEASES_UNSEEN: Final = "releases-unseen"
"""Code of the diagnostic for a process in which releases of memory objects were not observed."""

INTERRUPTED_CALL: Final = "interrupted-call"
"""Code of the diagnostic for a process in which signal handlers ended hooked calls by exceptions."""
