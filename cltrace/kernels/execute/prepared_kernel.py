"""Kernels ready to be executed: control flow, steps and memory objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.builtins.mangling import demangle
from cltrace.kernels.execute.atomics import is_atomic
from cltrace.kernels.execute.lowering import lower
from cltrace.kernels.execute.memory import SHIFT
from cltrace.kernels.execute.sites import SiteTable
from cltrace.kernels.execute.state import Frame, Site, Step
from cltrace.kernels.flow.inlining import inline_calls, is_synchronising
from cltrace.kernels.flow.liveness import find_live_in
from cltrace.kernels.flow.loops import Graph, build_graph
from cltrace.kernels.flow.promotion import promote_variables
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
from cltrace.kernels.limits import check_cpu_limit
from cltrace.kernels.values import constant_value, plain_array_bytes, to_bytes


@dataclass(frozen=True, slots=True)
class ReadyBlock:
    """A block ready to run.

    `edges` has, by target block, pairs of a phi's slot and the slot of its value. `live_in` are the
    slots that the block and its successors read. `is_synchronising` is True if the lanes of a group
    wait for each other at its beginning.
    """

    steps: tuple[Step, ...]
    terminator: Terminator
    edges: Mapping[int, tuple[tuple[int, int], ...]]
    live_in: tuple[int, ...]
    is_synchronising: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedKernel:
    """A kernel ready to be executed.

    Memory objects are numbered from 1: `variables`, then one per parameter, then `private`.
    `initial_frame` has the constants in their slots.
    """

    function: Function
    graph: Graph
    blocks: Mapping[int, ReadyBlock]
    sites: Sequence[Site]
    variables: Sequence[Variable]
    private: Sequence[Allocate]
    initial_frame: Frame
    symbols: Mapping[str, int]
    spin_blocks: frozenset[int]
    """The blocks of loops in which lanes may wait for writes of other lanes."""
    contracts: bool = True
    """True if no `FP_CONTRACT OFF` keeps products and sums apart."""

    @property
    def parameters(self) -> Sequence[Parameter]:
        """The kernel's parameters."""
        return self.function.parameters

    def parameter_address(self, index: int) -> np.int64:
        """Return the address of the object that a parameter points to."""
        return np.int64((len(self.variables) + 1 + index) << SHIFT)

    def address_of(self, address: SymbolAddress) -> int:
        """Return the address of a symbol."""
        number = self.symbols.get(address.symbol)
        if number is None:
            raise UnsupportedKernelError(f"the program has no variable {address.symbol}")
        return (number << SHIFT) + address.offset_bytes

    def initial_bytes(self, variable: Variable) -> NDArray[np.uint8] | None:
        """Return the initial bytes of a variable; None for zeros."""
        if variable.value is None:
            return None
        plain = plain_array_bytes(variable.type, variable.value)
        if plain is not None:
            return plain
        value = constant_value(variable.type, variable.value, self.address_of)
        initial: NDArray[np.uint8] = to_bytes(value, variable.type)[0]
        return initial


def prepare_kernel(module: Module, name: str, *, contracts: bool = True) -> PreparedKernel:
    """Prepare the kernel `name` of a program for execution.

    Without `contracts` the program forbids contraction. Raises: `UnsupportedKernelError` for unsupported
    constructs.
    """
    prepared = prepare_function(promote_variables(inline_calls(module, name)), module)
    return replace(prepared, contracts=contracts)


def prepare_function(function: Function, module: Module) -> PreparedKernel:
    """Prepare a function without calls of the program's functions for execution."""
    graph = build_graph(function)
    variables = _used_variables(function, module)
    symbols = {variable.name: number for number, variable in enumerate(variables, 1)}
    sites = SiteTable(len(variables) + len(function.parameters), function.integer_constants())
    live_in = find_live_in(function, graph)
    blocks = {
        number: _prepare_block(function, graph, number, sites, live_in[number])
        for number in graph.order
    }
    prepared = PreparedKernel(
        function=function,
        graph=graph,
        blocks=blocks,
        sites=sites.sites,
        variables=variables,
        private=sites.private,
        initial_frame=[],
        symbols=symbols,
        spin_blocks=_find_spin_blocks(function, graph),
    )
    prepared.initial_frame.extend([None] * function.slots)
    for item in function.constants:
        prepared.initial_frame[item.slot] = constant_value(
            item.type, item.value, prepared.address_of
        )
    return prepared


def _find_spin_blocks(function: Function, graph: Graph) -> frozenset[int]:
    """Return the blocks of loops with atomics, or that read shared memory and write nothing."""
    spin_blocks: set[int] = set()
    for loop in graph.loops:
        items = [item for block in loop.blocks for item in function.blocks[block].instructions]
        reads = any(isinstance(item, Load) and item.space != PRIVATE for item in items)
        writes = any(isinstance(item, Store) for item in items)
        if any(map(_is_atomic, items)) or (reads and not writes):
            spin_blocks |= loop.blocks
    return frozenset(spin_blocks)


def _is_atomic(item: Instruction) -> bool:
    if isinstance(item, Call):
        return is_atomic(demangle(item.callee).name)
    return isinstance(item, AtomicUpdate | AtomicExchange) or (
        isinstance(item, Touch) and item.access is Access.ATOMIC
    )


def _used_variables(function: Function, module: Module) -> Sequence[Variable]:
    """Return the program variables that a kernel uses, also through other variables."""
    variables: dict[str, Variable] = {}
    pending = [item.value for item in function.constants]
    while pending:
        value = pending.pop()
        if isinstance(value, tuple):
            pending.extend(part for part in value if isinstance(part, tuple | SymbolAddress))
        elif isinstance(value, SymbolAddress) and value.symbol not in variables:
            variable = module.variables.get(value.symbol)
            if variable is None:
                raise UnsupportedKernelError(f"the address of {value.symbol} is not supported")
            variables[value.symbol] = variable
            if variable.value is not None:
                pending.append(variable.value)
    return tuple(variables[name] for name in sorted(variables))


def _prepare_block(
    function: Function, graph: Graph, number: int, sites: SiteTable, live_in: tuple[int, ...]
) -> ReadyBlock:
    check_cpu_limit()
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
        live_in=live_in,
        is_synchronising=isinstance(first, Call) and is_synchronising(first.callee),
    )
