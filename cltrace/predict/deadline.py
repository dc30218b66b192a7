"""Deadlines: times at which tasks have to end."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final


@dataclass(frozen=True, slots=True)
class Deadline:
    """The reading of a monotonic clock, in seconds, at which a task has to end."""

    end_s: float
    clock: Callable[[], float] = monotonic

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = monotonic) -> "Deadline":
        """Return the deadline that is some seconds from now."""
        return cls(clock() + seconds, clock)

    @property
    def is_over(self) -> bool:
        """True once the time is up."""
        return self.left_s() <= 0.0

    def left_s(self) -> float:
        """Return the seconds that are left: below 0 once the time is up, infinite without an end."""
        return self.end_s - self.clock() if self.end_s < math.inf else math.inf

    def before(self, seconds: float) -> "Deadline":
        """Return the deadline that leaves some seconds for another task."""
        return replace(self, end_s=self.end_s - seconds)

    def first_part(self, share: float) -> "Deadline":
        """Return the deadline of a first task, which may take a share of the time that is left."""
        left_s = self.left_s()
        return self if left_s == math.inf else self.before((1.0 - share) * max(left_s, 0.0))


NEVER: Final = Deadline(math.inf)
"""The deadline of tasks that may take any time."""
