"""Kinds of builtin functions by name: work-item functions, barriers, collectives."""

import re
from typing import Final

EMISSION_PREFIX: Final = "__cltrace_emit_"
"""Begin of the names of functions that record a value; their number follows."""
WORK_ITEM_FUNCTIONS: Final = frozenset(
    {
        "get_global_id",
        "get_local_id",
        "get_group_id",
        "get_global_offset",
        "get_global_size",
        "get_local_size",
        "get_enqueued_local_size",
        "get_num_groups",
        "get_work_dim",
        "get_global_linear_id",
        "get_local_linear_id",
        "get_sub_group_id",
        "get_sub_group_local_id",
        "get_sub_group_size",
        "get_max_sub_group_size",
        "get_num_sub_groups",
        "get_enqueued_num_sub_groups",
    }
)
"""Functions that return an id or a size (OpenCL C 3.0, sections 6.15.1 and 6.15.19)."""
SAME_IN_GROUP: Final = frozenset(
    {
        "get_global_size",
        "get_local_size",
        "get_num_groups",
        "get_group_id",
        "get_work_dim",
        "get_global_offset",
        "get_enqueued_local_size",
        "get_num_sub_groups",
        "get_sub_group_size",
    }
)
"""Work-item functions with the same result for all work-items of a work-group."""
BARRIERS: Final = frozenset({"barrier", "work_group_barrier", "sub_group_barrier"})
COLLECTIVE_NAME: Final = re.compile(
    r"(?P<scope>work_group|sub_group|intel_sub_group)_(?:non_uniform_)?"
    r"(?P<what>all|any|elect|broadcast|broadcast_first|shuffle|shuffle_xor|shuffle_up|shuffle_down"
    r"|reduce|scan_inclusive|scan_exclusive|ballot)(?:_(?P<operation>add|min|max|mul|and|or|xor))?"
)
"""Parts of the names of votes, broadcasts, reductions and scans (sections 6.15.16 and 6.15.19)."""


def is_work_item_function(name: str) -> bool:
    """Return whether a function returns an id or a size."""
    return name in WORK_ITEM_FUNCTIONS


def is_image_query(name: str) -> bool:
    """Return whether a function returns a property of an image."""
    return name.startswith("get_image_")


def is_barrier(name: str) -> bool:
    """Return whether a function is a barrier."""
    return name in BARRIERS


def is_collective(name: str) -> bool:
    """Return whether a function computes a value over a work-group or sub-group."""
    return COLLECTIVE_NAME.fullmatch(name) is not None
