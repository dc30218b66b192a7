"""First launches of a kernel with a work-group size on a device: drivers may compile it only then."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.apis import Api
from cltrace.events.records import Queue
from cltrace.events.tables import CIRCUMSTANCES
from cltrace.trace.commands import FIRST_LAUNCH
from cltrace.trace.distinct_values import combine, find_distinct

Int64s = NDArray[np.int64]

_MAX_VARIANTS: Final = 1 << 16
"""Largest number of variants in memory. Programs have a few per kernel: only a damaged spool has more."""
_COLUMNS: Final = [
    CIRCUMSTANCES.index("kernel_id"),
    CIRCUMSTANCES.index("local_dimensions"),
    *(CIRCUMSTANCES.index(f"local_size_{axis}") for axis in range(3)),
]


class FirstLaunches:
    """Finder of first launches in commands that arrive in the order of entry.

    A *variant* is a kernel with a work-group size.
    """

    def __init__(self, queues: Sequence[Queue]) -> None:
        self._device_of = {queue.id: queue.device_id for queue in queues}
        self._variants: dict[tuple[int, ...], int] = {}
        self._seen: set[tuple[int, int]] = set()

    def variants(self, circumstances: Int64s) -> Int64s:
        """Return the variant of each launch, from 1; 0 for those of one variant too many."""
        distinct = find_distinct(combine(*circumstances.T[_COLUMNS]))
        numbers = [
            self._number(tuple(row)) for row in circumstances[distinct.first][:, _COLUMNS].tolist()
        ]
        return np.array(numbers, np.int64)[distinct.inverse]

    def mark(self, columns: dict[str, Int64s]) -> None:
        """Set the flag of first launches in columns of commands. Their column `variant` is removed."""
        variant = columns.pop("variant")
        candidates = np.flatnonzero(
            (columns["api"] == int(Api.clEnqueueNDRangeKernel)) & (variant > 0)
        )
        if not len(candidates):
            return
        queue = columns["queue_id"][candidates]
        distinct = find_distinct(combine(variant[candidates], queue))
        flags = columns["flags"].copy()
        for at in np.sort(distinct.first).tolist():
            pair = int(variant[candidates[at]]), self._device_of.get(int(queue[at]), 0)
            if pair not in self._seen:
                self._seen.add(pair)
                flags[candidates[at]] |= FIRST_LAUNCH
        columns["flags"] = flags

    def _number(self, variant: tuple[int, ...]) -> int:
        number = self._variants.get(variant)
        if number is None:
            if len(self._variants) >= _MAX_VARIANTS:
                return 0
            number = self._variants[variant] = len(self._variants) + 1
        return number
