"""Columns that come in parts, put together without being in memory twice."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_ROWS_A_BLOCK: Final = 1 << 22
"""So many that the memory of a block goes back to the system by itself when the block is let go."""


class Collected:
    """Columns by name, all of one length. Each has the type that its first part has."""

    def __init__(self, *, rows_a_block: int = _ROWS_A_BLOCK) -> None:
        self._size = rows_a_block
        self._blocks: list[dict[str, NDArray[Any]]] = []
        self._free = 0

    def add(self, part: Mapping[str, NDArray[Any]]) -> None:
        """Add a part. Every part has the same columns."""
        count = len(next(iter(part.values())))
        begin = 0
        while begin < count:
            if not self._free:
                self._blocks.append(
                    {name: np.empty(self._size, one.dtype) for name, one in part.items()}
                )
                self._free = self._size
            rows = min(count - begin, self._free)
            at = self._size - self._free
            for name, column in part.items():
                self._blocks[-1][name][at : at + rows] = column[begin : begin + rows]
            begin += rows
            self._free -= rows

    def take(self, name: str) -> NDArray[Any]:
        """A whole column, which is not here any more then. Empty if nothing was added."""
        parts = [block.pop(name) for block in self._blocks]
        if not parts:
            return np.empty(0, np.int64)
        parts[-1] = parts[-1][: self._size - self._free]
        return parts[0].copy() if len(parts) == 1 else np.concatenate(parts)
