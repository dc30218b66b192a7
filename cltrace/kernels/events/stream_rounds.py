"""Rounds in which streams run their blocks: what work-items did together, from their conditions alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import KernelExecutionError
from cltrace.kernels.events.records import Continuation, StreamTable
from cltrace.kernels.events.stream_replay import replay_streams

_MAX_VISITS: Final = 1 << 25
"""Limit on the blocks that all distinct streams run."""
_MAX_LENGTH: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class _Visits:
    """Runs of blocks by streams, ascending by `key`, which has stream, position in it and block."""

    key: NDArray[np.int64]
    round: NDArray[np.int64]


class StreamRounds:
    """The rounds of the streams that work-items end at.

    `ends` are the work-items' streams as nodes of `streams`, `warps` the numbers of their warps,
    `operations` those of each block, by its position in the order of the code. `item_operations` and
    `warp_operations` are what follows from them. Streams that are cut off are not checked.

    Raises: `KernelExecutionError` for streams that fit no way through the code, or that are too long.
    """

    def __init__(
        self,
        ways: Sequence[Continuation],
        streams: StreamTable,
        ends: NDArray[np.int64],
        warps: NDArray[np.int64],
        operations: Mapping[int, int],
        *,
        is_whole: bool,
    ) -> None:
        nodes, self._stream_of_item = np.unique(ends, return_inverse=True)
        self._lengths = streams.length[nodes]
        self._blocks = 1 + max(block for way in ways for block in way.blocks)
        self._max_position = int(self._lengths.max(initial=0)) + 1
        if self._max_position > _MAX_LENGTH or self._max_position * len(nodes) > _MAX_VISITS:
            raise KernelExecutionError(
                "the work-items evaluate too many conditions: record fewer with --max-events"
            )
        self._bits = streams.bit_rows(nodes, self._max_position)
        pairs = np.unique(self._stream_of_item * (int(warps.max(initial=0)) + 1) + warps)
        self._pair_stream, self._pair_warp = np.divmod(pairs, int(warps.max(initial=0)) + 1)
        by_stream = np.zeros(len(nodes), np.int64)
        self.warp_operations: NDArray[np.int64] = np.zeros(int(warps.max(initial=-1)) + 1, np.int64)
        self._visits = self._replay(ways, operations, by_stream, is_whole=is_whole)
        self.item_operations: NDArray[np.int64] = by_stream[self._stream_of_item]

    def _replay(
        self,
        ways: Sequence[Continuation],
        operations: Mapping[int, int],
        by_stream: NDArray[np.int64],
        *,
        is_whole: bool,
    ) -> _Visits:
        keys, rounds = [], []
        for number, step in enumerate(replay_streams(ways, self._bits, self._lengths)):
            is_cut = (step.decisions >= 0) & (step.positions >= self._lengths[step.streams])
            if is_whole and is_cut.any():
                raise _misfit()
            keys.append(self._key(step.streams, step.positions, step.block))
            rounds.append(np.full(len(step.streams), number))
            size = 0 if step.is_further else operations.get(step.block, 0)
            if size:
                by_stream[step.streams] += size
                is_here = np.zeros(len(self._lengths), np.bool_)
                is_here[step.streams] = True
                self.warp_operations[np.unique(self._pair_warp[is_here[self._pair_stream]])] += size
        key, numbers = np.concatenate(keys), np.concatenate(rounds)
        order = np.argsort(key)
        return _Visits(key[order], numbers[order])

    def _key(
        self,
        stream: NDArray[np.int64],
        position: NDArray[np.int64],
        block: NDArray[np.int64] | int,
    ) -> NDArray[np.int64]:
        return (stream * self._max_position + position) * self._blocks + block

    def rounds_of(
        self,
        items: NDArray[np.int64],
        positions: NDArray[np.int64],
        blocks: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return the rounds in which work-items run blocks behind a number of their digits.

        Raises: `KernelExecutionError` if they run other blocks there.
        """
        key = self._key(self._stream_of_item[items], positions, blocks)
        place = np.searchsorted(self._visits.key, key)
        place = np.minimum(place, len(self._visits.key) - 1)
        if (self._visits.key[place] != key).any():
            raise _misfit()
        return self._visits.round[place]


def _misfit() -> KernelExecutionError:
    return KernelExecutionError("the events of the device fit no way through the kernel's code")
