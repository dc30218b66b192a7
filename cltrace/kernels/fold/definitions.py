"""Where the values of a kernel are computed, and what uses them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.ir.instructions import Instruction
from cltrace.kernels.ir.uses import operands_of, result_of


@dataclass(frozen=True, slots=True)
class Definitions:
    """Instructions of a kernel by the slots that they compute and use.

    `users` are the instructions that use a slot, once per operand. `uses` counts terminators and phis,
    too.
    """

    defined: Mapping[int, Instruction]
    users: Mapping[int, Sequence[Instruction]]
    uses: Counter[int]

    @classmethod
    def of(cls, kernel: PreparedKernel) -> "Definitions":
        """Return the definitions of a kernel."""
        defined: dict[int, Instruction] = {}
        users: dict[int, list[Instruction]] = {}
        uses: Counter[int] = Counter()
        for number in kernel.graph.order:
            block = kernel.function.blocks[number]
            for item in block.instructions:
                defined[result_of(item)] = item
                for slot in operands_of(item):
                    users.setdefault(slot, []).append(item)
            uses.update(operands_of(block.terminator))
            uses.update(slot for phi in block.phis for _, slot in phi.incoming)
        uses.update({slot: len(items) for slot, items in users.items()})
        return cls(defined, users, uses)

    def is_kept(self, slot: int) -> bool:
        """Return True if a terminator or a phi uses a slot."""
        return self.uses[slot] > len(self.users.get(slot, ()))
