"""Records as lines of text: a JSON array of the record's table and its fields in order.

The reader checks every value: a line that `encode` cannot have written is a `SpoolError`.
"""

import json
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, Final, Union, cast, get_args, get_origin, get_type_hints

from cltrace.errors import SpoolError
from cltrace.events import records
from cltrace.events.records import ArgumentSlot, Record

_CLASSES: Final[dict[str, type[Record]]] = {
    record.TABLE: record for record in get_args(records.Record)
}
_NAMES: Final[dict[type, tuple[str, ...]]] = {
    record: tuple(field.name for field in fields(record))
    for record in (*_CLASSES.values(), ArgumentSlot)
}


def encode(record: Record) -> bytes:
    """Return the record's line, with its newline. Text that is not Unicode becomes lone surrogates."""
    values = [getattr(record, name) for name in _NAMES[type(record)]]
    return (
        json.dumps([record.TABLE, *values], default=_field_values, separators=(",", ":")).encode()
        + b"\n"
    )


def decode(line: bytes) -> Record:
    """Return the record in `line`. Raises: `SpoolError` if the line is not a record."""
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


def _field_values(value: object) -> list[Any]:
    return [getattr(value, name) for name in _NAMES[type(value)]]


def _build(record: type[Any], values: list[Any]) -> Any:
    readers = _field_readers(record)
    if len(readers) != len(values):
        raise SpoolError(
            f"a record of {record.__name__} has {len(values)} fields, {len(readers)} expected"
        )
    pairs = zip(readers.items(), values, strict=True)
    return record(**{name: read(value) for (name, read), value in pairs})


_READERS: Final[dict[type, dict[str, Callable[[Any], Any]]]] = {}


def _field_readers(record: type[Any]) -> dict[str, Callable[[Any], Any]]:
    """Return a checking reader per field, in order, made once from the fields' annotations."""
    if record not in _READERS:
        hints = get_type_hints(record)
        _READERS[record] = {field.name: _make_reader(hints[field.name]) for field in fields(record)}
    return _READERS[record]


def _make_reader(annotation: Any) -> Callable[[Any], Any]:
    origin = get_origin(annotation)
    if origin in {types.UnionType, Union}:
        allowed = tuple(get_args(annotation))
        return lambda value: _check_type(value, allowed)
    if origin is tuple:
        readers = [_make_reader(item) for item in get_args(annotation) if item is not Ellipsis]
        if Ellipsis in get_args(annotation):
            return lambda value: tuple(readers[0](item) for item in _check_type(value, (list,)))
        return lambda value: tuple(
            read(item) for read, item in zip(readers, _check_type(value, (list,)), strict=True)
        )
    if isinstance(annotation, type) and is_dataclass(annotation):
        nested: type[Any] = annotation
        return lambda value: _build(nested, _check_type(value, (list,)))
    return lambda value: _check_type(value, (annotation,))


def _check_type(value: Any, allowed: tuple[Any, ...]) -> Any:
    if type(value) in allowed or (type(value) is int and float in allowed):
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise SpoolError(f"a record is damaged: {value} does not fit 64 bits")
        return value if type(value) in allowed else float(value)
    expected = " or ".join(kind.__name__ for kind in allowed)
    raise SpoolError(f"a record is damaged: {value!r:.60} is not of type {expected}")
