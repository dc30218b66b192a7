"""Settings of counting launches for advice."""

from dataclasses import dataclass

from cltrace.kernels.launches.settings import CountingSettings
from cltrace.trace.progress import Progress, no_progress


@dataclass(frozen=True, slots=True)
class Counting:
    """Settings of counting launches (`None`: the environment's), time limit in s, and progress."""

    settings: CountingSettings | None = None
    max_s: float | None = None
    progress: Progress = no_progress
