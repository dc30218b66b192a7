"""Device properties that counts depend on."""

from dataclasses import dataclass, replace
from enum import StrEnum


class ItemLoops(StrEnum):
    """Ways in which the compiler of a CPU runs the work-items of a group, as trips of a loop."""

    LANES = "lanes"
    """Always as lanes of vectors, loops and calls of functions included (Intel's runtime)."""
    LOOPS = "loops"
    """As lanes where a compiler can vectorise the loop over work-items, else one by one (PoCL)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Execution and memory granularity of a device. The defaults describe NVIDIA's GPUs.

    `warp_width` work-items run in lock-step; on a CPU, it is the vector width. Memory moves in
    sectors within lines; on a CPU both are cache lines. Local memory has `banks` of `bank_bytes`. A
    *wave* is the set of work-groups resident at a time on `compute_units` units; each unit is limited
    to `resident_groups`, `resident_items`, `local_bytes` of local memory and `registers` of 32 bits,
    which are allocated per warp in multiples of `register_step` per lane. All units share a cache of
    `shared_cache_bytes`. The device's compiler unrolls innermost loops by `unrolled_trips` at most. If
    there are `item_loops`, as on a CPU, the work-items of a group run as trips of a loop, with ids as its
    counters, and loops of at most `full_unroll_trips` known trips are unrolled wholly.
    """

    warp_width: int = 32
    sector_bytes: int = 32
    line_bytes: int = 128
    banks: int = 32
    bank_bytes: int = 4
    compute_units: int = 132
    resident_groups: int = 32
    resident_items: int = 2048
    local_bytes: int = 233_472
    registers: int = 65_536
    register_step: int = 8
    shared_cache_bytes: int = 48 << 20
    item_loops: ItemLoops | None = None
    unrolled_trips: int = 4
    full_unroll_trips: int = 32

    @classmethod
    def of_cpu(
        cls,
        cores: int,
        vector_width: int = 8,
        shared_cache_bytes: int = 32 << 20,
        item_loops: ItemLoops = ItemLoops.LANES,
    ) -> "Machine":
        """Return a CPU: a vector is a warp, a cache line is sector and line, a core runs one group."""
        return cls(
            warp_width=vector_width,
            sector_bytes=64,
            line_bytes=64,
            banks=1,
            compute_units=cores,
            resident_groups=1,
            resident_items=1 << 30,
            local_bytes=1 << 30,
            registers=0,
            shared_cache_bytes=shared_cache_bytes,
            item_loops=item_loops,
            full_unroll_trips=32 if item_loops is ItemLoops.LANES else 0,
        )

    @property
    def has_item_loops(self) -> bool:
        """True if work-items are trips of a loop, as on a CPU."""
        return self.item_loops is not None

    @property
    def has_registers(self) -> bool:
        """True if work-items share a compute unit's register file, as on a GPU."""
        return self.registers > 0

    def wave_groups(self, group_items: int, local_bytes: int, registers: int = 0) -> int:
        """Return the number of work-groups resident at a time on the whole device.

        Each group has `group_items` work-items, `local_bytes` of local memory and `registers` per
        work-item; 0 registers if unknown.
        """
        lanes = -(-group_items // self.warp_width) * self.warp_width
        limits = [self.resident_groups, self.resident_items // lanes]
        if local_bytes:
            limits.append(self.local_bytes // local_bytes)
        if registers and self.has_registers:
            limits.append(self.registers // (self._allocated(registers) * lanes))
        return self.compute_units * max(min(limits), 1)

    def with_registers(self, registers: int) -> "Machine":
        """Return the device as it is for a kernel with `registers` per work-item; 0 if unknown."""
        if not registers or not self.has_registers:
            return self
        resident = self.registers // self._allocated(registers)
        return replace(self, resident_items=min(self.resident_items, resident))

    def max_registers(self, resident_items: int) -> int:
        """Return the registers per work-item with which `resident_items` fit on a compute unit."""
        lanes = -(-resident_items // self.warp_width) * self.warp_width
        return self.registers // lanes // self.register_step * self.register_step

    def _allocated(self, registers: int) -> int:
        return -(-registers // self.register_step) * self.register_step


NVIDIA = Machine()
"""The default machine: a large NVIDIA GPU."""
