"""Age of this process: time limits of a command include its start."""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

_START_FIELD: Final = 19
"""Position of the start time among the fields of `/proc/PID/stat` behind the process's name."""
_MAX_START_S: Final = 60.0
"""Age above which the process has done something else before the command."""


def process_age_s() -> float:
    """Return the seconds since this process began; 0 if they are unknown, or not those of a start."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        fields = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace")
        ticks = int(fields.rpartition(")")[2].split()[_START_FIELD])
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return age_s if 0.0 <= age_s <= _MAX_START_S else 0.0
    return 0.0
