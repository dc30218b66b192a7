"""Columns that arrive in parts, concatenated without holding them in memory twice."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_ROWS_PER_BLOCK: Final = 1 << 22
"""Large enough that the system takes a block's memory back as soon as the block is freed."""


class ColumnBlocks:
    """Columns by name, all of one length. Each has the type of its first part."""

    def __init__(self, *, rows_per_block: int = _ROWS_PER_BLOCK) -> None:
        self._block_rows = rows_per_block
        self._blocks: list[dict[str, NDArray[Any]]] = []
        self._free_rows = 0

    def append(self, part: Mapping[str, NDArray[Any]]) -> None:
        """Append a part. Every part has the same columns."""
        count = len(next(iter(part.values())))
        begin = 0
        while begin < count:
            if not self._free_rows:
                self._blocks.append(
                    {
                        name: np.empty(self._block_rows, column.dtype)
                        for name, column in part.items()
                    }
                )
                self._free_rows = self._block_rows
            rows = min(count - begin, self._free_rows)
            at = self._block_rows - self._free_rows
            for name, column in part.items():
                self._blocks[-1][name][at : at + rows] = column[begin : begin + rows]
            begin += rows
            self._free_rows -= rows

    def pop(self, name: str) -> NDArray[Any]:
        """Remove a whole column and return it. It is empty if nothing was appended."""
        parts = [block.pop(name) for block in self._blocks]
        if not parts:
            return np.empty(0, np.int64)
        parts[-1] = parts[-1][: self._block_rows - self._free_rows]
        return parts[0].copy() if len(parts) == 1 else np.concatenate(parts)
