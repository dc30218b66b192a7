"""The classes in which operations are counted, and in which calibration measures them.

They are those by which the literature measures time (Pöppl 2014, section 6.1) and energy (Piispanen
2014, section 5.1), as fine as either needs.
"""

from enum import StrEnum


class CostClass(StrEnum):
    """What an operation costs like. The type that it works on is told apart besides."""

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
    """Computing an address from indices."""
    MOVE = "move"
    """Taking vectors apart and putting them together, and copies."""
    WORK_ITEM = "work-item"
    """Asking for ids and sizes."""
    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    IMAGE = "image"
    BRANCH = "branch"
    BARRIER = "barrier"
    COLLECTIVE = "collective"
    """Reductions, scans, broadcasts and votes of a work-group or sub-group, and copies by a group."""
    OTHER = "other"
