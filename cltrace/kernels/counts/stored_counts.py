"""Counts as text: one JSON array per record, with its fields in their order.

Reading checks every value's type, so that a text that is not of this version is refused.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from cltrace.kernels.counts.records import KernelCounts, WrittenCounts

_Convert = Callable[[Any], Any]
_PLAIN: Final[dict[type, tuple[type, ...]]] = {
    bool: (bool,),
    str: (str,),
    int: (int,),
    float: (float, int),
}
"""Types that JSON has, by the annotated type. A sum of no numbers is an int."""


@dataclass(frozen=True, slots=True)
class _Codec:
    """Conversion of a type to JSON and back. `decode` raises `ValueError`."""

    encode: _Convert
    decode: _Convert


def encode_counts(counts: KernelCounts) -> str:
    """Return counts as text."""
    return json.dumps(_codec_of(KernelCounts).encode(counts), separators=(",", ":"))


def decode_counts(text: str) -> KernelCounts:
    """Return the counts that `encode_counts` made a text of, equal in every bit.

    Raises: `ValueError` for any other text.
    """
    counts: KernelCounts = _codec_of(KernelCounts).decode(json.loads(text))
    return counts


def encode_written(counts: WrittenCounts) -> str:
    """Return the counts of the code as written as text."""
    return json.dumps(_codec_of(WrittenCounts).encode(counts), separators=(",", ":"))


def decode_written(text: str) -> WrittenCounts:
    """Return the counts that `encode_written` made a text of. Raises: `ValueError` for any other text."""
    counts: WrittenCounts = _codec_of(WrittenCounts).decode(json.loads(text))
    return counts


@cache
def _codec_of(kind: Any) -> _Codec:
    if kind in _PLAIN:
        return _plain_codec(_PLAIN[kind])
    if is_dataclass(kind):
        return _record_codec(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        members = {member.value: member for member in kind}
        return _Codec(lambda member: member.value, lambda value: _look_up(members, value))
    if get_origin(kind) in {Union, UnionType}:
        (part,) = (part for part in get_args(kind) if part is not NoneType)
        # Looked up when used, as a record may have a field of its own class.
        return _Codec(
            lambda value: None if value is None else _codec_of(part).encode(value),
            lambda value: None if value is None else _codec_of(part).decode(value),
        )
    if get_origin(kind) is tuple:
        return _tuple_codec(get_args(kind))
    raise TypeError(f"{kind} is not stored")


def _plain_codec(types: tuple[type, ...]) -> _Codec:
    def decode(value: object) -> object:
        if type(value) not in types:
            raise ValueError(f"{value!r:.40} is no {types[0].__name__}")
        return value

    return _Codec(lambda value: value, decode)


def _look_up(members: dict[Any, Enum], value: object) -> Enum:
    if not isinstance(value, str | int) or value not in members:
        raise ValueError(f"{value!r:.40} is not one of {list(members)}")
    return members[value]


def _tuple_codec(parts: tuple[Any, ...]) -> _Codec:
    if len(parts) == 2 and parts[1] is Ellipsis:
        inner = _codec_of(parts[0])
        encode_one, decode_one = inner.encode, inner.decode
        return _Codec(
            lambda items: list(map(encode_one, items)),
            lambda items: tuple(map(decode_one, _check_list(items, None))),
        )
    codecs = [_codec_of(part) for part in parts]
    return _Codec(
        lambda items: [codec.encode(item) for codec, item in zip(codecs, items, strict=True)],
        lambda items: tuple(
            codec.decode(item)
            for codec, item in zip(codecs, _check_list(items, len(codecs)), strict=True)
        ),
    )


def _record_codec(kind: Any) -> _Codec:
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]
    codecs = [_codec_of(hints[name]) for name in names]
    pairs = list(zip(names, codecs, strict=True))
    # Most values are of plain types, for which a look-up is faster than a call.
    decodes = [(_PLAIN.get(hints[name], ()), _codec_of(hints[name]).decode) for name in names]

    def decode(items: object) -> object:
        values = [
            item if type(item) in plain else convert(item)
            for item, (plain, convert) in zip(_check_list(items, len(names)), decodes, strict=True)
        ]
        return kind(**dict(zip(names, values, strict=True)))

    return _Codec(
        lambda record: [codec.encode(getattr(record, name)) for name, codec in pairs], decode
    )


def _check_list(value: object, length: int | None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise ValueError(f"{value!r:.40} is no list of {length if length is not None else 'items'}")
    return value
