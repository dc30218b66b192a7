"""Lanes: the work-items of the work-groups that are executed, and sets of them.

Lanes of a group follow each other in the order of their linear local ids, first dimension fastest, and
groups of them are *warps*, which run in lock-step on a device.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.values import Array, Value


@dataclass(frozen=True, slots=True)
class NDRange:
    """A launch's index space. Sizes have as many dimensions as the launch."""

    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    global_offset: tuple[int, ...]

    @property
    def dimensions(self) -> int:
        """How many dimensions it has."""
        return len(self.global_size)

    @property
    def group_counts(self) -> tuple[int, ...]:
        """How many work-groups there are in each dimension; the last ones may be smaller."""
        return tuple(
            -(-size // local) for size, local in zip(self.global_size, self.local_size, strict=True)
        )

    @property
    def groups(self) -> int:
        """How many work-groups there are."""
        return int(np.prod(self.group_counts, dtype=object))

    @property
    def work_items(self) -> int:
        """How many work-items there are."""
        return int(np.prod(self.global_size, dtype=object))

    @property
    def group_items(self) -> int:
        """How many work-items a whole work-group has."""
        return int(np.prod(self.local_size, dtype=object))


class Grid:
    """The lanes of some work-groups of a launch.

    `group_numbers` are linear. `group` is the position among them of each lane's group, `warp` a
    number of each lane's warp, ascending.
    """

    def __init__(
        self, space: NDRange, group_numbers: Sequence[int] | NDArray[np.int64], warp_width: int
    ) -> None:
        self.space = space
        self.group_numbers = np.asarray(group_numbers, np.int64)
        self.warp_width = warp_width
        items = space.group_items
        groups = len(self.group_numbers)
        linear = np.tile(np.arange(items, dtype=np.int64), groups)
        group = np.repeat(np.arange(groups, dtype=np.int64), items)
        local = _unravelled(linear, space.local_size)
        numbers = _unravelled(self.group_numbers, space.group_counts)
        self._group_ids = numbers
        ids = [
            number[group] * size + here
            for number, size, here in zip(numbers, space.local_size, local, strict=True)
        ]
        if any(size % part for size, part in zip(space.global_size, space.local_size, strict=True)):
            inside = np.ones(len(linear), np.bool_)
            for position, size in zip(ids, space.global_size, strict=True):
                inside &= position < size
            linear, group = linear[inside], group[inside]
            local = [axis[inside] for axis in local]
            ids = [axis[inside] for axis in ids]
        self.group: NDArray[np.int64] = group
        self.local_ids = local
        self.relative_ids = ids
        self.count = len(linear)
        self.groups = groups
        per_group = np.bincount(group, minlength=groups)
        self.lanes_of_group = per_group
        warps = -(-per_group // warp_width)
        self.first_warp = np.concatenate([[0], np.cumsum(warps)[:-1]]).astype(np.int64)
        begin = np.concatenate([[0], np.cumsum(per_group)[:-1]])
        self.linear_in_group = np.arange(self.count, dtype=np.int64) - begin[group]
        self.warp = self.first_warp[group] + self.linear_in_group // warp_width
        self.warps = int(warps.sum())
        self.begin = begin

    def group_id(self, dimension: int) -> NDArray[np.int64]:
        """The group id of each lane."""
        return self._group_ids[dimension][self.group]

    def group_sizes(self, dimension: int) -> NDArray[np.int64]:
        """How many work-items each lane's group has in a dimension."""
        space = self.space
        begin = self.group_id(dimension) * space.local_size[dimension]
        return np.minimum(space.local_size[dimension], space.global_size[dimension] - begin)

    @cached_property
    def all(self) -> "Lanes":
        """All lanes."""
        return Lanes(self, np.arange(self.count, dtype=np.int64))


def _unravelled(linear: Array, sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """Positions by dimension of linear numbers, first dimension fastest."""
    found = []
    rest = linear
    for size in sizes:
        found.append(rest % size)
        rest = rest // size
    return found


class Lanes:
    """A set of lanes, in ascending order. What is asked of it is worked out once."""

    def __init__(self, grid: Grid, index: NDArray[np.int64]) -> None:
        self.grid = grid
        self.index = index
        self.count = len(index)
        self.is_all = self.count == grid.count
        self.values: dict[tuple[str, int], Value] = {}
        """Work-item ids and such, by name and dimension, for these lanes."""

    def of(self, by_lane: Array) -> Array:
        """The entries of these lanes in an array of all lanes."""
        return by_lane if self.is_all else by_lane[self.index]

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """The position of each lane's group."""
        found: NDArray[np.int64] = self.of(self.grid.group)
        return found

    @cached_property
    def warp(self) -> NDArray[np.int64]:
        """The number of each lane's warp."""
        found: NDArray[np.int64] = self.of(self.grid.warp)
        return found

    @cached_property
    def warp_begins(self) -> NDArray[np.int64]:
        """Where among these lanes each warp's begin."""
        if self.count == 0:
            return np.zeros(0, np.int64)
        return np.concatenate([[0], np.flatnonzero(np.diff(self.warp)) + 1]).astype(np.int64)

    @cached_property
    def warp_groups(self) -> NDArray[np.int64]:
        """The position of the group of each warp that has lanes here."""
        return self.group[self.warp_begins]

    @cached_property
    def has_whole_warps(self) -> bool:
        """Whether each warp that has lanes here has all of its width."""
        return len(self.warp_begins) * self.grid.warp_width == self.count

    @cached_property
    def per_group(self) -> NDArray[np.int64]:
        """How many of these lanes each group has."""
        if self.is_all:
            return self.grid.lanes_of_group
        return np.bincount(self.group, minlength=self.grid.groups)

    @cached_property
    def warps_per_group(self) -> NDArray[np.int64]:
        """How many warps of each group have lanes here."""
        return np.bincount(self.warp_groups, minlength=self.grid.groups)

    def where(self, mask: NDArray[np.bool_]) -> "Lanes":
        """Those of these lanes for which `mask` holds."""
        return Lanes(self.grid, self.index[mask])
