"""The few bytes of protobuf that are written once for each of millions of events.

Everything else is made by the protobuf library: a message that is serialised once, and to whose bytes
fields are appended here. Appending is how protobuf merges messages.
"""

from collections.abc import Iterable
from typing import Final

_VARINT, _BYTES = 0, 2
_SMALL: Final = [bytes([one]) for one in range(128)]


def varint(value: int) -> bytes:
    """A whole number that is not negative, seven bits a byte."""
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
    """What stands before a field's value."""
    return varint(field << 3 | (_BYTES if is_bytes else _VARINT))


def within(field: int, content: bytes) -> bytes:
    """A field that holds a message or text."""
    return tag(field, is_bytes=True) + varint(len(content)) + content


def numbers(field: int, values: Iterable[int]) -> bytes:
    """A repeated field of whole numbers."""
    mark = tag(field)
    return b"".join(mark + varint(one) for one in values)
