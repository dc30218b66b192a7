"""Accesses of memory that a device logged, in the order of what work-items did together."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.events.device_log import LogEntries
from cltrace.kernels.events.device_texels import DeviceTexels
from cltrace.kernels.events.launch_code import event_memories, event_sites
from cltrace.kernels.events.observer import find_barriers
from cltrace.kernels.events.records import AccessTable
from cltrace.kernels.events.stream_rounds import StreamRounds
from cltrace.kernels.events.value_columns import count_earlier
from cltrace.kernels.execute.launch import LaunchMemory
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.ir.types import GENERIC, GLOBAL, SPACE_NAMES


class DeviceAccesses:
    """The places of a kernel's accesses and barriers, by which its log is read.

    `watched` are the names of the memory whose accesses are recorded, all if it is empty. Code for which
    `is_added` is true is not the program's.

    Attributes:
        sites: the places of accesses, and of barriers behind them.
        memories: the memory objects.
        ranks: the position of each block in the order of the code.
    """

    def __init__(
        self,
        kernel: PreparedKernel,
        memory: LaunchMemory,
        watched: frozenset[str],
        is_added: Callable[[Place], bool],
    ) -> None:
        self.sites = event_sites(kernel)
        self.memories = event_memories(memory)
        self._texels = DeviceTexels(kernel, memory)
        self.ranks = {block: rank for rank, block in enumerate(kernel.graph.order)}
        barriers = find_barriers(kernel)
        self._first_barrier = len(kernel.sites)
        blocks = [*(site.block for site in kernel.sites), *barriers]
        self._block_of_site = np.asarray([self.ranks[block] for block in blocks], np.int64)
        self._spaces = [
            *(_spaces_of(site.space) for site in kernel.sites),
            *(frozenset[str]() for _ in barriers),
        ]
        own = [*(not is_added(site.place) for site in kernel.sites), *(True for _ in barriers)]
        self._is_own = np.asarray(own, np.bool_)
        names = [*(part.name for part in self.memories), None]
        self._is_watched = np.asarray([not watched or name in watched for name in names])

    def accesses(
        self,
        entries: LogEntries,
        rounds: StreamRounds,
        shared: Sequence[tuple[int, int]],
        own: Sequence[int],
    ) -> AccessTable:
        """Return the accesses and barriers in the order of the rounds that they are in.

        `shared` are the objects that all work-items share with their addresses, `own` the others, in the
        order of the log.
        """
        chosen = np.flatnonzero(entries.is_access())
        code, lane = entries.code[chosen], entries.lane[chosen]
        position = entries.bits_before()[chosen]
        step_round = rounds.rounds_of(lane, position, self._block_of_site[code])
        again = count_earlier(
            (lane * (int(position.max(initial=0)) + 1) + position) * len(self.sites) + code
        )
        is_barrier = code >= self._first_barrier
        keys = np.stack([step_round, ~is_barrier, again, code])
        _, step = np.unique(keys, axis=1, return_inverse=True)
        memory, offset = entries.locate(chosen, self.memories, shared, own, self._spaces)
        self._texels.place(entries, chosen, memory, offset)
        order = np.lexsort([lane, step])
        order = order[self._is_recorded(code, memory)[order]]
        columns = (
            lane,
            code,
            np.where(is_barrier, -1, memory),
            np.where(is_barrier, 0, offset),
            entries.epochs(self._first_barrier)[chosen],
            step.reshape(-1),
        )
        return AccessTable(*(column[order] for column in columns))

    def _is_recorded(self, code: NDArray[np.int64], memory: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which events are asked for: those of the kernel's own code, of watched memory."""
        is_wanted = self._is_watched[memory] | (code >= self._first_barrier)
        is_recorded: NDArray[np.bool_] = self._is_own[code] & is_wanted
        return is_recorded


def _spaces_of(space: int) -> frozenset[str]:
    if space == GENERIC:
        return frozenset({"global", "local", "private"})
    return frozenset({SPACE_NAMES[space], *({"constant"} if space == GLOBAL else ())})
