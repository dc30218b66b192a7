"""Protobuf encoding of the few bytes that are written once per event, millions of times.

The protobuf library makes everything else: it serialises a message once, and these functions append
fields to its bytes. Protobuf merges messages by appending.
"""

from collections.abc import Iterable
from typing import Final

_VARINT, _BYTES = 0, 2
_SMALL: Final = [bytes([value]) for value in range(128)]


def varint(value: int) -> bytes:
    """Return a non-negative whole number in protobuf's variable length, seven bits per byte."""
    if value < 0:
        raise ValueError(f"{value} is negative")
    if value < 128:
        return _SMALL[value]
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def tag(field: int, *, is_bytes: bool = False) -> bytes:
    """Return the tag of a field, which precedes its value."""
    return varint(field << 3 | (_BYTES if is_bytes else _VARINT))


def bytes_field(field: int, content: bytes) -> bytes:
    """Return a field that holds a message or text."""
    return tag(field, is_bytes=True) + varint(len(content)) + content


def repeated_varint_field(field: int, values: Iterable[int]) -> bytes:
    """Return a repeated field of whole numbers."""
    field_tag = tag(field)
    return b"".join(field_tag + varint(value) for value in values)
