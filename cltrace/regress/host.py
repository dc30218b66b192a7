"""The machine that something was measured on."""

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
    """A machine: its name, its processor and how many threads of it are ours, system, and Python."""

    name: str
    processor: str
    threads: int
    system: str
    kernel: str
    python: str


def host_facts(cpu_info: Path = _CPU_INFO, release: Path = _RELEASE) -> HostFacts:
    """What this machine says of itself; what it does not say is what Python knows."""
    return HostFacts(
        name=socket.gethostname(),
        processor=_value(cpu_info, "model name", ":") or platform.processor() or platform.machine(),
        threads=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else _threads(),
        system=_value(release, "PRETTY_NAME", "=").strip('"') or platform.system(),
        kernel=platform.release(),
        python=platform.python_version(),
    )


def _threads() -> int:
    return os.cpu_count() or 1


def _value(path: Path, name: str, sign: str) -> str:
    """The first value of a name in a file of such lines; "" without one."""
    with suppress(OSError):
        for line in path.read_text("utf-8", "replace").splitlines():
            key, found, value = line.partition(sign)
            if found and key.strip() == name:
                return value.strip()
    return ""
