"""Calls to be timed, by subject."""

from collections.abc import Mapping
from typing import Final

from benchmarks.programs.cases import (
    arrays,
    bare_launches,
    images,
    launches,
    maps,
    memory,
    programs,
    queues,
    shared_memory,
    transfers,
    waits,
)
from benchmarks.programs.cases.case import Case

SUBJECTS: Final[Mapping[str, tuple[Case, ...]]] = {
    "launches": launches.CASES,
    "bare-launches": bare_launches.CASES,
    "transfers": transfers.CASES,
    "images": images.CASES,
    "maps": maps.CASES,
    "waits": waits.CASES,
    "queues": queues.CASES,
    "memory": memory.CASES,
    "shared-memory": shared_memory.CASES,
    "programs": programs.CASES,
    "arrays": arrays.CASES,
}
"""All cases, by the name of their subject."""
