"""Loops of PTX functions, and the registers that their trips need.

Values that a loop uses have to be in registers in each trip; others can wait in memory until it ends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cltrace.kernels.compiler.ptx import PtxFunction, Register, count_registers


@dataclass(frozen=True, slots=True)
class LoopRegisters:
    """A loop in compiled code.

    `file` and `line` are the first place of its branches. `registers` is the maximum number of live
    32-bit registers whose values the loop itself uses, `outer` the position of the next loop around it,
    -1 without one.
    """

    file: str
    line: int
    registers: int
    outer: int


def loop_registers(function: PtxFunction) -> tuple[LoopRegisters, ...]:
    """Return the loops of a function, inner ones after those around them."""
    blocks = {block.start: block for block in function.blocks()}
    live_in = function.live_in()
    bodies = sorted(_loop_bodies(function, blocks), key=len, reverse=True)
    loops: list[LoopRegisters] = []
    for position, body in enumerate(bodies):
        around = [at for at in range(position) if body < bodies[at]]
        own = [blocks[start] for start in sorted(body)]
        file, line = _place(function, own)
        used = _used_registers(function, own)
        registers = max(
            count_registers(live & used) for block in own for live in function.live(block, live_in)
        )
        loops.append(LoopRegisters(file, line, registers, max(around, default=-1)))
    return tuple(loops)


def _loop_bodies(function: PtxFunction, blocks: Mapping[int, range]) -> list[frozenset[int]]:
    """Return the blocks of each natural loop, by their first instructions."""
    after = {
        start: [each for each in function.successors(block) if each in blocks]
        for start, block in blocks.items()
    }
    before: dict[int, list[int]] = {start: [] for start in blocks}
    for start, successors in after.items():
        for successor in successors:
            before[successor].append(start)
    finished = _post_order(after)
    bodies: dict[int, set[int]] = {}
    for latch, at in finished.items():
        for header in after[latch]:
            if finished[header] >= at:
                body = _reaching(latch, header, before)
                if header == 0 or 0 not in body:
                    bodies.setdefault(header, set()).update(body)
    return [frozenset(body) for body in bodies.values()]


def _post_order(after: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Return when a depth-first search leaves each block that the first one reaches."""
    finished: dict[int, int] = {}
    seen, path = {0}, [(0, iter(after.get(0, ())))]
    while path:
        block, successors = path[-1]
        following = next((each for each in successors if each not in seen), None)
        if following is None:
            finished[block] = len(finished)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(after[following])))
    return finished


def _reaching(latch: int, header: int, before: Mapping[int, Sequence[int]]) -> set[int]:
    """Return the blocks from which a latch is reached without its header, and the header.

    The first block is among them if the header is not on every way to the latch: there is no loop then.
    """
    body, waiting = {header}, [latch]
    while waiting:
        block = waiting.pop()
        if block not in body:
            body.add(block)
            waiting += before[block]
    return body


def _used_registers(function: PtxFunction, blocks: Sequence[range]) -> frozenset[Register]:
    instructions = [function.instructions[at] for block in blocks for at in block]
    return frozenset().union(*(each.written | each.read for each in instructions))


def _place(function: PtxFunction, blocks: Sequence[range]) -> tuple[str, int]:
    """Return the first place of the branches of a loop."""
    branches = [function.instructions[block[-1]] for block in blocks]
    places = [each.place for each in branches if each.targets and each.place[1]]
    return min(places, default=("", 0))
