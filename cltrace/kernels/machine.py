"""The shape of a device as far as counts depend on it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """How lanes are bundled and memory is divided. The defaults are those of NVIDIA's GPUs.

    `warp_width` lanes run in lock-step: on a CPU, those of a vector. Memory moves in sectors within
    lines; on a CPU both are cache lines. Local memory has `banks` of `bank_bytes`. A *wave* is the
    work-groups that are resident at a time: `compute_units` times what each holds of groups, work-items
    and local memory.
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

    @classmethod
    def of_cpu(cls, cores: int, vector_width: int = 8) -> "Machine":
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
        )

    def wave_groups(self, group_items: int, local_bytes: int) -> int:
        """How many work-groups of so many work-items and bytes of local memory are resident at a time."""
        warps = -(-group_items // self.warp_width)
        by_items = max(self.resident_items // (warps * self.warp_width), 1)
        by_local = self.local_bytes // local_bytes if local_bytes else self.resident_groups
        return self.compute_units * max(min(self.resident_groups, by_items, by_local), 1)


NVIDIA = Machine()
"""The default: a large GPU of NVIDIA's."""
