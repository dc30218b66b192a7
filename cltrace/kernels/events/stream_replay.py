"""Replay of streams of bits: the blocks that they run, and which of them run a block together.

Of the blocks that streams wait at, the first in the order of the code runs first, so streams that part
meet again behind the branch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.events.records import Continuation


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A block, and the streams that run it together.

    Attributes:
        block: the block, as a position in the order of the code.
        streams: the streams.
        positions: for each, the number of its bits before.
        decisions: for each, the decision at the end of the block; -1 if it just goes on.
        is_further: True for a further decision of the block, after the first of a `switch`.
    """

    block: int
    streams: NDArray[np.int64]
    positions: NDArray[np.int64]
    decisions: NDArray[np.int64]
    is_further: bool


def replay_streams(
    ways: Sequence[Continuation], bits: NDArray[np.uint8], lengths: NDArray[np.int64]
) -> Iterator[Round]:
    """Yield the rounds of an execution of streams: shape of `bits` (streams, bits).

    `ways` are the way to the first decision, then those from each decision, if false and if true.
    """
    places = _Places(ways)
    position = np.zeros(len(lengths), np.int64)
    place = np.full(len(lengths), places.begins[0])
    while (is_open := place >= 0).any():
        blocks = np.where(is_open, places.blocks[place], places.no_block)
        block = int(blocks.min())
        here = np.flatnonzero(blocks == block)
        is_further = places.is_further[place[here]]
        here = here[is_further] if is_further.any() else here  # others come later
        decision = places.decisions[place[here]]
        yield Round(
            block=block,
            streams=here,
            positions=position[here].copy(),
            decisions=decision,
            is_further=bool(is_further.any()),
        )
        passing = here[decision < 0]
        place[passing] = np.where(places.is_last[place[passing]], -1, place[passing] + 1)
        is_decided = (decision >= 0) & (position[here] < lengths[here])
        place[here[(decision >= 0) & ~is_decided]] = -1
        deciding = here[is_decided]
        bit = bits[deciding, position[deciding]].astype(np.int64)
        position[deciding] += 1
        place[deciding] = places.begins[1 + 2 * decision[is_decided] + bit]


class _Places:
    """The blocks of all ways, one after the other.

    `begins` has the first place of each way. `decisions` has -1 but for the ends of ways, where
    `is_last` is true. `is_further` is true for ways within a block.
    """

    def __init__(self, ways: Sequence[Continuation]) -> None:
        lengths = np.asarray([len(way.blocks) for way in ways], np.int64)
        ends = np.cumsum(lengths) - 1
        self.begins: NDArray[np.int64] = ends + 1 - lengths
        self.blocks = np.asarray([block for way in ways for block in way.blocks], np.int64)
        self.decisions: NDArray[np.int64] = np.full(len(self.blocks), -1, np.int64)
        self.decisions[ends] = [way.decision for way in ways]
        self.is_last: NDArray[np.bool_] = np.zeros(len(self.blocks), np.bool_)
        self.is_last[ends] = True
        self.is_further: NDArray[np.bool_] = np.zeros(len(self.blocks), np.bool_)
        self.is_further[ends] = [way.is_within_block for way in ways]
        self.no_block = int(self.blocks.max()) + 1
