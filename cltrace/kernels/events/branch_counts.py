"""Counts of branches from streams of bits: which warps split where.

The lanes of a warp evaluate together what they reach together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.events.proxy_warps import ProxyWarp
from cltrace.kernels.events.records import LaunchEvents
from cltrace.kernels.events.stream_replay import replay_streams

_MAX_LENGTH: Final = 200_000
_MAX_BITS: Final = 1 << 28


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionCount:
    """Evaluations of a decision by the recorded work-items.

    Attributes:
        decision: the number of the decision.
        warps: evaluations by warps.
        divergent_warps: those of them in which lanes disagree.
        items: evaluations by work-items.
        true_items: those of them that are true.
        work_items: work-items that evaluate it.
        ever_true: work-items for which it is true at least once.
        ever_false: work-items for which it is false at least once.
    """

    decision: int
    warps: int
    divergent_warps: int
    items: int
    true_items: int
    work_items: int
    ever_true: int
    ever_false: int


def count_branches(events: LaunchEvents, proxies: Sequence[ProxyWarp]) -> Sequence[DecisionCount]:
    """Return the counts of all decisions that a recorded work-item evaluates, by number."""
    if not events.decisions or not proxies or not can_replay(events):
        return ()
    replay = _StreamReplay(events, proxies)
    replay.run()
    return replay.counts()


def can_replay(events: LaunchEvents) -> bool:
    """Return False for streams that are too long to be replayed together."""
    lengths = events.streams.length[np.unique(events.items.stream)]
    longest = int(lengths.max(initial=0))
    rows = max(longest, 2 * len(events.decisions))
    return longest <= _MAX_LENGTH and rows * len(lengths) <= _MAX_BITS


class _StreamReplay:
    """Replay of all distinct streams, decision by decision."""

    def __init__(self, events: LaunchEvents, proxies: Sequence[ProxyWarp]) -> None:
        shares = [(number, share) for number, proxy in enumerate(proxies) for share in proxy.shares]
        nodes = np.asarray([share.node for _, share in shares], np.int64)
        self._nodes, self._stream = np.unique(nodes, return_inverse=True)
        self._proxy = np.asarray([number for number, _ in shares], np.int64)
        self._warps = np.asarray([len(proxy.warps) for proxy in proxies], np.int64)
        self._items = np.asarray([share.items for _, share in shares]) * self._warps[self._proxy]
        self._bits = events.streams.bit_rows(self._nodes, _MAX_LENGTH)
        self._lengths = events.streams.length[self._nodes]
        self._totals: NDArray[np.int64] = np.zeros((4, len(events.decisions)), np.int64)
        shape = (2, len(events.decisions), len(self._nodes))
        self._is_taken: NDArray[np.bool_] = np.zeros(shape, np.bool_)
        self._ways = events.ways

    def run(self) -> None:
        """Replay the streams to their ends."""
        for step in replay_streams(self._ways, self._bits, self._lengths):
            is_deciding = (step.decisions >= 0) & (step.positions < self._lengths[step.streams])
            for number in np.unique(step.decisions[is_deciding]).tolist():
                chosen = is_deciding & (step.decisions == number)
                here = step.streams[chosen]
                self._add(number, here, self._bits[here, step.positions[chosen]])

    def _add(self, decision: int, here: NDArray[np.int64], bits: NDArray[np.uint8]) -> None:
        state = np.full(len(self._nodes), -1, np.int64)
        state[here] = bits
        self._is_taken[bits, decision, here] = True
        by_share = state[self._stream]
        num_proxies = len(self._warps)
        lanes_true = np.bincount(self._proxy[by_share == 1], minlength=num_proxies) > 0
        lanes_false = np.bincount(self._proxy[by_share == 0], minlength=num_proxies) > 0
        self._totals[:, decision] += (
            self._warps[lanes_true | lanes_false].sum(),
            self._warps[lanes_true & lanes_false].sum(),
            self._items[by_share >= 0].sum(),
            self._items[by_share == 1].sum(),
        )

    def counts(self) -> Sequence[DecisionCount]:
        """Return the counts of the decisions that were evaluated."""
        items_of_streams = np.bincount(self._stream, self._items, len(self._nodes)).astype(np.int64)
        ever_false, ever_true = self._is_taken @ items_of_streams
        work_items = self._is_taken.any(axis=0) @ items_of_streams
        columns = np.stack([*self._totals, work_items, ever_true, ever_false]).T.tolist()
        return [
            DecisionCount(
                decision=decision,
                warps=warps,
                divergent_warps=split,
                items=items,
                true_items=true,
                work_items=evaluating,
                ever_true=when_true,
                ever_false=when_false,
            )
            for decision, (
                warps,
                split,
                items,
                true,
                evaluating,
                when_true,
                when_false,
            ) in enumerate(columns)
            if warps
        ]
