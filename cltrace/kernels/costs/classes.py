"""Cost classes: operations are counted by them, and calibration measures them.

They are as fine as time (Pöppl 2014, section 6.1) and energy (Piispanen 2014, section 5.1) need.
"""

from enum import StrEnum


class CostClass(StrEnum):
    """Cost class of an operation. The type that the operation works on is counted apart from it."""

    INT_ADD = "int add"
    INT_MULTIPLY = "int multiply"
    INT_DIVIDE = "int divide"
    INT_LOGIC = "int logic"
    """Shifts and bitwise operations."""
    INT_COMPARE = "int compare"
    FLOAT_ADD = "float add"
    FLOAT_MULTIPLY = "float multiply"
    FLOAT_MULTIPLY_ADD = "float multiply-add"
    FLOAT_DIVIDE = "float divide"
    FLOAT_COMPARE = "float compare"
    SPECIAL = "special"
    """Square roots, exponentials, logarithms, trigonometric and other functions."""
    CONVERT = "convert"
    SELECT = "select"
    ADDRESS = "address"
    """Address computation from indices."""
    MOVE = "move"
    """Building vectors, taking them apart, and copies."""
    WORK_ITEM = "work-item"
    """Queries of ids and sizes."""
    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    IMAGE = "image"
    BRANCH = "branch"
    BARRIER = "barrier"
    COLLECTIVE = "collective"
    """Reductions, scans, broadcasts and votes of a work-group or sub-group, and copies by a group."""
    OTHER = "other"
