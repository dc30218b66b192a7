"""Work-item functions: ids and sizes (OpenCL C 3.0, section 6.15.1)."""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from cltrace.kernels.execute.lanes import Grid, Lanes
from cltrace.kernels.values import Value

_ByDimension = Callable[[Lanes, int], Value]


def _global_id(lanes: Lanes, axis: int) -> Value:
    grid = lanes.grid
    return lanes.take(grid.relative_ids[axis]) + np.int64(grid.ndrange.global_offset[axis])


def _local_size(lanes: Lanes, axis: int) -> Value:
    ndrange = lanes.grid.ndrange
    if ndrange.global_size[axis] % ndrange.local_size[axis]:
        return lanes.take(lanes.grid.group_sizes(axis))
    return np.int64(ndrange.local_size[axis])


_IDS: Final[Mapping[str, _ByDimension]] = {
    "get_global_id": _global_id,
    "get_local_id": lambda lanes, axis: lanes.take(lanes.grid.local_ids[axis]),
    "get_group_id": lambda lanes, axis: lanes.take(lanes.grid.group_id(axis)),
    "get_global_offset": lambda lanes, axis: np.int64(lanes.grid.ndrange.global_offset[axis]),
}
_SIZES: Final[Mapping[str, _ByDimension]] = {
    "get_global_size": lambda lanes, axis: np.int64(lanes.grid.ndrange.global_size[axis]),
    "get_local_size": _local_size,
    "get_enqueued_local_size": lambda lanes, axis: np.int64(lanes.grid.ndrange.local_size[axis]),
    "get_num_groups": lambda lanes, axis: np.int64(lanes.grid.ndrange.group_counts[axis]),
}


def _linear_global(lanes: Lanes) -> Value:
    grid = lanes.grid
    linear_id: Value = np.int64(0)
    for axis in reversed(range(grid.ndrange.dimensions)):
        linear_id = linear_id * grid.ndrange.global_size[axis] + grid.relative_ids[axis]
    return lanes.take(linear_id)


def _sub_group_id(grid: Grid) -> Value:
    return grid.linear_in_group // grid.warp_width


def _sub_group_size(lanes: Lanes) -> Value:
    grid = lanes.grid
    remaining = grid.lanes_of_group[grid.group] - _sub_group_id(grid) * grid.warp_width
    return lanes.take(np.minimum(remaining, grid.warp_width)).astype(np.int32)


def _sub_group_count(lanes: Lanes) -> Value:
    grid = lanes.grid
    return lanes.take(-(-grid.lanes_of_group // grid.warp_width)[grid.group]).astype(np.int32)


_WITHOUT_DIMENSION: Final[Mapping[str, Callable[[Lanes], Value]]] = {
    "get_work_dim": lambda lanes: np.int32(lanes.grid.ndrange.dimensions),
    "get_global_linear_id": _linear_global,
    "get_local_linear_id": lambda lanes: lanes.take(lanes.grid.linear_in_group),
    "get_sub_group_id": lambda lanes: lanes.take(_sub_group_id(lanes.grid)).astype(np.int32),
    "get_sub_group_local_id": lambda lanes: lanes.take(
        lanes.grid.linear_in_group % lanes.grid.warp_width
    ).astype(np.int32),
    "get_sub_group_size": _sub_group_size,
    "get_max_sub_group_size": lambda lanes: np.int32(lanes.grid.warp_width),
    "get_num_sub_groups": _sub_group_count,
    "get_enqueued_num_sub_groups": _sub_group_count,
}


def work_item_value(name: str, dimension: Value | None, lanes: Lanes) -> Value:
    """Return the result of a work-item function for some lanes.

    Beyond the last dimension ids are 0 and sizes 1.
    """
    if dimension is None:
        key = (name, -1)
        if key not in lanes.work_item_values:
            lanes.work_item_values[key] = _WITHOUT_DIMENSION[name](lanes)
        return lanes.work_item_values[key]
    if type(dimension) is np.ndarray:
        by_axis = [work_item_value(name, np.int32(axis), lanes) for axis in range(4)]
        return np.select([dimension == axis for axis in range(3)], by_axis[:3], by_axis[3])
    axis = int(dimension) & 0xFFFFFFFF
    key = (name, axis)
    if key not in lanes.work_item_values:
        if axis >= lanes.grid.ndrange.dimensions:
            lanes.work_item_values[key] = np.int64(name in _SIZES)
        else:
            lanes.work_item_values[key] = (_IDS.get(name) or _SIZES[name])(lanes, axis)
    return lanes.work_item_values[key]
