"""Piece of a clock's map."""

from dataclasses import dataclass
from typing import Final

ROUNDING_NS: Final = 1.0
"""Anchors are whole nanoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A line `residual = offset + slope * time` from `begin_ns` to `end_ns`.

    `half_width_ns` is its largest error if the slope is right, `bound_ns` if the slope may be wrong.
    `drift_within` is the largest error of the slope among the lines that keep the bounds. `gap_ns` is
    the amount by which bounds in the piece contradict each other; 0 where they agree.
    """

    begin_ns: float
    end_ns: float
    offset_ns: float
    slope: float
    half_width_ns: float
    bound_ns: float
    is_straight: bool
    gap_ns: float
    observations: int
    drift_within: float
