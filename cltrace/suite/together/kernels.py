"""Kernels by what limits them, with the same arguments, so that any two can share their buffers."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from cltrace.events.workloads import BufferInput, Workload

_EACH: Final = "for (uint i = get_global_id(0); i < count; i += get_global_size(0))"
_MIXED: Final = """
uint mixed(uint x) {
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu;
    return x ^ (x >> 16);
}
"""
_ARGUMENTS: Final = "(__global const float *in, __global float *out, uint mask, uint count)"
_MIN_STREAM_BYTES: Final = 64 << 20
_MAX_STREAM_BYTES: Final = 256 << 20
_CACHE_SHARE: Final = 4
_MIN_CACHE_BYTES: Final = 1 << 20
_MAX_CACHE_BYTES: Final = 16 << 20
_COUNTERS: Final = 1 << 12
GROUP_ITEMS: Final = 256
"""Usual size of a work-group."""


class Kind(StrEnum):
    """Limit of a kernel."""

    STREAM = "stream"
    """Memory, read and written in order."""
    RANDOM = "random"
    """Memory, read at random places."""
    CACHE = "cache"
    """The shared cache, which holds all that the kernel touches."""
    COMPUTE = "compute"
    """Arithmetic."""
    LOCAL = "local"
    """Local memory and barriers."""
    ATOMICS = "atomics"
    """Atomic operations on some thousand counters."""


@dataclass(frozen=True, slots=True)
class Room:
    """Room for a launch: the bytes of the shared cache, and the largest buffer.

    `groups` is the number of work-groups of a launch, None for as many as there are elements for.
    """

    cache_bytes: int
    max_buffer_bytes: int
    groups: int | None
    group_items: int = GROUP_ITEMS

    @property
    def stream_bytes(self) -> int:
        """Bytes of a buffer: more than the cache holds, if there is memory for it; a power of two."""
        wanted = min(max(2 * self.cache_bytes, _MIN_STREAM_BYTES), _MAX_STREAM_BYTES)
        return 1 << (min(wanted, self.max_buffer_bytes).bit_length() - 1)

    @property
    def resident_bytes(self) -> int:
        """Bytes that stay in the cache beside those of a few others; a power of two."""
        wanted = min(max(self.cache_bytes // _CACHE_SHARE, _MIN_CACHE_BYTES), _MAX_CACHE_BYTES)
        return 1 << (min(wanted, self.stream_bytes).bit_length() - 1)


@dataclass(frozen=True, slots=True)
class KindKernel:
    """A kernel of a kind.

    `elements` are those that a launch goes through, by those of a buffer; where it has few work-groups,
    each work-item goes through `trips` of them instead, if there are any.
    """

    source: str
    elements: float
    trips: int = 0

    def launch(self, kind: Kind, room: Room) -> Workload:
        """Return a launch in some room."""
        buffer = BufferInput(room.stream_bytes)
        count = max(int(self.elements * room.stream_bytes) // 4, room.group_items)
        items = count if room.groups is None else room.groups * room.group_items
        if room.groups is not None and self.trips:
            count = items * self.trips
        match kind:
            case Kind.CACHE:
                mask = room.resident_bytes // 4 - 1
            case Kind.ATOMICS:
                mask = _COUNTERS - 1
            case _:
                mask = room.stream_bytes // 4 - 1
        inputs = (buffer, buffer, np.uint32(mask), np.uint32(count))
        return Workload(self.source, f"{kind}_launch", (items,), (room.group_items,), inputs)


def _kernel(kind: Kind, body: str, elements: float, trips: int = 0, before: str = "") -> KindKernel:
    loop = f"{_EACH} {{ {body} }}"
    source = f"{_MIXED}__kernel void {kind}_launch{_ARGUMENTS} {{\n{before}    {loop}\n}}\n"
    return KindKernel(source, elements, trips)


CALIBRATION: Final[Mapping[Kind, KindKernel]] = {
    Kind.STREAM: _kernel(Kind.STREAM, "out[i & mask] = in[i & mask] * 1.5f;", 1.0),
    Kind.RANDOM: _kernel(Kind.RANDOM, "out[i & mask] = in[mixed(i) & mask];", 1 / 32, 1_000),
    Kind.CACHE: _kernel(Kind.CACHE, "out[i & mask] = in[(i + 64) & mask] + 1.0f;", 1.0),
    Kind.COMPUTE: _kernel(
        Kind.COMPUTE,
        "float x = i; for (int k = 0; k < 64; ++k) x = x * 0.999f + 0.5f; out[i & mask] = x;",
        1 / 64,
        3_000,
    ),
    Kind.LOCAL: _kernel(
        Kind.LOCAL,
        "kept[own] = i; barrier(CLK_LOCAL_MEM_FENCE); float sum = 0; "
        "for (int k = 1; k < 17; ++k) sum += kept[(own + k) & 255]; "
        "barrier(CLK_LOCAL_MEM_FENCE); out[i & mask] = sum;",
        1 / 64,
        1_000,
        "    __local float kept[256]; uint own = get_local_id(0);\n",
    ),
    Kind.ATOMICS: _kernel(
        Kind.ATOMICS,
        "atomic_add((volatile __global int *)out + (mixed(i) & mask), 1);",
        1 / 32,
        1_000,
    ),
}
"""The kernels that costs are fitted to."""
EVALUATION: Final[Mapping[Kind, KindKernel]] = {
    Kind.STREAM: _kernel(
        Kind.STREAM, "out[i & mask] = in[i & mask] + 0.5f * in[(count - 1 - i) & mask];", 1.0
    ),
    Kind.RANDOM: _kernel(
        Kind.RANDOM,
        "out[i & mask] = in[mixed(i) & mask] + in[mixed(i ^ 0x9e3779b9u) & mask];",
        1 / 64,
        500,
    ),
    Kind.CACHE: _kernel(
        Kind.CACHE,
        "out[i & mask] = in[(i + mask) & mask] - 2.0f * in[i & mask] + in[(i + 1) & mask];",
        0.75,
    ),
    Kind.COMPUTE: _kernel(
        Kind.COMPUTE,
        "uint x = i; float y = 1.0f; for (int k = 0; k < 24; ++k) { x = x * 1664525u + 1013904223u; "
        "y = y * 0.5f + (float)(x >> 8); } out[i & mask] = y;",
        1 / 64,
        3_000,
    ),
    Kind.LOCAL: _kernel(
        Kind.LOCAL,
        "kept[own] = in[own] * i; barrier(CLK_LOCAL_MEM_FENCE); "
        "for (uint step = 128; step; step >>= 1) { if (own < step) kept[own] += kept[own + step]; "
        "barrier(CLK_LOCAL_MEM_FENCE); } out[i & mask] = kept[0]; barrier(CLK_LOCAL_MEM_FENCE);",
        1 / 64,
        500,
        "    __local float kept[256]; uint own = get_local_id(0);\n",
    ),
    Kind.ATOMICS: _kernel(
        Kind.ATOMICS,
        "atomic_max((volatile __global int *)out + (mixed(i * 3u) & mask), (int)(i >> 4));",
        1 / 32,
        1_000,
    ),
}
"""The kernels that predictions are held against."""
