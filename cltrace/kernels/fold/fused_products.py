"""Products of floats that a GPU's compiler makes one instruction with the sums that use them.

The rules are those of the code that NVIDIA's assembler makes of an H200's driver's PTX (driver 580):

- The language front end joins a product and a sum of one expression (`llvm.fmuladd`).
- A product that only sums use joins all of them, whichever statements they stand in. If something else
  uses it, too, it stays, and sums use its result.
- Where the program's options allow approximations, a sum takes a product in any case.
- Of two products, a sum takes one; of a product and a quotient, the quotient.
- Under `FP_CONTRACT OFF` products are marked as rounded (`mul.rn`) and stay apart.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.definitions import Definitions
from cltrace.kernels.ir.instructions import Binary, Instruction

_SUMS: Final = frozenset({"fadd", "fsub"})


@dataclass(frozen=True, slots=True)
class FusedProducts:
    """Sums that take a product, and products that are nothing but parts of sums, by their results."""

    sums: frozenset[int] = frozenset()
    products: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls, kernel: PreparedKernel, values: Definitions, sums_of_themselves: frozenset[int]
    ) -> "FusedProducts":
        """Return those of a kernel.

        `sums_of_themselves` are products with 2, which the compiler makes sums.
        """
        if not kernel.contracts:
            return cls()
        products = frozenset(_products(values)) - sums_of_themselves
        removable = frozenset(slot for slot in products if _is_summed(slot, values))
        taken = dict(_taken(products, removable, values))
        used_up = frozenset(taken.values())
        kept = frozenset(slot for slot in removable if not _takes_all(slot, taken, values))
        return cls(frozenset(taken), (used_up & removable) - kept)


def _products(values: Definitions) -> Iterator[int]:
    for item in values.defined.values():
        match item:
            case Binary(result, "fmul", _, _, _):
                yield result
            case _:
                pass


def _is_sum(item: Instruction) -> bool:
    return isinstance(item, Binary) and item.operator in _SUMS


def _is_quotient(item: Instruction | None) -> bool:
    return isinstance(item, Binary) and item.operator == "fdiv"


def _is_summed(slot: int, values: Definitions) -> bool:
    """Return True for a value that only sums use."""
    users = values.users.get(slot, ())
    return bool(users) and not values.is_kept(slot) and all(map(_is_sum, users))


def _taken(
    products: frozenset[int], removable: frozenset[int], values: Definitions
) -> Iterator[tuple[int, int]]:
    """Yield the result of each sum that takes a product, and that of the product."""
    for item in values.defined.values():
        if not isinstance(item, Binary) or item.operator not in _SUMS:
            continue
        if any(map(_is_quotient, map(values.defined.get, (item.left, item.right)))):
            continue
        operands = sorted({item.left, item.right} & products)
        first = [slot for slot in operands if slot in removable]
        others = [slot for slot in operands if item.is_approximate]
        for slot in (first or others)[:1]:
            if item.left != item.right:
                yield item.result, slot


def _takes_all(slot: int, taken: Mapping[int, int], values: Definitions) -> bool:
    """Return True for a product that each sum takes that uses it."""
    return all(
        isinstance(user, Binary) and taken.get(user.result) == slot
        for user in values.users.get(slot, ())
    )
