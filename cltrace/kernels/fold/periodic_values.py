"""Values of a partly unrolled loop that each copy of its body knows: remainders of its counter.

Measured on an H200: of `last[k % m]` in a loop of unknown trips, arrays of 2 and 4 elements are in
registers (27 and 38 µs), those of 3, 8 and 16 in memory (150, 190 and 374 µs); with 256 known trips
one of 8 elements is in registers, too (54 µs).
"""

from collections.abc import Iterator, Mapping
from typing import Final

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.unrolling import UnrolledLoop
from cltrace.kernels.ir.instructions import Binary, Convert, Instruction
from cltrace.kernels.ir.uses import operands_of, result_of

_MAX_KNOWN_COPIES: Final = 8
"""Copies of the body by which a compiler unrolls a loop of known trips for the sake of its arrays."""
_SUMS: Final = frozenset({"add", "sub"})
_SCALES: Final = frozenset({"mul", "shl"})
_MAX_SCALE: Final = 32
_REMAINDERS: Final = frozenset({"urem", "srem"})


def find_periodic_values(
    kernel: PreparedKernel, unrolled: Mapping[int, UnrolledLoop]
) -> frozenset[int]:
    """Return the slots of remainders that are constants in each copy of an unrolled loop's body."""
    constants = kernel.function.integer_constants()
    return frozenset(
        slot
        for number, loop in unrolled.items()
        if not loop.is_whole
        for slot in _periodic(_counter_steps(kernel, number, loop, constants), loop, constants)
        if not _is_used_outside(kernel, kernel.graph.loops[number].blocks, slot)
    )


def _is_used_outside(kernel: PreparedKernel, inside: frozenset[int], slot: int) -> bool:
    """Return True if a value is used after its loop, or in a later trip, where its copy is unknown."""
    blocks = kernel.function.blocks
    return any(
        slot in operands_of(item)
        for number in kernel.graph.order
        if number not in inside
        for item in blocks[number].instructions
    ) or any(
        slot == source
        for number in kernel.graph.order
        for phi in blocks[number].phis
        for _, source in phi.incoming
    )


def _counter_steps(
    kernel: PreparedKernel, number: int, loop: UnrolledLoop, constants: Mapping[int, int]
) -> dict[int, int]:
    """Return by how much the counters of a loop that begin with a constant advance per trip."""
    nexts = dict(loop.evolution.loop.affine)
    inside = kernel.graph.loops[number].blocks
    definitions = {result_of(item): item for item in loop.evolution.instructions()}
    steps: dict[int, int] = {}
    for phi in kernel.function.blocks[loop.evolution.loop.header].phis:
        begins = [source for block, source in phi.incoming if block not in inside]
        step = _step(definitions.get(nexts.get(phi.result, -1)), phi.result, constants)
        if step and all(source in constants for source in begins):
            steps[phi.result] = step
    return steps


def _step(item: Instruction | None, phi: int, constants: Mapping[int, int]) -> int:
    """Return by how much the next value of a phi differs from it, 0 if it is no sum with a constant."""
    if not isinstance(item, Binary) or item.operator not in _SUMS or item.left != phi:
        return 0
    step = constants.get(item.right, 0)
    return step if item.operator == "add" else -step


def _periodic(
    counters: Mapping[int, int], loop: UnrolledLoop, constants: Mapping[int, int]
) -> Iterator[int]:
    """Yield remainders of counters, and of sums and multiples of them, that copies of the body repeat."""
    has_known_trips = loop.evolution.trips() is not None
    copies = max(loop.trips, _MAX_KNOWN_COPIES) if has_known_trips else loop.trips
    steps = dict(counters)
    for item in loop.evolution.instructions():
        if isinstance(item, Convert) and item.operand in steps:
            steps[result_of(item)] = steps[item.operand]
        if not isinstance(item, Binary) or item.left not in steps or item.right not in constants:
            continue
        step, number = steps[item.left], constants[item.right]
        if item.operator in _SUMS:
            steps[item.result] = step
        elif item.operator in _SCALES and 0 < number < _MAX_SCALE:
            steps[item.result] = step * (number if item.operator == "mul" else 1 << number)
        elif _is_repeated(item.operator, number, copies * step):
            yield item.result


def _is_repeated(operator: str, number: int, advance: int) -> bool:
    """Return True if a remainder is the same after the copies of a body."""
    if operator in _REMAINDERS:
        return number > 0 and advance % number == 0
    return operator == "and" and number > 0 and advance % (1 << number.bit_length()) == 0
