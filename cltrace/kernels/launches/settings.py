"""Settings of counting many launches."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cltrace.kernels.compiler.cache import cache_directory
from cltrace.kernels.limits import COUNTING_CPU_S

CACHE_VARIABLE: Final = "CLTRACE_COUNT_CACHE"
"""Environment variable with the directory of kept counts; `off` keeps none."""


@dataclass(frozen=True, slots=True)
class CountingSettings:
    """Settings of counting.

    `cache` is the directory of kept counts, None to keep none. `cpu_s` limits the CPU time of a launch,
    None for no limit. `workers` is the largest number of processes, None for one per processor.
    """

    cache: Path | None
    cpu_s: float | None = COUNTING_CPU_S
    workers: int | None = None


def default_settings() -> CountingSettings:
    """Return the settings of the environment."""
    return CountingSettings(default_cache())


def default_cache() -> Path | None:
    """Return the directory of kept counts, None to keep none.

    It is that of the environment, or `cltrace/counts` in the user's cache.
    """
    chosen = os.environ.get(CACHE_VARIABLE, "")
    if chosen == "off":
        return None
    return Path(chosen) if chosen.startswith("/") else cache_directory("counts")
