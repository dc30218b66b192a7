"""Evolution of values from trip to trip of a loop that a compiler unrolls."""

from collections.abc import Collection, Iterator, Mapping
from enum import IntEnum
from functools import cached_property
from typing import Final

from cltrace.kernels.builtins.function_kinds import is_work_item_function
from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.builtins.table import find_builtin
from cltrace.kernels.flow.canonical_loops import CanonicalLoop
from cltrace.kernels.flow.loops import Graph
from cltrace.kernels.fold.counter_bounds import CounterBounds
from cltrace.kernels.fold.invariant_calls import stays_in_loops
from cltrace.kernels.fold.signed_sums import SIGNED, SignedSums
from cltrace.kernels.ir.instructions import (
    Binary,
    Branch,
    Call,
    Compare,
    Convert,
    Copy,
    ExtractElement,
    InsertElement,
    Instruction,
    Negate,
    Offset,
    Select,
    Shuffle,
)
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.uses import operands_of, result_of

_PURE = (
    Binary,
    Negate,
    Compare,
    Convert,
    Copy,
    Select,
    Offset,
    ExtractElement,
    InsertElement,
    Shuffle,
)
_EXTENSIONS: Final = frozenset({"sext", "zext"})


class Evolution(IntEnum):
    """Evolution of a value from trip to trip. Several operands evolve like the last of theirs here."""

    CONSTANT = 0
    """A compile-time constant."""
    INVARIANT = 1
    """The same value in each trip."""
    CONSTANT_STRIDE = 2
    """A compile-time constant distance per trip."""
    INVARIANT_STRIDE = 3
    """The same distance per trip, known at run time."""
    IRREGULAR = 4


def is_pure(item: Instruction) -> bool:
    """Return True if an instruction only computes a result from its operands."""
    if isinstance(item, Call):
        signature = demangle(item.callee)
        return (
            is_work_item_function(signature.name) or find_builtin(base_name(signature)) is not None
        )
    return isinstance(item, _PURE)


def find_index_values(function: Function, graph: Graph) -> frozenset[int]:
    """Return the values that are computed from ids, sizes, constants and narrow integers alone.

    A compiler that knows the ranges of ids computes them in narrow integers, whatever the source says.
    """
    indices = {item.slot for item in function.constants}
    for number in graph.order:
        for item in function.blocks[number].instructions:
            if _is_index(item, indices):
                indices.add(result_of(item))
    return frozenset(indices)


def find_counter_values(function: Function, graph: Graph) -> frozenset[int]:
    """Return the values with the same distance between work-items: ids, and sums of them.

    Where work-items are trips of a loop, these are its counters, and cost nothing by themselves.
    """
    counters = {item.slot for item in function.constants}
    counters.update(parameter.slot for parameter in function.parameters)
    for number in graph.order:
        for item in function.blocks[number].instructions:
            if _is_counter(item, counters):
                counters.add(result_of(item))
    return frozenset(counters)


def _is_counter(item: Instruction, counters: Collection[int]) -> bool:
    match item:
        case Call():
            return is_work_item_function(demangle(item.callee).name)
        case Binary(_, "add" | "sub" | "mul" | "shl", _, _, _) | Offset():
            return all(slot in counters for slot in operands_of(item))
        case Convert(_, "sext" | "zext" | "trunc", _, _, operand):
            return operand in counters
        case _:
            return False


def _is_index(item: Instruction, indices: Collection[int]) -> bool:
    match item:
        case Call():
            return is_work_item_function(demangle(item.callee).name)
        case Convert(_, "sext" | "zext", _, _, _):
            return True
        case Binary() | Convert() | Select() | Compare():
            return all(slot in indices for slot in operands_of(item))
        case _:
            return False


