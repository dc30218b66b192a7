"""Smallest changes that matter: one for all kernels, and others for kernels by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

DEFAULT_FLOOR: Final = 0.10


@dataclass(frozen=True, slots=True)
class Floors:
    """Smallest relative changes that matter.

    Attributes:
        usual: the floor of kernels whose names fit no pattern of `limits`.
        limits: pairs of a pattern of kernel names and a floor; the last one that fits applies.
        energy: the floor of energy, None where energy only informs.
        doubts: factors ≥ 1 by kernel, the uncertainty of a model; they widen the floor.
    """

    usual: float = DEFAULT_FLOOR
    limits: Sequence[tuple[str, float]] = ()
    energy: float | None = None
    doubts: Mapping[str, float] = field(default_factory=dict)

    def of(self, kernel: str) -> float:
        """Return the smallest relative change of a kernel's time that matters."""
        matches = [floor for pattern, floor in self.limits if fnmatchcase(kernel, pattern)]
        floor = matches[-1] if matches else self.usual
        return (1 + floor) * self.doubts.get(kernel, 1.0) - 1
