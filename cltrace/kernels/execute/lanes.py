"""Lanes: the work-items of the executed work-groups, and sets of them.

The lanes of a group are in the order of their linear local ids, first dimension fastest. Consecutive
lanes form *warps*, which run in lock-step on a device.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.values import Array, Value


@dataclass(frozen=True, slots=True)
class NDRange:
    """A launch's index space. Sizes have as many entries as the launch has dimensions."""

    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    global_offset: tuple[int, ...]

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""
        return len(self.global_size)

    @property
    def group_counts(self) -> tuple[int, ...]:
        """The number of work-groups per dimension, including partial ones at the end."""
        return tuple(
            -(-size // local) for size, local in zip(self.global_size, self.local_size, strict=True)
        )

    @property
    def groups(self) -> int:
        """The number of work-groups."""
        return math.prod(self.group_counts)

    @property
    def work_items(self) -> int:
        """The number of work-items."""
        return math.prod(self.global_size)

    @property
    def group_items(self) -> int:
        """The number of work-items in a full work-group."""
        return math.prod(self.local_size)


class Grid:
    """The lanes of some work-groups of a launch.

    `group_numbers` are linear. `group` is the position in `group_numbers` of each lane's group,
    `warp` the number of each lane's warp, ascending.
    """

    def __init__(
        self, ndrange: NDRange, group_numbers: Sequence[int] | NDArray[np.int64], warp_width: int
    ) -> None:
        self.ndrange = ndrange
        self.group_numbers = np.asarray(group_numbers, np.int64)
        self.warp_width = warp_width
        items = ndrange.group_items
        groups = len(self.group_numbers)
        linear = np.tile(np.arange(items, dtype=np.int64), groups)
        group = np.repeat(np.arange(groups, dtype=np.int64), items)
        local = _unravel(linear, ndrange.local_size)
        group_ids = _unravel(self.group_numbers, ndrange.group_counts)
        self._group_ids = group_ids
        ids = [
            group_id[group] * size + local_id
            for group_id, size, local_id in zip(group_ids, ndrange.local_size, local, strict=True)
        ]
        if any(
            size % part for size, part in zip(ndrange.global_size, ndrange.local_size, strict=True)
        ):
            inside = np.ones(len(linear), np.bool_)
            for position, size in zip(ids, ndrange.global_size, strict=True):
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
        """Return the group id of each lane."""
        return self._group_ids[dimension][self.group]

    def group_sizes(self, dimension: int) -> NDArray[np.int64]:
        """Return the number of work-items of each lane's group in a dimension."""
        ndrange = self.ndrange
        begin = self.group_id(dimension) * ndrange.local_size[dimension]
        return np.minimum(ndrange.local_size[dimension], ndrange.global_size[dimension] - begin)

    @cached_property
    def all(self) -> "Lanes":
        """All lanes."""
        return Lanes(self, np.arange(self.count, dtype=np.int64))


def _unravel(linear: Array, sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """Return the position per dimension of linear numbers, first dimension fastest."""
    positions = []
    rest = linear
    for size in sizes:
        positions.append(rest % size)
        rest = rest // size
    return positions


class Lanes:
    """A set of lanes in ascending order. Its properties are computed once."""

    def __init__(self, grid: Grid, index: NDArray[np.int64]) -> None:
        self.grid = grid
        self.index = index
        self.count = len(index)
        self.is_all = self.count == grid.count
        self.work_item_values: dict[tuple[str, int], Value] = {}
        """Cached results of work-item functions for these lanes, by name and dimension."""

    def take(self, by_lane: Array) -> Array:
        """Return the entries of these lanes in an array of all lanes."""
        return by_lane if self.is_all else by_lane[self.index]

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """The position of each lane's group."""
        group: NDArray[np.int64] = self.take(self.grid.group)
        return group

    @cached_property
    def warp(self) -> NDArray[np.int64]:
        """The number of each lane's warp."""
        warp: NDArray[np.int64] = self.take(self.grid.warp)
        return warp

    @cached_property
    def warp_begins(self) -> NDArray[np.int64]:
        """The position of each warp's first lane among these lanes."""
        if self.count == 0:
            return np.zeros(0, np.int64)
        return np.concatenate([[0], np.flatnonzero(np.diff(self.warp)) + 1]).astype(np.int64)

    @cached_property
    def warp_groups(self) -> NDArray[np.int64]:
        """The position of the group of each warp that has lanes here."""
        return self.group[self.warp_begins]

    @cached_property
    def warp_numbers(self) -> NDArray[np.int64]:
        """The number of each warp that has lanes here."""
        return self.warp[self.warp_begins]

    @cached_property
    def positions_by_warp(self) -> NDArray[np.int64]:
        """The positions among these lanes by warp: shape (warps, most lanes of a warp).

        The places that a warp with fewer lanes does not fill have its first lane.
        """
        begins = self.warp_begins
        counts = np.diff(begins, append=self.count)
        place = np.arange(counts.max(initial=0))
        return np.where(place < counts[:, None], place, 0) + begins[:, None]

    @cached_property
    def has_whole_warps(self) -> bool:
        """True if every warp that has lanes here has all of its lanes here."""
        return len(self.warp_begins) * self.grid.warp_width == self.count

    @cached_property
    def per_group(self) -> NDArray[np.int64]:
        """The number of these lanes in each group."""
        if self.is_all:
            return self.grid.lanes_of_group
        return np.bincount(self.group, minlength=self.grid.groups)

    @cached_property
    def warps_per_group(self) -> NDArray[np.int64]:
        """The number of warps of each group that have lanes here."""
        return np.bincount(self.warp_groups, minlength=self.grid.groups)

    def where(self, mask: NDArray[np.bool_]) -> "Lanes":
        """Return the lanes for which `mask` holds."""
        return Lanes(self.grid, self.index[mask])
