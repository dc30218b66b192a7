"""Arguments of launch configurations in words."""

import re
from collections.abc import Mapping
from typing import Final, Literal

import numpy as np

from cltrace.report.document import Unit
from cltrace.report.quantities import value_text
from cltrace.report.untrusted_text import escape_controls
from cltrace.trace.reader import Trace

_ARGUMENTS: Final = """
    SELECT a.launch_id, a.kind, a.buffer_id, a.offset_bytes, a.size_bytes, a.dtype, a.value, a.detail,
           m.kind, m.size_bytes
    FROM v_launch_arg a LEFT JOIN v_buffer m USING (buffer_id) ORDER BY a.launch_id, a.position
"""
_MAX_SHOWN_BYTES: Final = 16
_PYTHON_TYPES: Final = {"int": "<i8", "float": "<f8"}
_NUMBER_TYPE: Final = re.compile(r"[<>|=]?([iu][1248]|f[248])")
_REALS: Final = {2: "<f2", 4: "<f4", 8: "<f8"}
"""Types of floating-point numbers by size in bytes."""


def read_argument_texts(trace: Trace) -> Mapping[int, tuple[str, ...]]:
    """Return the arguments of each launch configuration in the order of the kernel's parameters."""
    texts: dict[int, list[str]] = {}
    for launch, *facts in trace.iterate(_ARGUMENTS):
        if isinstance(launch, int):
            texts.setdefault(launch, []).append(_argument_text(*facts))
    return {launch: tuple(arguments) for launch, arguments in texts.items()}


def _argument_text(
    kind: object,
    buffer: object,
    offset: object,
    size: object,
    dtype: object,
    value: object,
    detail: object,
    memory_kind: object,
    memory_bytes: object,
) -> str:
    if kind == "scalar":
        return _scalar_text(value, dtype, detail)
    if isinstance(buffer, int):
        of = f", {_size_text(memory_bytes)}" if isinstance(memory_bytes, int) else ""
        begin = f", from byte {offset}" if offset else ""
        return f"{escape_controls(str(memory_kind or kind))} {buffer}{of}{begin}"
    if kind == "local" and isinstance(size, int):
        return f"local memory, {_size_text(size)}"
    return escape_controls(str(kind))


def _scalar_text(value: object, dtype: object, detail: object) -> str:
    """Return a number in words. Bytes without a type are read as an integer and as a float."""
    if not isinstance(value, bytes):
        return escape_controls(str(detail)) if detail is not None else "a scalar, not recorded"
    typed = _PYTHON_TYPES.get(str(dtype), str(dtype))
    integer = int.from_bytes(value, "little", signed=True)
    if _NUMBER_TYPE.fullmatch(typed) and np.dtype(typed).itemsize == len(value):
        return f"{np.frombuffer(value, typed)[0]:.9g}" if "f" in typed else _integer(value, typed)
    if len(value) in _REALS:
        real = np.frombuffer(value, _REALS[len(value)])[0]
        return f"{integer} as an integer, {real:.9g} as a float"
    if len(value) == 1:
        return str(integer)
    shown = value[:_MAX_SHOWN_BYTES].hex(" ", 4)
    return f"{len(value)} bytes: {shown}{' …' if len(value) > _MAX_SHOWN_BYTES else ''}"


def _integer(value: bytes, typed: str) -> str:
    order: Literal["little", "big"] = "big" if typed.startswith(">") else "little"
    return str(int.from_bytes(value, order, signed="i" in typed))


def _size_text(size_bytes: int) -> str:
    return value_text(size_bytes, Unit.BYTES)
