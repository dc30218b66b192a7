"""A kernel as the compiler of a machine leaves it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from cltrace.kernels.costs.operation import Operation
from cltrace.kernels.fold.chains import Chain


@dataclass(frozen=True, slots=True)
class ReadsAhead:
    """Reads of several trips of a loop in flight together, where it is unrolled by `copies`.

    `trips` are those whose reads one round has, the copies of `trips / copies` unrolled bodies.
    """

    loop: int
    copies: int
    trips: float

    def rounds(self, trips: float) -> float:
        """Return the rounds of reads of a loop of so many trips.

        Trips that are left when the bodies are done are loops of their own: of single bodies, then of
        single trips, which wait one by one.
        """
        low = math.floor(trips)
        share = trips - low
        return (1.0 - share) * self._whole_rounds(low) + share * self._whole_rounds(low + 1)

    def _whole_rounds(self, trips: int) -> float:
        bodies, single = divmod(trips, self.copies)
        together = self.trips / self.copies
        if not together.is_integer():
            again, bodies = divmod(bodies, self.copies)
            return again * self.copies / together + bodies * max(1.0, 1.0 / together) + single
        rounds, left = divmod(bodies, int(together))
        return float(rounds + left + single)


@dataclass(frozen=True, slots=True)
class FoldedBlock:
    """Operations and waits of a folded block, per execution.

    `operations` are the numbers of operations. `chain` is the longest chain of waits through the block:
    operations, and rounds of reads by the number of their site. `ahead` is how an unrolled loop overlaps
    these rounds, None where it does not.
    """

    operations: Mapping[Operation, float]
    chain: Chain
    ahead: ReadsAhead | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedKernel:
    """A kernel as the compiler of a machine leaves it: its blocks by number.

    `private_memory` are the numbers of the sites of private variables that are kept in memory,
    `shared_atomics` those at which a GPU's warp makes one atomic operation; there are none on a CPU.
    `summable_atomics` are those of atomic operations that a program could add up first.
    `literal_sites` are those of reads of constant memory that a GPU's compiler makes literals. `entries`
    are the instructions per entry of unrolled loops, by their number. `repeated_copies` are how many
    copies of a read of local memory a GPU's compiler makes one, by site.
    """

    blocks: Mapping[int, FoldedBlock]
    private_memory: frozenset[int]
    shared_atomics: frozenset[int]
    summable_atomics: frozenset[int]
    literal_sites: frozenset[int] = frozenset()
    entries: Mapping[int, float] = field(default_factory=dict)
    repeated_copies: Mapping[int, int] = field(default_factory=dict)
