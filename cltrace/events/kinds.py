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
