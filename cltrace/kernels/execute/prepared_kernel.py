"""A kernel ready to be executed: its control flow, its steps, its objects of memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.builtins.mangling import demangled
from cltrace.kernels.execute.atomics import is_atomic
from cltrace.kernels.execute.lowering import lower
from cltrace.kernels.execute.memory import SHIFT
from cltrace.kernels.execute.sites import SiteTable
from cltrace.kernels.execute.state import Frame, Site, Step
from cltrace.kernels.flow.inlining import gathers, inlined
from cltrace.kernels.flow.liveness import needed_at
from cltrace.kernels.flow.loops import Graph, graph_of
from cltrace.kernels.flow.promotion import promoted
from cltrace.kernels.ir.instructions import (
    Access,
    Allocate,
    AtomicExchange,
    AtomicUpdate,
    Call,
    Instruction,
    Load,
    Store,
    Terminator,
    Touch,
)
from cltrace.kernels.ir.module import Function, Module, Parameter, SymbolAddress, Variable
from cltrace.kernels.ir.types import PRIVATE
from cltrace.kernels.values import constant, to_bytes


@dataclass(frozen=True, slots=True)
class ReadyBlock:
    """A block ready to run. `edges` are, by target, pairs of a phi's slot and the slot it takes.

    `gathers` is set where lanes of a group wait for each other at its beginning.
    """

    steps: tuple[Step, ...]
    terminator: Terminator
    edges: Mapping[int, tuple[tuple[int, int], ...]]
    needs: tuple[int, ...]
    gathers: bool


@dataclass(frozen=True, slots=True)
class Prepared:
    """A kernel ready to be executed.

    Objects of memory are numbered from 1: `variables`, then one for each of the parameters, then
    `private`. `blank` has the constants in their slots.
    """

    function: Function
    graph: Graph
    blocks: Mapping[int, ReadyBlock]
    sites: Sequence[Site]
    variables: Sequence[Variable]
    private: Sequence[Allocate]
    blank: Frame
    symbols: Mapping[str, int]
    waiting: frozenset[int]
    """The blocks of loops in which lanes may wait for what others write."""

    @property
    def parameters(self) -> Sequence[Parameter]:
        """The kernel's parameters."""
        return self.function.parameters

    def parameter_address(self, index: int) -> np.int64:
        """The address of what the parameter of a number points to."""
        return np.int64((len(self.variables) + 1 + index) << SHIFT)

    def address_of(self, address: SymbolAddress) -> int:
        """Where a symbol is."""
        number = self.symbols.get(address.symbol)
        if number is None:
            raise UnsupportedKernelError(f"the program has no variable {address.symbol}")
        return (number << SHIFT) + address.offset_bytes

    def initial_bytes(self, variable: Variable) -> NDArray[np.uint8] | None:
        """What a variable holds at first, or None for zeros."""
        if variable.value is None:
            return None
        value = constant(variable.type, variable.value, self.address_of)
        found: NDArray[np.uint8] = to_bytes(value, variable.type)[0]
        return found


def prepare(module: Module, name: str) -> Prepared:
    """The kernel `name` of a program, ready to be executed.

    Raises: `UnsupportedKernelError` for what it uses that is not supported.
    """
    return prepared_of(promoted(inlined(module, name)), module)


def prepared_of(function: Function, module: Module) -> Prepared:
    """A function that calls none of the program, ready to be executed."""
    graph = graph_of(function)
    variables = _variables(function, module)
    symbols = {variable.name: number for number, variable in enumerate(variables, 1)}
    whole = {item.slot: item.value for item in function.constants if isinstance(item.value, int)}
    sites = SiteTable(len(variables) + len(function.parameters), whole)
    needs = needed_at(function, graph)
    blocks = {
        number: _ready(function, graph, number, sites, needs[number]) for number in graph.order
    }
    prepared = Prepared(
        function=function,
        graph=graph,
        blocks=blocks,
        sites=sites.sites,
        variables=variables,
        private=sites.private,
        blank=[],
        symbols=symbols,
        waiting=_waiting_blocks(function, graph),
    )
    prepared.blank.extend([None] * function.slots)
    for item in function.constants:
        prepared.blank[item.slot] = constant(item.type, item.value, prepared.address_of)
    return prepared


def _waiting_blocks(function: Function, graph: Graph) -> frozenset[int]:
    """Blocks of loops with atomic operations, or that read shared memory and write nothing."""
    found: set[int] = set()
    for loop in graph.loops:
        items = [item for block in loop.blocks for item in function.blocks[block].instructions]
        reads = any(isinstance(item, Load) and item.space != PRIVATE for item in items)
        writes = any(isinstance(item, Store) for item in items)
        if any(map(_is_atomic, items)) or (reads and not writes):
            found |= loop.blocks
    return frozenset(found)


def _is_atomic(item: Instruction) -> bool:
    if isinstance(item, Call):
        return is_atomic(demangled(item.callee).name)
    return isinstance(item, AtomicUpdate | AtomicExchange) or (
        isinstance(item, Touch) and item.access is Access.ATOMIC
    )


def _variables(function: Function, module: Module) -> Sequence[Variable]:
    """The program's variables that a kernel uses, or that those it uses point to."""
    found: dict[str, Variable] = {}
    waiting = [item.value for item in function.constants]
    while waiting:
        value = waiting.pop()
        if isinstance(value, tuple):
            waiting.extend(part for part in value if isinstance(part, tuple | SymbolAddress))
        elif isinstance(value, SymbolAddress) and value.symbol not in found:
            variable = module.variables.get(value.symbol)
            if variable is None:
                raise UnsupportedKernelError(f"the address of {value.symbol} is not supported")
            found[value.symbol] = variable
            if variable.value is not None:
                waiting.append(variable.value)
    return tuple(found[name] for name in sorted(found))


def _ready(
    function: Function, graph: Graph, number: int, sites: SiteTable, needs: tuple[int, ...]
) -> ReadyBlock:
    block = function.blocks[number]
    steps = [lower(instruction, number, sites) for instruction in block.instructions]
    first = block.instructions[0] if block.instructions else None
    edges: dict[int, tuple[tuple[int, int], ...]] = {}
    for target in graph.successors[number]:
        edges[target] = tuple(
            (phi.result, dict(phi.incoming)[number]) for phi in function.blocks[target].phis
        )
    return ReadyBlock(
        steps=tuple(step for step in steps if step is not None),
        terminator=block.terminator,
        edges=edges,
        needs=needs,
        gathers=isinstance(first, Call) and gathers(first.callee),
    )
