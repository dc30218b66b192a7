"""Facts of the machine that something was measured on."""

import os
import platform
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CPU_INFO: Final = Path("/proc/cpuinfo")
_RELEASE: Final = Path("/etc/os-release")


@dataclass(frozen=True, slots=True)
class HostFacts:
    """A machine. `threads` are the hardware threads that this process may use."""

    name: str
    processor: str
    threads: int
    system: str
    kernel: str
    python: str


def host_facts(cpu_info: Path = _CPU_INFO, release: Path = _RELEASE) -> HostFacts:
    """Return the facts of this machine, from its own files and, where those lack one, from Python."""
    return HostFacts(
        name=socket.gethostname(),
        processor=_read_value(cpu_info, "model name", ":")
        or platform.processor()
        or platform.machine(),
        threads=len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else _count_threads(),
        system=_read_value(release, "PRETTY_NAME", "=").strip('"') or platform.system(),
        kernel=platform.release(),
        python=platform.python_version(),
    )


def _count_threads() -> int:
    return os.cpu_count() or 1


def _read_value(path: Path, name: str, separator: str) -> str:
    """Return the first value of `name` in a file with one name and value per line; "" without one."""
    with suppress(OSError):
        for line in path.read_text("utf-8", "replace").splitlines():
            key, has_separator, value = line.partition(separator)
            if has_separator and key.strip() == name:
                return value.strip()
    return ""
