"""Operations that the compiler of a machine makes of instructions."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.double_functions import has_recipe
from cltrace.kernels.costs.operation import (
    LITERAL_POWER,
    OF_INTS,
    AddressForm,
    Operation,
)
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.addresses import Addresses
from cltrace.kernels.fold.approximations import approximated
from cltrace.kernels.fold.called_functions import called, number_of_calls
from cltrace.kernels.fold.contraction import Contraction
from cltrace.kernels.fold.conversions import conversion_function
from cltrace.kernels.fold.definitions import Definitions
from cltrace.kernels.fold.divisions import Divisions
from cltrace.kernels.fold.fused_pairs import FusedPairs
from cltrace.kernels.fold.geometric_functions import shuffled, whole_vector
from cltrace.kernels.fold.instruction_operations import named_operations
from cltrace.kernels.fold.loop_evolution import (
    find_counter_values,
    find_index_values,
)
from cltrace.kernels.fold.predicated_selects import find_predicated_selects
from cltrace.kernels.fold.three_inputs import ThreeInputs
from cltrace.kernels.fold.unrolling import UnrolledLoop
from cltrace.kernels.fold.wide_integers import WideIntegers
from cltrace.kernels.ir.instructions import (
    Allocate,
    Binary,
    Call,
    Convert,
    Instruction,
    Load,
    Negate,
    Offset,
    Store,
    Terminator,
)
from cltrace.kernels.ir.types import PRIVATE, element_of, type_name
from cltrace.kernels.ir.uses import result_of
from cltrace.kernels.machine import ItemLoops, Machine

_FREE_CONVERSIONS: Final = frozenset({"trunc", "zext", "sext"})
"""Conversions between integers that are parts of the instructions around them."""


class CompiledOperations:
    """The operations that the compiler of a machine leaves of the instructions of a kernel.

    `loops` are the unrolled ones, `literals` the slots of what it knows or computes elsewhere,
    `selections` the selections that accesses to registers take, by pointer.
    """

    def __init__(
        self,
        kernel: PreparedKernel,
        values: Definitions,
        machine: Machine,
        loops: Mapping[int, UnrolledLoop],
        literals: frozenset[int],
        selections: Mapping[int, int],
    ) -> None:
        self._defined = values.defined
        self._selections = selections
        self.divisions: Final = _divisions(kernel, machine, loops)
        self._indices = find_index_values(kernel.function, kernel.graph)
        self._has_item_loops = machine.has_item_loops
        self._calls_functions = machine.item_loops is ItemLoops.LOOPS
        self._fused = FusedPairs(kernel, values, is_cpu=machine.has_item_loops)
        self._contraction = Contraction.of(kernel, values)
        self._wide: WideIntegers | None = None
        self._address_forms: Mapping[int, AddressForm] = {}
        self._joined: frozenset[int] = frozenset()
        if machine.has_item_loops:
            self._free = find_counter_values(kernel.function, kernel.graph)
        else:
            self._wide = WideIntegers(kernel.function, self._defined)
            addresses = Addresses(kernel, values)
            self._address_forms, self._free = addresses.forms, addresses.free
            joined = ThreeInputs(kernel, values, addresses.free).parts
            self._joined = joined | find_predicated_selects(kernel, values) | literals

    def of(
        self, item: Instruction | Terminator, divisions: Divisions | None = None
    ) -> Iterator[tuple[Operation, int]]:
        """Yield the operations that are left of an instruction, each with its number.

        `divisions` are those of the kernel by default.
        """
        if isinstance(item, Load | Store) and item.pointer in self._selections:
            yield _selection(item), self._selections[item.pointer]
            return
        for operation, count in named_operations(item, divisions or self.divisions):
            yield self._compiled(operation, count, item)

    def is_fused(self, item: Instruction | Terminator) -> bool:
        """Return True for a part of another instruction, such as of an address or a multiply-add."""
        match item:
            case Convert(_, operator, _, _, _) if operator in _FREE_CONVERSIONS:
                return True
            case Offset(_, _, _, ()):
                return True
            case Offset() if self._address_forms.get(item.result) is AddressForm.NEAR:
                return True
            case Load(_, _, pointer, space, _) | Store(_, _, pointer, space, _) if space == PRIVATE:
                return _is_register(self._defined, pointer)
            case Binary() | Negate() | Call() if (
                not self._has_item_loops and self._contraction.is_part(item)
            ):
                return True
            case Binary() | Call() if self._wide is not None and self._wide.is_half(item):
                return True
            case Binary() if self._fused.is_part(item):
                return True
            case _:
                return result_of(item) in self._free or result_of(item) in self._joined

    def waited(self, item: Instruction | Terminator) -> Operation | None:
        """Return the operation that an instruction is waited for as."""
        named = named_operations(item, self.divisions)
        operation = next((operation for operation, _ in named), None)
        if operation is None or self._has_item_loops:
            return operation
        if self._contraction.is_literal_power(item):
            return replace(operation, function=LITERAL_POWER)
        if operation.type != "double":
            return approximated(operation, item)
        function = _with_recipe(operation, item)
        return whole_vector(function, item) or function

    def _compiled(
        self, operation: Operation, count: int, item: Instruction | Terminator
    ) -> tuple[Operation, int]:
        """Return what a compiler makes of `count` operations of an instruction, and its number."""
        is_index = operation.type == "long" and result_of(item) in self._indices
        narrowed = replace(operation, type="int") if is_index else operation
        if narrowed.cost is CostClass.ADDRESS:
            count = 1
        if self._calls_functions:
            return called(narrowed, item), number_of_calls(item, count)
        if self._has_item_loops:
            return narrowed, count
        contracted = self._contracted(narrowed, item)
        whole = whole_vector(contracted, item)
        return (contracted, count) if whole is None else (whole, 1)

    def _contracted(self, operation: Operation, item: Instruction | Terminator) -> Operation:
        """Return an operation as a GPU's compiler leaves it."""
        if operation.cost is CostClass.ADDRESS:
            form = self._address_forms.get(result_of(item))
            return replace(operation, function=form.value) if form else operation
        if self._wide is not None and self._wide.is_product(item):
            return replace(operation, function=OF_INTS)
        if function := conversion_function(item, self._defined):
            return replace(operation, function=function)
        if (approximate := approximated(operation, item)) != operation:
            return approximate
        if (known := _with_recipe(operation, item)) != operation:
            return known
        if (element := shuffled(operation, item, self._contraction.constants)) is not None:
            return element
        if isinstance(item, Binary) and item.operator in {"shl", "add"}:
            return self._fused.shifted(operation, item)
        return self._contraction.contracted(operation, item)


def _selection(access: Load | Store) -> Operation:
    return Operation(type_name(element_of(access.type)), CostClass.SELECT, "")


def _with_recipe(operation: Operation, item: Instruction | Terminator) -> Operation:
    """Return an operation with the name of its function, if the instructions of that are known."""
    name = base_name(demangle(item.callee)) if isinstance(item, Call) else ""
    return replace(operation, function=name) if has_recipe(name, operation.type) else operation


def _divisions(
    kernel: PreparedKernel, machine: Machine, loops: Mapping[int, UnrolledLoop]
) -> Divisions:
    constants = frozenset(slot for loop in loops.values() for slot in loop.constants)
    powers = frozenset(slot for loop in loops.values() for slot in loop.powers)
    return Divisions.of(kernel, constants, powers, has_item_loops=machine.has_item_loops)


def _is_register(defined: Mapping[int, Instruction], pointer: int) -> bool:
    """Return True for a pointer to a constant place in a private variable, which is a register."""
    item = defined.get(pointer)
    if isinstance(item, Offset):
        return not item.terms and _is_register(defined, item.pointer)
    return isinstance(item, Allocate)
