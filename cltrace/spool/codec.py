"""Records as lines of text: a JSON array of the record's table and its fields in order.

The reader takes nothing on trust: a line that is not exactly what `encode` writes is a `SpoolError`.
"""

import json
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, Final, Union, cast, get_args, get_origin, get_type_hints

from cltrace.errors import SpoolError
from cltrace.events import records
from cltrace.events.records import Argument, Record

_CLASSES: Final[dict[str, type[Record]]] = {
    record.TABLE: record for record in get_args(records.Record)
}
_NAMES: Final[dict[type, tuple[str, ...]]] = {
    record: tuple(one.name for one in fields(record)) for record in (*_CLASSES.values(), Argument)
}


def encode(record: Record) -> bytes:
    """One line, newline included. Text that is not Unicode survives as lone surrogates."""
    values = [getattr(record, name) for name in _NAMES[type(record)]]
    return (
        json.dumps([record.TABLE, *values], default=_nested, separators=(",", ":")).encode() + b"\n"
    )


def decode(line: bytes) -> Record:
    """The record in `line`. Raises: `SpoolError` when the line is anything but a record."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SpoolError(f"a record is damaged: {error}") from error
    if not isinstance(values, list) or not values or not isinstance(values[0], str):
        raise SpoolError("a record is damaged: it names no table")
    record = _CLASSES.get(values[0])
    if record is None:
        raise SpoolError(f"a record is damaged: there is no table {values[0]!r}")
    try:
        return cast("Record", _build(record, values[1:]))
    except ValueError as error:
        raise SpoolError(f"a record is damaged: {error}") from error


def _nested(value: object) -> list[Any]:
    return [getattr(value, name) for name in _NAMES[type(value)]]


def _build(record: type[Any], values: list[Any]) -> Any:
    readers = _readers(record)
    if len(readers) != len(values):
        raise SpoolError(
            f"a record of {record.__name__} has {len(values)} fields, {len(readers)} expected"
        )
    return record(*(read(value) for read, value in zip(readers, values, strict=True)))


_READERS: Final[dict[type, tuple[Callable[[Any], Any], ...]]] = {}


def _readers(record: type[Any]) -> tuple[Callable[[Any], Any], ...]:
    """One checking reader a field, made from the field's annotation once."""
    if record not in _READERS:
        hints = get_type_hints(record)
        _READERS[record] = tuple(_reader(hints[one.name]) for one in fields(record))
    return _READERS[record]


def _reader(annotation: Any) -> Callable[[Any], Any]:
    origin = get_origin(annotation)
    if origin in {types.UnionType, Union}:
        allowed = tuple(get_args(annotation))
        return lambda value: _checked(value, allowed)
    if origin is tuple:
        inner = [_reader(one) for one in get_args(annotation) if one is not Ellipsis]
        if Ellipsis in get_args(annotation):
            return lambda value: tuple(inner[0](one) for one in _checked(value, (list,)))
        return lambda value: tuple(
            read(one) for read, one in zip(inner, _checked(value, (list,)), strict=True)
        )
    if isinstance(annotation, type) and is_dataclass(annotation):
        nested: type[Any] = annotation
        return lambda value: _build(nested, _checked(value, (list,)))
    return lambda value: _checked(value, (annotation,))


def _checked(value: Any, allowed: tuple[Any, ...]) -> Any:
    if type(value) in allowed or (type(value) is int and float in allowed):
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise SpoolError(f"a record is damaged: {value} does not fit 64 bits")
        return value if type(value) in allowed else float(value)
    expected = " or ".join(one.__name__ for one in allowed)
    raise SpoolError(f"a record is damaged: {value!r:.60} where {expected} belongs")
