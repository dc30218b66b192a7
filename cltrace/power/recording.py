"""Recording power beside a recording of a program: which readers, in which process of a job."""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cltrace.power.host_lock import FileTurn
from cltrace.power.registry import live_reader, probed, reader_names
from cltrace.power.sampler import AlwaysOurs, ChosenReader, Sampler, Turn

AUTO: Final = "auto"
"""Every reader that can read here."""
_NEEDS_WORDS: Final = frozenset({"exec"})


def chosen_readers(wanted: Sequence[str], period_s: float | None) -> list[ChosenReader]:
    """The readers for `NAME`, `NAME:ARGUMENT` or `auto`. Raises: `PowerError` for what is not known.

    With `auto` it is those whose probe says that they can read; if there is none, all of them, so that
    the recording says why.
    """
    chosen: dict[str, ChosenReader] = {}
    for words in wanted:
        for one in _available() if words == AUTO else [words]:
            name, reader = live_reader(one)
            is_another = any(other.name == name for other in chosen.values())
            # Two of one kind are told apart by the words that they were given.
            chosen.setdefault(one, ChosenReader(one if is_another else name, reader, period_s, one))
    return list(chosen.values())


def sampler_for(
    parts: Path, readers: Sequence[ChosenReader], rank: int | None, job: str
) -> Sampler:
    """What reads into the recording in `parts`; of ranks on one host one reads a sensor at a time."""

    def turn_of(name: str) -> Turn:
        return AlwaysOurs() if rank is None else FileTurn(job, name)

    return Sampler(parts, socket.gethostname(), readers, turn_of)


def _available() -> list[str]:
    live = []
    for name, point in reader_names().items():
        if name in _NEEDS_WORDS:
            continue
        kind, probe = probed(name, point)
        if kind == "live":
            live.append((name, probe.is_ok))
    return [name for name, is_ok in live if is_ok] or [name for name, _ in live]
