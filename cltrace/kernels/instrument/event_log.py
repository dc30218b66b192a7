"""The log that an instrumented kernel writes, as its statements and as numbers.

Each recorded work-item has a stretch of 64-bit words. The first ones are the addresses of the memory
that is its own or its work-group's. Each further event is a word with a code in its upper 16 bits: the
number of a site with the address of an access, or with the first coordinate in an image, or one of the
codes below. Words behind the end of the stretch are counted and dropped. A work-item with too
many words, or trips through loops, is stopped.
"""

from collections.abc import Sequence
from typing import Final

CODE_SHIFT: Final = 48
"""The lowest bit of a word's code."""
BIT_CODE: Final = 0xFFFF
"""Code of the digit of a condition."""
VALUE_CODE: Final = 0xFFFE
"""Code of an emitted value: its number. The words of the next three codes follow."""
INDEX_CODE: Final = 0xFFFD
"""Code of a value's index, of which the lower bits are kept."""
LOW_CODE: Final = 0xFFFC
"""Code of the lower 32 bits of a value."""
HIGH_CODE: Final = 0xFFFB
"""Code of the upper 32 bits of a value."""
COORDINATE_CODE: Final = 0xFFFA
"""Code of a further coordinate in an image."""
MAX_SITES: Final = 0xFFF0
"""Limit on the number of places that access memory or have barriers."""
STOPPED: Final = 1 << 31
"""Bit of a work-item's number of words that tells that it was stopped."""
_PATIENCE_ITEMS: Final = 256
"""Stopped work-items of a launch after which the limit of the others is lower."""
_LOWER: Final = 64
"""Divisor of that lower limit."""

DECLARATIONS: Final = f"""\
#define CLTRACE_PUT(word) \\
    {{ if (cltrace_end < cltrace_room) cltrace_words[cltrace_end] = (word); ++cltrace_end; }}
#define CLTRACE_EVENT(code, load) \\
    CLTRACE_PUT(((ulong)(code) << {CODE_SHIFT}) | ((ulong)(load) & {(1 << CODE_SHIFT) - 1:#x}ul))
#define CLTRACE_TRIP \\
    if (--cltrace_trips == 0 || cltrace_end >= cltrace_item_limit) goto cltrace_stop;
#define CLTRACE_LINEAR(id, size) (id(0) + size(0) * (id(1) + size(1) * id(2)))
"""
"""Macros in front of an instrumented kernel."""
PARAMETERS: Final = (
    "__global ulong *cltrace_bases",
    "__global const int *cltrace_rows",
    "__global const ulong *cltrace_begins",
    "__global uint *cltrace_counts",
    "__global ulong *cltrace_log",
    "__global uint *cltrace_stops",
    "const uint cltrace_item_limit",
)
"""Parameters that follow those of the kernel: the addresses of memory that all work-items share, the row
of each work-group among the recorded ones or -1, the first word of each recorded work-item's stretch
and the end of the last one, the number of words that each wrote, the words, the number of stopped
work-items with an entry for each work-group behind it, and the limit of a work-item's words and trips."""
ENTRY: Final = f"""\
const uint cltrace_group_items = (uint)(get_local_size(0) * get_local_size(1) * get_local_size(2));
const uint cltrace_linear = (uint)CLTRACE_LINEAR(get_local_id, get_local_size);
const uint cltrace_group = (uint)CLTRACE_LINEAR(get_group_id, get_num_groups);
const int cltrace_row = cltrace_rows[cltrace_group];
ulong cltrace_item = 0, cltrace_begin = 0;
uint cltrace_room = 0, cltrace_end = 0;
if (cltrace_row >= 0) {{
    cltrace_item = (ulong)cltrace_row * cltrace_full_group + cltrace_linear;
    cltrace_begin = cltrace_begins[cltrace_item];
    cltrace_room = (uint)(cltrace_begins[cltrace_item + 1] - cltrace_begin);
}}
__global ulong *cltrace_words = cltrace_log + cltrace_begin;
uint cltrace_trips = cltrace_item_limit;
if (((volatile __global uint *)cltrace_stops)[0] >= {_PATIENCE_ITEMS}) cltrace_trips /= {_LOWER};
"""
"""Statements at the begin of a work-item."""
EXIT: Final = "if (cltrace_row >= 0) cltrace_counts[cltrace_item] = cltrace_end | cltrace_cut;"
"""Statement at the end of a work-item."""
TRIP: Final = "CLTRACE_TRIP"
"""Statement of a trip through a loop."""


def record_access(site: int, address: str) -> str:
    """Return the statement that records an access of a site."""
    return f"CLTRACE_EVENT({site}, (ulong)({address}))"


def record_texel(site: int, coordinates: Sequence[str]) -> str:
    """Return the statement that records an access of an image by the bits of its coordinates."""
    codes = [site, *(COORDINATE_CODE for _ in coordinates[1:])]
    words = zip(codes, coordinates, strict=True)
    return " ".join(f"CLTRACE_EVENT({code}, {word})" for code, word in words)


def record_bit(bit: int) -> str:
    """Return the statement that records a digit of a condition."""
    return f"CLTRACE_EVENT({BIT_CODE}, {bit})"


def record_barrier(site: int) -> str:
    """Return the statement that records a barrier."""
    return f"CLTRACE_EVENT({site}, 0)"


def record_word(word: str) -> str:
    """Return the statement that records a whole word."""
    return f"CLTRACE_PUT((ulong)({word}))"


def record_value(emission: int, index: str, bits: str) -> str:
    """Return the statement that records a value by its bits, an expression of type `ulong`."""
    words = {
        VALUE_CODE: str(emission),
        INDEX_CODE: index,
        LOW_CODE: f"({bits}) & 0xfffffffful",
        HIGH_CODE: f"({bits}) >> 32",
    }
    return " ".join(f"CLTRACE_EVENT({code}, {word})" for code, word in words.items())
