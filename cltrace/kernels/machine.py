"""The shape of a device as far as counts depend on it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """How lanes are bundled and memory is divided. The defaults are those of NVIDIA's GPUs.

    `warp_width` lanes run in lock-step: on a CPU, those of a vector. Memory moves in sectors within
    lines; on a CPU both are cache lines. Local memory has `banks` of `bank_bytes`. A *wave* is the
    work-groups that are resident at a time: `compute_units` times what each holds of groups, work-items,
    local memory and `registers` of 32 bits, which warps get `register_step` at a time for each lane.
    All units share a cache of `shared_cache_bytes`. Its compiler puts `unrolled_trips` of innermost
    loops side by side, and all of those that are known to have no more than `full_unroll_trips`.
    Where it `has_item_loops`, the work-items of a group are trips of a loop: ids are counters of it.
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
    has_item_loops: bool = False
    unrolled_trips: int = 4
    full_unroll_trips: int = 32

    @classmethod
    def of_cpu(
        cls, cores: int, vector_width: int = 8, shared_cache_bytes: int = 32 << 20
    ) -> "Machine":
        """A CPU: a vector is a warp, a cache line sector and line, a core holds one group."""
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
            has_item_loops=True,
        )

    @property
    def has_registers(self) -> bool:
        """Whether work-items share a compute unit's registers, as those of a GPU do."""
        return self.registers > 0

    def wave_groups(self, group_items: int, local_bytes: int, registers: int = 0) -> int:
        """How many work-groups are resident at a time.

        Each has so many work-items, bytes of local memory, and registers a work-item; 0 where that is
        not known, or none.
        """
        lanes = -(-group_items // self.warp_width) * self.warp_width
        limits = [self.resident_groups, self.resident_items // lanes]
        if local_bytes:
            limits.append(self.local_bytes // local_bytes)
        if registers and self.has_registers:
            kept = -(-registers // self.register_step) * self.register_step
            limits.append(self.registers // (kept * lanes))
        return self.compute_units * max(min(limits), 1)


NVIDIA = Machine()
"""The default: a large GPU of NVIDIA's."""
