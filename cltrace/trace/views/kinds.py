"""Kinds of the values in columns of views, for export formats with typed columns."""

from enum import StrEnum
from typing import Final


class ValueKind(StrEnum):
    """Kind of the values in a column."""

    WHOLE = "whole"
    REAL = "real"
    TEXT = "text"
    BYTES = "bytes"


_TEXTS: Final = frozenset(
    {
        *("key", "host", "argv", "working_directory", "executable", "python_version"),
        *("pyopencl_version", "environment", "ended_how", "name", "file", "function", "vendor"),
        *("version", "platform", "driver_version", "kind", "bus", "uuid", "extensions", "origin"),
        *("source", "text", "api", "options", "log", "site", "fate", "sha256", "kernel"),
        *("global_size", "local_size", "global_offset", "dtype", "detail", "stamp_faults", "state"),
        *("reason", "severity", "code", "message", "what", "dimension", "label", "activity"),
        *("reader", "quantity", "scope", "inside", "device", "note", "evidence", "remedy"),
        *("security", "ended"),
    }
)
_REALS: Final = frozenset(
    {
        *("drift", "drift_within", "half_width_ns", "bound_ns", "median_ns", "wait_median_ns"),
        *("plain_ns", "profiling_ns", "unit_per_step", "quantum", "period_s", "window_s"),
        *("delay_s", "lag_s", "gain_error", "asked_period_s", "period_p5_s", "period_p50_s"),
        *("period_p95_s", "read_p50_s", "power_w", "energy_j"),
    }
)
_BYTES: Final = frozenset({("v_launch_arg", "value"), ("v_content", "deflated")})
_MORE_TEXTS: Final = frozenset({("v_meta", "value")})


def value_kind(view: str, column: str) -> ValueKind:
    """Return the kind of the values in a column of a view."""
    if (view, column) in _BYTES:
        return ValueKind.BYTES
    if column in _REALS:
        return ValueKind.REAL
    if column in _TEXTS or (view, column) in _MORE_TEXTS:
        return ValueKind.TEXT
    return ValueKind.WHOLE
