"""Columns of a long table, in a scratch file, part by part."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.trace.scratch import Scratch, ScratchFile

Int64s = NDArray[np.int64]
Columns = dict[str, Int64s]


class StoredColumns:
    """Columns by name, in parts of any length. A column that is constant in a part takes no space."""

    def __init__(self, scratch: Scratch) -> None:
        self.scratch: Final = scratch
        self._file: ScratchFile | None = None
        self._parts: dict[int, tuple[int, dict[str, _Stored]]] = {}

    def __len__(self) -> int:
        """The number of parts."""
        return len(self._parts)

    @property
    def row_count(self) -> int:
        """The number of rows in all parts."""
        return sum(count for count, _ in self._parts.values())

    def first_rows(self) -> list[int]:
        """Return the number of rows before each part."""
        counts = [self._parts[number][0] for number in range(len(self))]
        return [0, *np.cumsum(counts).tolist()][:-1]

    def append(self, columns: Mapping[str, Int64s]) -> None:
        """Append a part."""
        self.put(len(self), columns)

    def put(self, number: int, columns: Mapping[str, Int64s]) -> None:
        """Store a part under a number, in place of the part that has it."""
        count = len(next(iter(columns.values())))
        self._parts[number] = (
            count,
            {name: self._store(column) for name, column in columns.items()},
        )

    def update(self, number: int, columns: Mapping[str, Int64s]) -> None:
        """Replace or add columns of the part with a number."""
        count, stored = self._parts[number]
        self._parts[number] = (
            count,
            stored | {name: self._store(column) for name, column in columns.items()},
        )

    def part(self, number: int, names: Collection[str] | None = None) -> Columns:
        """Return a part, or some columns of it. Constant columns are read-only."""
        count, stored = self._parts[number]
        chosen = stored if names is None else {name: stored[name] for name in names}
        return {name: self._load(column, count) for name, column in chosen.items()}

    def parts(self, names: Collection[str] | None = None) -> Iterator[Columns]:
        """Yield all parts in the order of their numbers."""
        for number in range(len(self)):
            yield self.part(number, names)

    def _store(self, column: Int64s) -> "_Stored":
        if not len(column) or (column[0] == column[-1] and (column == column[0]).all()):
            return -1, int(column[0]) if len(column) else 0
        if self._file is None:
            self._file = self.scratch.create_file()
        return self._file.append(column), 0

    def _load(self, stored: "_Stored", count: int) -> Int64s:
        offset, constant = stored
        if offset < 0 or self._file is None:
            return np.broadcast_to(np.int64(constant), (count,))
        return self._file.read(offset, count)


_Stored = tuple[int, int]
"""Offset of a column in the file, or -1 and its only value."""
