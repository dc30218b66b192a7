"""The closed sets of words that records and rows use."""

from enum import IntEnum, IntFlag, StrEnum
from typing import Final


class CallFlag(IntFlag):
    """What else is known of a host call."""

    BLOCKING = 1
    """The call returned only after its own command was complete."""
    MAP_WRITE = 2
    """A map whose contents go back to the device when it is unmapped."""
    QUEUED_ONLY = 4
    """The driver gives no event for this command: host times only."""
    EMPTY_RANGE = 8
    """A launch of no work-items: pyopencl enqueues a marker in its place."""


class StampFault(IntFlag):
    """What is wrong with a command's device stamps. The numbers are stored."""

    ZERO = 1
    """One of them is zero."""
    REVERSED = 2
    """A later stage has an earlier stamp."""
    MADE_UP = 4
    """The driver's clock does not run: small numbers, or the same ones for every command."""
    FOREIGN = 8
    """They are of another time than those of the commands around."""
    BEFORE_ENQUEUE = 16
    """QUEUED is before the call that enqueued the command was entered."""
    AFTER_RETURN = 32
    """QUEUED is after that call returned."""
    AFTER_COMPLETION = 64
    """END is after a host call returned that had waited for the command."""
    FAILED = 128
    """The command failed: its stamps are whatever the driver left there."""


def fault_name(fault: StampFault) -> str:
    """The word for a fault in views and reports."""
    return (fault.name or "").lower().replace("_", "-")


UNUSABLE_STAMPS: Final = (
    StampFault.ZERO
    | StampFault.REVERSED
    | StampFault.MADE_UP
    | StampFault.FOREIGN
    | StampFault.FAILED
)
"""Stamps with one of these faults tell neither when a command ran nor how long; others are near."""

FAULT_SHIFT: Final = 17
"""A command's stamp faults stand in its flags, from this bit on."""


class ClockState(StrEnum):
    """How well a device's clock is known."""

    PROVEN = "proven"
    """Everything observed agrees: the bound holds, as long as the rate was constant."""
    CONDITIONAL = "conditional"
    """Some observations contradict the others and were left out."""
    UNALIGNED = "unaligned"
    """Nothing relates this device's stamps to the host's clock."""


class Timing(StrEnum):
    """How the time of a command is taken; the three methods of the literature."""

    EVENT = "event"
    """From the device's own stamps, read after completion."""
    CALLBACK = "callback"
    """From a completion callback, on the host clock."""
    SYNC = "sync"
    """By waiting for every command, on the host clock. This serialises the program."""


class ArgumentKind(StrEnum):
    """What a kernel argument is."""

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
    """What kind of memory object a buffer row describes. The numbers are stored."""

    BUFFER = 1
    SUB_BUFFER = 2
    IMAGE = 3
    SVM = 4
    PIPE = 5


class Severity(StrEnum):
    """How much a diagnostic matters."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class ProgramOrigin(StrEnum):
    """What a program was made from."""

    SOURCE = "source"
    BINARY = "binary"
    IL = "il"
    LINKED = "linked"
    BUILT_IN = "built-in"
    UNKNOWN = "unknown"


RELEASES_UNSEEN: Final = "releases-unseen"
"""The code of the diagnostic that says: this process's memory objects have no known end."""
