"""The smallest changes that matter: one for all kernels, and others for some of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

FLOOR: Final = 0.10


@dataclass(frozen=True, slots=True)
class Floors:
    """`usual` for kernels that no pattern of `limits` fits; the last that fits decides.

    `doubts` are factors from 1 on, by kernel, of what is not known for certain: they come on top.
    `energy` is that of joules, None where they only inform.
    """

    usual: float = FLOOR
    limits: Sequence[tuple[str, float]] = ()
    energy: float | None = None
    doubts: Mapping[str, float] = field(default_factory=dict)

    def of(self, kernel: str) -> float:
        """The smallest relative change of a kernel that matters."""
        fitting = [limit for glob, limit in self.limits if fnmatchcase(kernel, glob)]
        floor = fitting[-1] if fitting else self.usual
        return (1 + floor) * self.doubts.get(kernel, 1.0) - 1