class LoopEvolution:
    """Evolution of the values of a canonical loop."""

    def __init__(
        self,
        function: Function,
        graph: Graph,
        loop: CanonicalLoop,
        *,
        inlines_calls: bool,
        copy_constants: Collection[int] = frozenset(),
    ) -> None:
        """`inlines_calls` is whether the compiler inlines built-in functions, as those of GPUs do.

        `copy_constants` are constants in each trip, whatever the distance between them.
        """
        self._copy_constants = copy_constants
        self.loop = loop
        self._inlines_calls = inlines_calls
        self.blocks = graph.loops[loop.number].blocks
        self._function = function
        self._constants = function.integer_constants()
        self._all_constants = {item.slot for item in function.constants}
        self._cache: dict[int, Evolution] = {}

    @cached_property
    def _sums(self) -> SignedSums:
        return SignedSums(self._function, is_signed=self.loop.comparison.predicate in SIGNED)

    @cached_property
    def _inside(self) -> Mapping[int, Instruction]:
        return {
            result_of(item): item
            for number in self.blocks
            for item in self._function.blocks[number].instructions
            if result_of(item) >= 0
        }

    @cached_property
    def _phis(self) -> Mapping[int, Evolution]:
        """Evolution of the phis of the loop's blocks; those that are not affine are irregular."""
        phis = {
            phi.result: Evolution.IRREGULAR
            for number in self.blocks
            for phi in self._function.blocks[number].phis
        }
        for phi, following in self.loop.affine:
            phis[phi] = self._stride(following, phi)
        return phis

    def of(self, slot: int) -> Evolution:
        """Return the evolution of a value."""
        cached = self._cache.get(slot)
        if cached is None:
            cached = self._cache[slot] = self._compute(slot)
        return cached

    def step(self, slot: int) -> int | None:
        """Return by how much a counter advances per trip; `None` for no counter, or no constant."""
        following = dict(self.loop.affine).get(slot)
        return None if following is None else self._constant_step(slot, following) or None

    def trips(self) -> int | None:
        """Return the trips of the loop per entry, None if they are not constant, or too many."""
        bounds = self.constant_bounds()
        return bounds.trips_of(self.loop) if bounds is not None else None

    def constant_bounds(self) -> CounterBounds | None:
        """Return the bounds of the counter that ends the loop, None if its trips are not constant."""
        left, right = self.loop.comparison.left, self.loop.comparison.right
        ends = ((left, right, True), (right, left, False))
        for moving, bound, is_left in ends if not self.loop.further_tests else ():
            end, limit = self._sums.of(bound)
            for phi, following in self.loop.affine:
                step, begin = self._constant_step(phi, following), self._begin(phi)
                if moving in {phi, following} and step and begin is not None and begin[0] == end:
                    first = begin[1] + step if moving == following else begin[1]
                    return CounterBounds(first=first, step=step, limit=limit, is_left=is_left)
        return None

    def has_known_step(self) -> bool:
        """Return True if a compiler can compute the trips from the counter that ends the loop.

        The counter advances by a compile-time constant, or by the same signed number in each trip, as
        signed numbers do not overflow. On an H200, loops over an `int` that advances by an `int` have
        four reads in their PTX and take 59 ns a trip; with unsigned counters they have one, and take 178.
        """
        # An unknown step may pass a limit that the counter has to equal.
        is_order = self.loop.comparison.predicate not in {"eq", "ne"}
        return self.has_constant_step() or (
            is_order and any(self._has_signed_step(*pair) for pair in self._compared_counters())
        )

    @property
    def is_tested_first(self) -> bool:
        """Return True if the loop is tested at its top: a compiler could not move the test to its end."""
        branch = self._function.blocks[self.loop.header].terminator
        condition = branch.condition if isinstance(branch, Branch) else None
        return len(self.blocks) > 1 and condition == self.loop.comparison.result

    def has_constant_step(self) -> bool:
        """Return True if the counter that ends the loop advances by a compile-time constant."""
        return any(
            bool(self._constant_step(phi, following))
            for phi, following in self._compared_counters()
        )

    def _compared_counters(self) -> Iterator[tuple[int, int]]:
        """Yield the counters that end the loop, as pairs of a phi and its next value.

        A signed counter may be compared in more bits: it does not overflow, so a GPU's compiler counts in
        these. Measured on an H200: a sum whose `int` counter is compared with `get_local_size(0)` takes
        12 ns a trip, 39 with a `uint`, whose next value may be 0.
        """
        comparison = self.loop.comparison
        compared = {comparison.left, comparison.right}
        widened = {
            item.operand
            for slot in compared
            if isinstance(item := self._inside.get(slot), Convert) and item.operator in _EXTENSIONS
        }
        for phi, following in self.loop.affine:
            item = self._inside.get(following)
            is_signed = self._inlines_calls and isinstance(item, Binary) and item.is_signed
            if {phi, following} & (compared | widened if is_signed else compared):
                yield phi, following

    def _has_signed_step(self, phi: int, following: int) -> bool:
        """Return True if a counter advances by the same signed number in each trip, without overflow."""
        item = self._inside.get(following)
        if not isinstance(item, Binary) or not item.is_signed or item.operator != "add":
            return False
        steps = {item.left, item.right} - {phi}
        return len(steps) == 1 and self.of(steps.pop()) <= Evolution.INVARIANT

    def _compute(self, slot: int) -> Evolution:
        if slot in self._all_constants:
            return Evolution.CONSTANT
        if slot in self._copy_constants:
            return Evolution.CONSTANT_STRIDE
        if slot in self._phis:
            return self._phis[slot]
        item = self._inside.get(slot)
        if item is None:
            return Evolution.INVARIANT
        if not is_pure(item):
            return Evolution.IRREGULAR
        operands = [self.of(operand) for operand in operands_of(item)]
        last = max(operands, default=Evolution.INVARIANT)
        if last <= Evolution.INVARIANT:
            stays = (
                self._inlines_calls
                and isinstance(item, Call)
                and stays_in_loops(item, of_constants=last is Evolution.CONSTANT)
            )
            return Evolution.IRREGULAR if stays else last
        return _evolution_of_result(item, operands, last)

    def _stride(self, slot: int, phi: int) -> Evolution:
        """Return the evolution of a phi whose next value is `slot`."""
        item = self._inside.get(slot)
        if slot == phi or item is None:
            return Evolution.CONSTANT_STRIDE
        is_fixed = [
            operand in self._all_constants or self._depends_on(operand, phi)
            for operand in operands_of(item)
        ]
        return Evolution.CONSTANT_STRIDE if all(is_fixed) else Evolution.INVARIANT_STRIDE

    def _depends_on(self, slot: int, phi: int) -> bool:
        """Return True if a value is the phi, or is computed from it."""
        item = self._inside.get(slot)
        return slot == phi or (
            item is not None
            and any(self._depends_on(operand, phi) for operand in operands_of(item))
        )

    def _constant_step(self, phi: int, following: int) -> int:
        match self._inside.get(following):
            case Binary(_, "add", _, left, right):
                other = right if left == phi else left
                return self._constants.get(other, 0) if phi in {left, right} else 0
            case Binary(_, "sub", _, left, right) if left == phi:
                return -self._constants.get(right, 0)
            case _:
                return 0

    def _begin(self, slot: int) -> tuple[int | None, int] | None:
        """Return the value and the constant whose sum a phi of the header begins with."""
        for phi in self._function.blocks[self.loop.header].phis:
            if phi.result == slot:
                outside = [value for block, value in phi.incoming if block not in self.blocks]
                if len(outside) == 1:
                    return self._sums.of(outside[0])
        return None

    def instructions(self) -> Iterator[Instruction]:
        """Yield the instructions of the loop's blocks."""
        for number in self.blocks:
            yield from self._function.blocks[number].instructions


def _evolution_of_result(
    item: Instruction, operands: list[Evolution], last: Evolution
) -> Evolution:
    """Return the evolution of a result of which an operand has a stride. `last` is the last of theirs."""
    match item:
        case (
            Binary(_, "add" | "sub", _, _, _)
            | Copy()
            | Offset()
            | Convert(_, "sext" | "zext" | "trunc" | "ptrtoint" | "bitcast", _, _, _)
        ):
            return last
        case Binary(_, "mul", _, _, _):
            return _scale(min(operands), last)
        case Binary(_, "shl", _, _, _) if operands[0] == last:
            return _scale(operands[1], last)
        case Binary(_, "or", _, _, _) if min(operands) <= Evolution.INVARIANT:
            return last
        case _:
            return Evolution.IRREGULAR


def _scale(factor: Evolution, value: Evolution) -> Evolution:
    """Return the evolution of a product of a factor and a value with a stride."""
    if factor is Evolution.CONSTANT:
        return value
    if factor is Evolution.INVARIANT:
        return max(value, Evolution.INVARIANT_STRIDE)
    return Evolution.IRREGULAR
