"""Power recording beside a traced program: selection of the readers and of the process that reads."""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cltrace.power.host_lock import HostLock
from cltrace.power.registry import find_readers, load_live_reader, probe_reader
from cltrace.power.sampler import ChosenReader, NoLock, ReaderLock, Sampler

AUTO: Final = "auto"
"""Specification of all readers that can read here."""
_NEEDS_ARGUMENT: Final = frozenset({"exec"})


def choose_readers(specifications: Sequence[str], period_s: float | None) -> list[ChosenReader]:
    """Return the readers for specifications: `NAME`, `NAME:ARGUMENT` or `auto`.

    `auto` stands for the readers whose probe is ok. If there are none it stands for all, so that the
    recording contains the reasons. Raises: `PowerError` for an unknown reader.
    """
    chosen: dict[str, ChosenReader] = {}
    for requested in specifications:
        for specification in _available() if requested == AUTO else [requested]:
            name, reader = load_live_reader(specification)
            is_repeated = any(other.name == name for other in chosen.values())
            # The whole specification distinguishes two readers of the same name.
            unique_name = specification if is_repeated else name
            choice = ChosenReader(unique_name, reader, period_s, specification)
            chosen.setdefault(specification, choice)
    return list(chosen.values())


def make_sampler(
    parts: Path, readers: Sequence[ChosenReader], rank: int | None, job: str
) -> Sampler:
    """Return a sampler for the recording in `parts`. A single rank of a host reads a sensor at a time."""

    def make_lock(name: str) -> ReaderLock:
        return NoLock() if rank is None else HostLock(job, name)

    return Sampler(parts, socket.gethostname(), readers, make_lock)


def _available() -> list[str]:
    live = []
    for name, point in find_readers().items():
        if name in _NEEDS_ARGUMENT:
            continue
        kind, probe = probe_reader(name, point)
        if kind == "live":
            live.append((name, probe.is_ok))
    return [name for name, is_ok in live if is_ok] or [name for name, _ in live]
